"""Server-sent events out of bytes: an incremental decoder, for chunks with borders anywhere.

Rules: WHATWG HTML, "Server-sent events", 9.2.6. Data stays bytes: whether they are UTF-8, or JSON,
is for the reader to say, who can then keep what arrived. Only `event` and `data` fields count; a
recorder does not reconnect.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

EVENT_STREAM: Final = "text/event-stream"
BOM: Final = b"\xef\xbb\xbf"
_BEGINNINGS: Final = (b"data:", b"event:", b":", b"id:", b"retry:")


class ServerSentEvent(NamedTuple):
    """One dispatched event: its name (empty if the stream gave none) and its data."""

    name: str
    data: bytes


def begins_a_stream(head: bytes) -> bool | None:
    """Return whether a body that begins so is one of events; None where that is too little to tell.

    Servers name such a body in many ways, or not at all, and clients read it as they asked for it.
    """
    text = head.removeprefix(BOM).lstrip()
    if text.startswith(_BEGINNINGS):
        return True
    return None if any(beginning.startswith(text) for beginning in _BEGINNINGS) else False


class Decoder:
    """Turns chunks into events; each byte is looked at once, however the chunks fall."""

    __slots__ = ("_after_cr", "_begun", "_lines", "_pieces")

    def __init__(self) -> None:
        """Begin a stream."""
        self._lines: list[bytes] = []
        self._pieces: list[bytes] = []
        self._after_cr = False
        self._begun = False

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """Return the events that this chunk completes, in order."""
        first, *rest = self._with_newlines(chunk).split(b"\n")
        self._pieces.append(first)
        if not rest:
            return []
        line = b"".join(self._pieces)
        self._pieces = [rest.pop()]
        return self._take([self._without_mark(line), *rest])

    @property
    def tail(self) -> bytes:
        """What arrived after the last dispatched event; the stream's end does not dispatch it."""
        return b"\n".join([*self._lines, b"".join(self._pieces)])

    def _with_newlines(self, chunk: bytes) -> bytes:
        """Return the chunk with every line end as one newline, one split over chunks too."""
        if not chunk:
            return chunk
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
            self._after_cr = False
            if not chunk:
                return chunk
        self._after_cr = chunk.endswith(b"\r")
        if b"\r" not in chunk:
            return chunk
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _without_mark(self, line: bytes) -> bytes:
        """Return the line without the byte order mark that a stream may begin with."""
        if self._begun:
            return line
        self._begun = True
        return line.removeprefix(BOM)

    def _take(self, lines: Iterable[bytes]) -> list[ServerSentEvent]:
        events: list[ServerSentEvent] = []
        for line in lines:
            if line:
                self._lines.append(line)
                continue
            event = _event(self._lines)
            self._lines = []
            if event is not None:
                events.append(event)
        return events


def _event(lines: list[bytes]) -> ServerSentEvent | None:
    """Return the event that the lines before a blank one make; without data there is none."""
    name = b""
    data: list[bytes] = []
    for line in lines:
        if line.startswith(b"data:"):
            data.append(_value(line, len(b"data:")))
        elif line.startswith(b"event:"):
            name = _value(line, len(b"event:"))
        elif line == b"data":
            data.append(b"")
    if not data:
        return None
    return ServerSentEvent(name.decode("utf-8", "replace"), b"\n".join(data))


def _value(line: bytes, start: int) -> bytes:
    """Return what follows a field's colon and at most one space; a long line is copied once."""
    return line[start + 1 :] if line.startswith(b" ", start) else line[start:]


# Text that arrives in pieces, with borders that may fall amid a character.

_AT_ONCE: Final = 1024 * 1024


def in_whole_characters(text: str) -> str:
    """Join the halves of a character that two pieces brought as lone surrogates."""
    try:
        # In slices: a long text is not held twice only to be looked at.
        for start in range(0, 0 if text.isascii() else len(text), _AT_ONCE):
            text[start : start + _AT_ONCE].encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return text
