"""Functions in threads of their own, which no ending program waits for."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def in_thread(function: Callable[[], T]) -> Future[T]:
    """Return what a function gives, once it gives it, in a thread that sees the caller's context.

    The threads of an executor are waited for when the program ends, and a tool that hangs would
    keep it from ending.
    """
    future: Future[T] = Future()
    context = contextvars.copy_context()

    def run() -> None:
        try:
            result = context.run(function)
        except BaseException as exc:  # noqa: BLE001 - whoever asks for the result gets it
            future.set_exception(exc)
        else:
            future.set_result(result)

    future.set_running_or_notify_cancel()
    try:
        threading.Thread(target=run, daemon=True, name="onrecord-tool").start()
    except RuntimeError as exc:  # The system gives no more threads.
        future.set_exception(exc)
    return future
