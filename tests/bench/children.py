"""Child processes of a measure: each talks over a pipe, and none outlives its measure."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from contextlib import ExitStack, suppress
from multiprocessing.connection import Connection
from typing import Any

from tests.patience import join_process


def start(stack: ExitStack, work: Callable[..., None], *arguments: Any) -> Connection:
    """Start `work(*arguments, pipe)` in a process, and return the other end of its pipe.

    At the end of the stack, however it comes, the child receives None and is waited for.
    """
    spawning = multiprocessing.get_context("spawn")
    here, there = spawning.Pipe()
    process = spawning.Process(target=work, args=(*arguments, there), daemon=True)
    process.start()
    # The child's copy alone keeps that end open now: where it dies, receiving raises EOFError.
    there.close()
    stack.callback(here.close)
    stack.callback(join_process, process)
    # Registered here and not after the first answer: a child that was never told to end would wait
    # for a word, and this process for its end.
    stack.callback(_end, here)
    return here


def _end(pipe: Connection) -> None:
    with suppress(OSError):
        pipe.send(None)
