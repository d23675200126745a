"""Streamed answers out of bytes: server-sent events, and what the readers of all streams share.

Rules of events: WHATWG HTML, "Server-sent events", 9.2.6. Data stays bytes: whether they are UTF-8,
or JSON, is for the reader to say, who can then keep what arrived. Only `event` and `data` fields
count; a recorder does not reconnect.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from collections.abc import Set as AbstractSet
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from onrecord.adapters.wire.answer import Anomaly, Answer, Interruption, Loss, named
from onrecord.adapters.wire.api import error_kind
from onrecord.adapters.wire.blocks import AnswerBlock
from onrecord.domain.errors import MalformedJson
from onrecord.domain.events import Unfinished
from onrecord.domain.jsontext import JsonObject, read_bounded_object

# Server-sent events: an incremental decoder, for chunks with borders anywhere.

EVENT_STREAM: Final = "text/event-stream"
BOM: Final = b"\xef\xbb\xbf"
DONE: Final = b"[DONE]"
"""What some services, and gateways, put behind the last event."""
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

    __slots__ = ("_after_cr", "_begun", "_lines", "_pieces", "stray")

    def __init__(self) -> None:
        """Begin a stream; `stray` is the first line that is no field of an event."""
        self.stray = b""
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
            if event is None and not self.stray:
                # The standard has it ignored; a recorder keeps what it does not understand.
                self.stray = next((it for it in self._lines if not it.startswith(_BEGINNINGS)), b"")
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


Otherwise = TypeVar("Otherwise", int, None)


class StreamReader:
    """What is known of an answer while it arrives, beside what it says.

    `_over` says that its last event was seen; `_raw` is what arrived last, which anomalies keep.
    `_odd` are the members that nobody knows, and that were noted.
    """

    __slots__ = ("_anomalies", "_detail", "_error", "_interruption", "_odd", "_over", "_raw")

    def __init__(self) -> None:
        """Begin an answer."""
        self._anomalies: list[Anomaly] = []
        self._interruption: Interruption | None = None
        self._detail: str | None = None
        self._error: Any = None
        self._over = False
        self._raw = b""
        self._odd: set[str] = set()

    def _read(self, data: bytes, what: str = "an event") -> JsonObject | None:
        """Return the object of an event; what cannot be read makes the answer given up."""
        self._raw = data
        try:
            return read_bounded_object(data)
        except MalformedJson as exc:
            self._give_up(f"{what} cannot be read: {exc}")
            return None

    def _note(self, what: str, raw: bytes | None = None) -> None:
        self._anomalies.append(Anomaly(what, self._raw if raw is None else raw))

    def _look_for_more(self, members: JsonObject, known: AbstractSet[str]) -> None:
        """Note members of an event that nobody knows: the first time of each is enough."""
        if members.keys() <= known:
            return
        for name in members.keys() - known - self._odd:
            self._odd.add(name)
            self._note(f"an unknown member {named(name)} of an event")

    def _give_up(self, why: str, raw: bytes | None = None) -> None:
        """Keep what is known, and put nothing more in: what follows may belong elsewhere.

        What was over, or given up, stays as it was.
        """
        self._note(why, raw)
        if self._interruption is None and not self._over:
            self._interruption, self._detail = "malformed", why

    def _fail(self, error: Any) -> None:
        """Take in what went wrong at the service: nothing follows."""
        self._over = True
        self._interruption = "error"
        self._error = error
        self._detail = error_kind(error)

    def _ending(self, loss: Loss, detail: str | None) -> tuple[Interruption | None, str | None]:
        """Return why the answer is not whole, if it is not; `loss` is why no more comes."""
        if self._interruption is None and not self._over:
            return loss, detail
        return self._interruption, self._detail

    def _answer(
        self,
        api: str,
        envelope: JsonObject,
        ending: tuple[Interruption | None, str | None],
        *anomalies: Anomaly,
    ) -> Answer:
        """Return an answer without its blocks."""
        return Answer(
            api=api,
            envelope=envelope,
            interruption=ending[0],
            detail=ending[1],
            error=self._error,
            anomalies=(*self._anomalies, *anomalies),
        )


class EventReader(StreamReader, ABC):
    """Reads one answer out of server-sent events, chunk by chunk; nothing that arrives makes it raise."""

    __slots__ = ("_decoder",)

    def __init__(self) -> None:
        """Begin an answer."""
        super().__init__()
        self._decoder = Decoder()

    def feed(self, chunk: bytes) -> bool:
        """Take the next bytes in; return whether the answer's last event has been seen.

        Once seen, it stays seen.
        """
        for event in self._decoder.feed(chunk):
            self._take(event)
        return self._over

    @abstractmethod
    def _take(self, event: ServerSentEvent) -> None:
        """Take the next event in."""

    def _left_over(self) -> list[Anomaly]:
        """Return what is to be said of bytes that are no event of a whole answer."""
        tail, stray = self._decoder.tail.strip(), self._decoder.stray
        odd = [Anomaly("a line that is no field of an event", stray)] if stray else []
        if tail and not tail.endswith(DONE) and not tail.startswith(b":"):
            odd.append(Anomaly("the last event broke off", tail))
        return odd

    def _broken_off(self) -> str | None:
        """Return what is to be said of the bytes behind the last event."""
        return broken_off("event", self._decoder.tail.strip())


def broken_off(what: str, tail: bytes) -> str | None:
    """Return what is to be said of bytes that no whole event came of."""
    return f"the last {what} broke off after {len(tail)} bytes" if tail else None


def index_or(value: object, otherwise: Otherwise) -> int | Otherwise:
    """Return a value that is an index; another where it is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise


