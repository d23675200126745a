"""Programs that are run in processes of their own, as several workers run them."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.context import ForkServerProcess
from typing import Any, Final, TypeAlias

from tests.frameworks.session_texts import FRAMEWORKS
from tests.patience import join_process, kill, until

Program: TypeAlias = Callable[[], None]
"""It is pickled: a function of a module, or a `partial` of one."""

_APART: Final = multiprocessing.get_context("forkserver")
# They are forks of a process that imported the frameworks and did nothing else: to import them anew takes
# seconds each time.
_APART.set_forkserver_preload(
    [
        *(f"tests.frameworks.writers.{framework}" for framework in FRAMEWORKS),
        "tests.frameworks.test_several_processes",
        "tests.frameworks.test_langgraph_threads",
        "tests.frameworks.test_pydantic_ai_front_ends",
        "tests.frameworks.adk.test_sessions",
    ]
)


def apart(program: Callable[..., None], *arguments: Any) -> ForkServerProcess:
    """Begin a program in a process of its own, which shares nothing with this one."""
    process = _APART.Process(target=program, args=arguments)
    process.start()
    return process


def run_apart(*programs: Program) -> None:
    """Run programs at once, each in a process of its own; each has to end well."""
    processes = [apart(program) for program in programs]
    for process in processes:
        join_process(process)
    assert [process.exitcode for process in processes] == [0] * len(processes)


def run_until(is_enough: Callable[[], object], program: Program) -> None:
    """Run a program in a process of its own, and kill that as soon as something is so."""
    process = apart(program)
    try:
        until(is_enough, "what the program is run for")
        assert process.exitcode is None
    finally:
        kill(process)
