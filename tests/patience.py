"""How tests wait: for a condition, with an end so far off that no slow machine comes to it.

A wait without an end hangs a whole run, and a short one fails where the machine is busy. So every
wait of a test goes through here, and no other number of seconds stands beside a wait for success.
Only what a browser shows has a nearer end: there a broken page is likelier than a slow machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from subprocess import Popen
from threading import Thread
from typing import Any, Final

PATIENCE: Final = 600.0
"""Seconds that a test waits for what is to come."""

PAGE_PATIENCE: Final = 30.0
"""Seconds that a test waits for a page in a browser."""


def until(is_so: Callable[[], object], what: str = "it") -> None:
    """Return as soon as something is so; fail where it never comes."""
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline, f"{what} never came"
        time.sleep(0.005)


def join(*threads: Thread) -> None:
    """Wait for the end of threads; fail where one does not end."""
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive(), f"{thread.name} did not end"


def join_process(process: BaseProcess) -> None:
    """Wait for the end of a child; kill it by its id, and fail, where it does not end."""
    process.join(PATIENCE)
    if process.exitcode is None:
        process.kill()
        process.join(PATIENCE)
        raise AssertionError(f"{process.name} did not end, and was killed")


def kill(process: BaseProcess | Popen[Any]) -> None:
    """Kill a child by its id, and wait until it is gone."""
    process.kill()
    if isinstance(process, Popen):
        process.wait(PATIENCE)
    else:
        process.join(PATIENCE)
