"""What writes is done on threads, off the event loop, and to its end though the caller is cancelled.

The threads are counted apart from the program's own: those may all wait for a call that is being
recorded, as sync endpoints of a web server do that go back to the loop.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar

from onrecord.adapters.wire.bodies.answer_recorder import AnswerRecorder

ToldT = TypeVar("ToldT")

_AT_MOST: Final = 40
"""How many calls write at once; anyio's own number for a program's threads."""

_LIMITER: Final[RunVar[anyio.CapacityLimiter]] = RunVar("onrecord.recording")


async def done(work: Callable[[], None]) -> None:
    """Do work that writes, to its end even if the caller is cancelled."""
    with anyio.CancelScope(shield=True):
        await anyio.to_thread.run_sync(work, limiter=_limiter())


async def told(work: Callable[[], ToldT]) -> ToldT:
    """Return what work says that may have to read."""
    return await anyio.to_thread.run_sync(work, limiter=_limiter())


async def opened(begin: Callable[[], AnswerRecorder | None]) -> AnswerRecorder | None:
    """Return the attempt that is begun; where the caller does not wait for it, it has failed.

    asyncio's own cancellation ends the waiting at once, and the thread goes on.
    """
    beginning = _Beginning(begin)
    try:
        await anyio.to_thread.run_sync(beginning.run, limiter=_limiter())
    except BaseException as exc:
        if beginning.leave(exc) is not None:
            await done(partial(beginning.fail, exc))
        raise
    return beginning.attempt


class _Beginning:
    """An attempt that one thread begins and another one may not wait for; only one end counts."""

    def __init__(self, begin: Callable[[], AnswerRecorder | None]) -> None:
        self._begin = begin
        self._left: BaseException | None = None
        self.attempt: AnswerRecorder | None = None

    def run(self) -> None:
        self.attempt = self._begin()
        if self._left is not None:
            self.fail(self._left)

    def leave(self, reason: BaseException) -> AnswerRecorder | None:
        """Say that nobody waits; return the attempt if it is begun by now."""
        self._left = reason
        return self.attempt

    def fail(self, reason: BaseException) -> None:
        if self.attempt is not None:
            self.attempt.fail(reason)


def _limiter() -> anyio.CapacityLimiter:
    """Return what counts the threads of the event loop that runs."""
    try:
        return _LIMITER.get()
    except LookupError:
        limiter = anyio.CapacityLimiter(_AT_MOST)
        _LIMITER.set(limiter)
        return limiter
