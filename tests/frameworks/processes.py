"""Programs that are run in processes of their own, as several workers run them."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from typing import Final, TypeAlias

from tests.patience import join_process, kill, until

Program: TypeAlias = Callable[[], None]
"""It is pickled: a function of a module, or a `partial` of one."""

_SPAWN: Final = multiprocessing.get_context("spawn")


def run_apart(*programs: Program) -> None:
    """Run programs at once, each in a process of its own; each has to end well."""
    processes = [_SPAWN.Process(target=program) for program in programs]
    for process in processes:
        process.start()
    for process in processes:
        join_process(process)
    assert [process.exitcode for process in processes] == [0] * len(processes)


def run_until(is_enough: Callable[[], object], program: Program) -> None:
    """Run a program in a process of its own, and kill that as soon as something is so."""
    process = _SPAWN.Process(target=program)
    process.start()
    try:
        until(is_enough, "what the program is run for")
        assert process.exitcode is None
    finally:
        kill(process)
