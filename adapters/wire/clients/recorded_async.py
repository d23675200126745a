"""The body of a response, recorded as a coroutine reads it; see `transport.py`.

Imports anyio, which the SDKs that have coroutines bring.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Final, Protocol, TypeVar

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar

from onrecord.adapters.wire.answer import Loss
from onrecord.adapters.wire.bodies.attempt import AnswerRecorder
from onrecord.adapters.wire.clients.transport import PendingChunks, keep_open

# What writes is done on threads, off the event loop, and to its end though the caller is
# cancelled.
#
# The threads are counted apart from the program's own: those may all wait for a call that is
# being recorded, as sync endpoints of a web server do that go back to the loop.

ResultT = TypeVar("ResultT")

_AT_MOST: Final = 40
"""How many calls write at once; anyio's own number for a program's threads."""

_LIMITER: Final[RunVar[anyio.CapacityLimiter]] = RunVar("onrecord.recording")


async def done(work: Callable[[], None]) -> None:
    """Do work that writes, to its end even if the caller is cancelled."""
    with anyio.CancelScope(shield=True):
        await anyio.to_thread.run_sync(work, limiter=_limiter())


async def result_of(work: Callable[[], ResultT]) -> ResultT:
    """Return the result of work that may have to read."""
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


class AsyncChunkStream(Protocol):
    """What comes over the wire, chunk by chunk."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the chunks."""
        ...

    async def aclose(self) -> None:
        """Release the connection."""
        ...


class AsyncRecordedBody:
    """A body that is recorded while it is read; what writes is done off the event loop."""

    def __init__(self, inner: AsyncChunkStream, recorder: AnswerRecorder) -> None:
        """Read a body for its caller and for the record."""
        keep_open(recorder)
        self._inner = inner
        self._recorder = recorder

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the chunks of the body, unchanged."""
        recorder = self._recorder
        pending = PendingChunks()
        try:
            async for chunk in self._inner:
                if recorder.feed(chunk):
                    await done(recorder.finish)
                if recorder.must_write:
                    await done(recorder.write_out)
                for ready in pending.take(chunk, recorder.endings):
                    yield ready
            await self._finish()
            for ready in pending.rest():
                yield ready
        except Exception:
            await self._lose("cut")
            for ready in pending.rest():
                yield ready
            raise
        except BaseException:
            await self._lose("abandoned")
            raise

    async def aclose(self) -> None:
        """Release the connection; what was not read is recorded as abandoned."""
        await self._lose("abandoned")
        await self._inner.aclose()

    async def _finish(self) -> None:
        if not self._recorder.is_closed:
            await done(self._recorder.finish)

    async def _lose(self, loss: Loss) -> None:
        if not self._recorder.is_closed:
            await done(partial(self._recorder.lose, loss))