class OpenBlock(Protocol):
    """A block that has begun and not yet stopped."""

    def stop(self) -> JsonObject:
        """Return the whole block; MalformedJson where its input is not JSON that can be kept."""
        ...

    def unfinished(self, index: int) -> Unfinished:
        """Return what is known of a block that did not arrive whole."""
        ...


Opened = TypeVar("Opened", bound=OpenBlock)


class BlocksByIndex(Generic[Opened]):
    """The blocks of an answer by their indexes: those that are open, and those that came whole.

    An open one of which nothing is known, not even its kind, is None.
    """

    __slots__ = ("_broken", "open", "whole")

    def __init__(self) -> None:
        """Begin with no block."""
        self.open: dict[int, Opened | None] = {}
        self.whole: dict[int, JsonObject] = {}
        self._broken: list[Unfinished] = []

    def is_taken(self, index: int) -> bool:
        """Whether there is a block at an index."""
        return index in self.open or index in self.whole

    def stop(self, index: int) -> str | None:
        """Close an open block; return what is odd about it."""
        block = self.open.pop(index)
        if block is None:
            return f"block {index} stopped without a word of its kind"
        try:
            self.whole[index] = block.stop()
        except MalformedJson as exc:
            self._broken.append(block.unfinished(index))
            return f"block {index} stopped with an input that cannot be read: {exc}"
        return None

    def blocks(self) -> tuple[AnswerBlock, ...]:
        """Return the blocks that came whole, in order."""
        return tuple(AnswerBlock(index, self.whole[index]) for index in sorted(self.whole))

    def unfinished(self) -> tuple[Unfinished, ...]:
        """Return the others, in order."""
        still = [block.unfinished(index) for index, block in self.open.items() if block]
        return tuple(sorted([*self._broken, *still], key=lambda block: block.index))

    def stopped_amid(self, reason: object, excuses: Collection[str]) -> str | None:
        """Return what is wrong with a reason to stop; None where no block is cut, or it may cut one.

        `excuses` are the reasons that may come at any moment.
        """
        if reason in excuses or not self.unfinished():
            return None
        return f"stopped ({named(reason)}) with a block that is not whole"

    def gaps(self) -> list[Anomaly]:
        """Return what is to be said of indexes below the last at which no block is."""
        indexes = {*self.whole, *(block.index for block in self.unfinished())}
        missing = sorted(set(range(max(indexes, default=-1) + 1)) - indexes)
        return [Anomaly(f"no block at index {index}") for index in missing]
