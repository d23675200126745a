"""The last chunk of a stream of Gemini's is handed on when all is durable.

Nothing in such a stream says where it ends, and gateways say too early why an answer finished.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir
from uuid import UUID

import pytest

from onrecord.adapters.wire.blob_bytes import Scratch
from onrecord.adapters.wire.bodies.attempt import Attempt
from onrecord.adapters.wire.bodies.credentials import Credentials
from onrecord.adapters.wire.clients.recorded_async import AsyncRecordedBody
from onrecord.adapters.wire.clients.transport import RecordedBody
from onrecord.adapters.wire.gemini.wire import WIRE
from onrecord.domain.events import ToolCallRecorded
from tests.adapters.wire.attempts import STREAM, Closed
from tests.gemini_wire import call, event, said, text

CHUNKS = (event(said(text("a"), stop=None)), event(said(call())))


def test_the_last_chunk_follows_its_record() -> None:
    attempt, closed = waiting()
    given = RecordedBody(Chunked(CHUNKS), attempt)
    told = [(chunk, len(closed.recordings)) for chunk in given]
    assert told == [(CHUNKS[0], 0), (CHUNKS[1], 1)]


def test_a_chunk_that_seemed_to_be_the_last_goes_on_once_more_comes() -> None:
    attempt, closed = waiting()
    chunks = (CHUNKS[1], *CHUNKS)
    told = [(chunk, len(closed.recordings)) for chunk in RecordedBody(Chunked(chunks), attempt)]
    assert told == [(chunks[0], 0), (chunks[1], 0), (chunks[2], 1)]
    calls = [event for event in closed.events if isinstance(event, ToolCallRecorded)]
    assert len(calls) == 2


def test_a_chunk_that_was_held_back_is_handed_on_where_the_wire_breaks() -> None:
    attempt, closed = waiting()
    given = iter(RecordedBody(Chunked(CHUNKS, breaks=True), attempt))
    assert [next(given), next(given)] == list(CHUNKS)
    assert len(closed.recordings) == 1
    with pytest.raises(ConnectionError):
        next(given)


def test_so_it_is_where_the_caller_waits_for_it() -> None:
    async def handed_on() -> list[tuple[bytes, int]]:
        attempt, closed = waiting()
        given = AsyncRecordedBody(AsyncChunked(CHUNKS), attempt)
        return [(chunk, len(closed.recordings)) async for chunk in given]

    assert asyncio.run(handed_on()) == [(CHUNKS[0], 0), (CHUNKS[1], 1)]


def waiting() -> tuple[Attempt, Closed]:
    """An attempt that is answered with a stream, and what it is closed with."""
    closed = Closed()
    secret = Credentials((), lambda _: b"")
    scratch = Scratch(Path(gettempdir()), is_encrypted=False)
    attempt = Attempt(WIRE, UUID(int=1), None, lambda: secret, closed.close, scratch)
    attempt.answered(200, STREAM)
    return attempt, closed


@dataclass(frozen=True, slots=True)
class Chunked:
    """A body in these chunks, behind which its wire may break."""

    chunks: tuple[bytes, ...]
    breaks: bool = False

    def __iter__(self) -> Iterator[bytes]:
        yield from self.chunks
        if self.breaks:
            raise ConnectionError

    def close(self) -> None:
        pass


@dataclass(frozen=True, slots=True)
class AsyncChunked:
    """The same, to be waited for."""

    chunks: tuple[bytes, ...]

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self.chunks:
            yield chunk

    async def aclose(self) -> None:
        pass
