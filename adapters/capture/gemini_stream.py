"""A streamed answer of Gemini's API, put together from its server-sent events.

Nothing in such a stream says where it ends: its last chunk is the one that nothing follows. All
candidates have said why they finished then. An error amid it may come as plain JSON, in lines that
are no event (google-genai 3.4.0, `_api_client.py`, `_iter_response_stream`).
"""

from __future__ import annotations

from typing import Final

from onrecord.adapters.capture.answer import Answer, Loss
from onrecord.adapters.capture.gemini_body import ended
from onrecord.adapters.capture.gemini_chunks import Chunks
from onrecord.adapters.capture.nesting import read_object
from onrecord.adapters.capture.sse import Decoder
from onrecord.domain.errors import MalformedJson
from onrecord.domain.jsontext import JsonObject

_DATA: Final = b"data:"


class ContentStream:
    """Reads one streamed response, chunk by chunk; nothing that arrives makes it raise."""

    __slots__ = ("_broken", "_chunks", "_decoder", "_events", "_since")

    def __init__(self) -> None:
        """Begin a response."""
        self._decoder = Decoder()
        self._chunks = Chunks()
        self._since: list[bytes] = []
        self._events = 0
        self._broken: str | None = None

    def feed(self, chunk: bytes) -> bool:
        """Take the next bytes in; return whether the response is over, which an error tells alone."""
        events = self._decoder.feed(chunk)
        if events:
            self._since = []
        self._since.append(chunk)
        for event in events:
            self._take(event.data)
        self._events += len(events)
        return self._chunks.error is not None

    @property
    def endings(self) -> int:
        """How many chunks came so far, once all candidates have said why they finished."""
        return self._events if self._broken is None and self._chunks.is_over else 0

    def finish(self, loss: Loss = "cut", detail: str | None = None) -> Answer:
        """Return what the response said; `loss` is why, if it did not say why it finished."""
        self._look_for_error()
        if self._broken is not None:
            return self._chunks.answer("malformed", self._broken)
        if self._chunks.error is not None:
            return self._chunks.answer(None, None)
        tail = self._decoder.tail.strip()
        if not self._chunks.is_over:
            return self._chunks.answer(loss, detail or _lost(tail))
        if tail:
            self._chunks.note("the last event broke off", tail)
        return ended(self._chunks)

    def _take(self, data: bytes) -> None:
        try:
            chunk = read_object(data)
        except MalformedJson as exc:
            self._chunks.note("an event that cannot be read", data)
            self._broken = self._broken or f"an event cannot be read: {exc}"
            return
        if self._broken is None:
            self._chunks.take(chunk, data)
        else:
            self._chunks.note("an event after one that cannot be read", data)

    def _look_for_error(self) -> None:
        """Look for an error that came in lines of its own, behind the last event."""
        error = _stray(b"".join(self._since))
        if error is not None and self._chunks.error is None:
            self._chunks.take(error)


def _stray(received: bytes) -> JsonObject | None:
    """Return the JSON of an error that stands behind the last event, and the last line of data."""
    text = received.replace(b"\r\n", b"\n").replace(b"\r", b"\n").strip()
    lines = text.rpartition(b"\n\n")[2].split(b"\n")
    data = [place for place, line in enumerate(lines) if line.startswith(_DATA)]
    behind = b"\n".join(lines[data[-1] + 1 if data else 0 :])
    if not behind.startswith((b"{", b"[")):
        return None
    try:
        found = read_object(behind.removeprefix(b"[").removesuffix(b"]"))
    except MalformedJson:
        return None
    return found if "error" in found else None


def _lost(tail: bytes) -> str | None:
    return f"the last event broke off after {len(tail)} bytes" if tail else None
