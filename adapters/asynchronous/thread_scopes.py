"""What is entered and left in a thread: it is left, though the task that enters or leaves it is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from onrecord.adapters.storage.steps import ThreadSteps

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")


async def enter_in_thread(
    thread: ThreadSteps, enter: Callable[[], T], leave: Callable[[T], object]
) -> T:
    """Return what `enter` gives in a thread, which is closed where it gives nothing.

    A thread cannot be cancelled. Where the caller is, `enter` goes on, and what it gives is left by the
    same thread. Nobody waits for that, and it needs no event loop.
    """
    entering = thread.submit(enter)
    try:
        return await asyncio.wrap_future(entering)
    except BaseException:
        thread.submit(partial(_leave_entered, entering, leave))
        thread.close()
        raise


async def leave_in_thread(thread: ThreadSteps, leave: Callable[[], object]) -> None:
    """Have the thread leave, as the last that it does, and return once it has.

    Where the caller is cancelled, it is left all the same.
    """
    leaving = thread.submit(leave)
    thread.close()
    await asyncio.shield(asyncio.wrap_future(leaving))


def _leave_entered(entering: Future[T], leave: Callable[[T], object]) -> None:
    if not entering.cancelled() and entering.exception() is None:
        leave(entering.result())
