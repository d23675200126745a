"""The body of a response, recorded as a coroutine reads it; see `recorded_body`.

Imports anyio, which the SDKs that have coroutines bring.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from typing import Protocol

from onrecord.adapters.wire.answer import Loss
from onrecord.adapters.wire.bodies import loop_threads
from onrecord.adapters.wire.bodies.answer_recorder import AnswerRecorder
from onrecord.adapters.wire.bodies.recorded import HeldBack, keep_open


class AsyncBody(Protocol):
    """What comes over the wire, chunk by chunk."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the chunks."""
        ...

    async def aclose(self) -> None:
        """Release the connection."""
        ...


class AsyncRecordedBody:
    """A body that is recorded while it is read; what writes is done off the event loop."""

    def __init__(self, inner: AsyncBody, recorder: AnswerRecorder) -> None:
        """Read a body for its caller and for the record."""
        keep_open(recorder)
        self._inner = inner
        self._recorder = recorder

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the chunks of the body, unchanged."""
        recorder = self._recorder
        held = HeldBack()
        try:
            async for chunk in self._inner:
                if recorder.feed(chunk):
                    await loop_threads.done(recorder.finish)
                if recorder.must_write:
                    await loop_threads.done(recorder.write_out)
                for ready in held.take(chunk, recorder.endings):
                    yield ready
            await self._finish()
            for ready in held.rest():
                yield ready
        except Exception:
            await self._lose("cut")
            for ready in held.rest():
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
            await loop_threads.done(self._recorder.finish)

    async def _lose(self, loss: Loss) -> None:
        if not self._recorder.is_closed:
            await loop_threads.done(partial(self._recorder.lose, loss))
