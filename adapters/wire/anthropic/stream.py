"""A streamed answer of Anthropic's Messages API, put together from its bytes.

Our own assembly, never an SDK's: those merge the texts of two messages when a gateway splices a
second `message_start` in, drop deltas of types they do not know, and complete truncated tool input
to something plausible. Order and shapes of events: platform.claude.com, "Streaming messages".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, cast

from onrecord.adapters.wire import eventstream
from onrecord.adapters.wire.answer import Anomaly, Answer, Block, Interruption, Loss, named
from onrecord.adapters.wire.anthropic.answers import API, closed, envelope_of, updated, with_model
from onrecord.adapters.wire.api import error_kind
from onrecord.adapters.wire.eventstream import Frame, event_in, failure_of
from onrecord.adapters.wire.nesting import read, read_object
from onrecord.adapters.wire.sse import Decoder, ServerSentEvent, in_whole_characters
from onrecord.domain import jsontext
from onrecord.domain.errors import MalformedJson
from onrecord.domain.events import Unfinished
from onrecord.domain.jsontext import JsonObject

_AMID_A_BLOCK: Final = ("max_tokens", "model_context_window_exceeded", "refusal")
"""Reasons to stop that may come at any moment, amid a block too."""


# A block while it arrives: what it began as, and its deltas since.
#
# Text, thinking and the JSON of an input are joined; a signature replaces; a citation is one more; a
# compaction's members are set. All other blocks arrive whole in their start.


class _Joined(NamedTuple):
    """A delta whose pieces are joined: where a piece is, where it belongs, in which blocks."""

    piece: str
    member: str
    types: frozenset[str]


_JOINED: Final[Mapping[str, _Joined]] = {
    "text_delta": _Joined("text", "text", frozenset({"text"})),
    "thinking_delta": _Joined("thinking", "thinking", frozenset({"thinking"})),
    "input_json_delta": _Joined(
        "partial_json", "input", frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
    ),
}


class OpenBlock:
    """A block that has begun and not yet stopped."""

    __slots__ = ("_member", "_pieces", "_value")

    def __init__(self, start: JsonObject) -> None:
        """Begin with the block of its start event."""
        self._value = dict(start)
        self._member: str | None = None
        self._pieces: list[str] = []

    def is_untouched(self, start: JsonObject) -> bool:
        """Whether the block began as this and nothing came since."""
        return self._value == start and not self._pieces

    def add(self, delta: JsonObject) -> str | None:
        """Take a delta in; return why it could not be, and then the block stays as it was."""
        kind = delta.get("type")
        match kind:
            case str() if kind in _JOINED:
                fits = self._join(_JOINED[kind], delta)
            case str() if kind in _MERGED:
                fits = _MERGED[kind](self._value, delta)
            case _:
                return f"a delta of unknown type {named(kind)}"
        return None if fits else f"a {kind} that does not fit its block"

    def _join(self, joined: _Joined, delta: JsonObject) -> bool:
        piece = delta.get(joined.piece)
        fits = joined.member in self._value or self._value.get("type") in joined.types
        same = self._member in (None, joined.member)
        if not (isinstance(piece, str) and fits and same):
            return False
        self._member = joined.member
        self._pieces.append(piece)
        return True

    def stop(self) -> JsonObject:
        """Return the whole block; MalformedJson where its input is not JSON that can be kept."""
        text = in_whole_characters("".join(self._pieces))
        match self._member:
            case None:
                return self._value
            case "input":
                return {**self._value, "input": read(text)} if text else self._value
            case member:
                begun = self._value.get(member)
                said = begun + text if isinstance(begun, str) else text
                return {**self._value, member: said}

    def unfinished(self, index: int) -> Unfinished:
        """Return what is known of a block that did not arrive whole."""
        partial = in_whole_characters("".join(self._pieces))
        return Unfinished(index=index, value=self._value, partial=partial)


def _sign(block: JsonObject, delta: JsonObject) -> bool:
    if block.get("type") != "thinking" or "signature" not in delta:
        return False
    block["signature"] = delta["signature"]
    return True


def _cite(block: JsonObject, delta: JsonObject) -> bool:
    cited: Any = block.get("citations") or []
    if block.get("type") != "text" or "citation" not in delta or not isinstance(cited, list):
        return False
    block["citations"] = [*cast("list[Any]", cited), delta["citation"]]
    return True


def _compact(block: JsonObject, delta: JsonObject) -> bool:
    if block.get("type") != "compaction":
        return False
    block.update({key: value for key, value in delta.items() if key != "type"})
    return True


_MERGED: Final[Mapping[str, Callable[[JsonObject, JsonObject], bool]]] = {
    "signature_delta": _sign,
    "citations_delta": _cite,
    "compaction_delta": _compact,
}


# The answer, event by event.


class MessageStream:
    """Reads one streamed response, chunk by chunk; nothing that arrives makes it raise."""

    __slots__ = (
        "_anomalies",
        "_decoder",
        "_detail",
        "_envelope",
        "_error",
        "_interruption",
        "_over",
        "_started",
        "_unfinished",
        "_whole",
        "_writing",
    )

    def __init__(self) -> None:
        """Begin a response."""
        self._decoder = Decoder()
        self._envelope: JsonObject = {}
        self._started = False
        self._writing: dict[int, OpenBlock] = {}
        self._whole: dict[int, JsonObject] = {}
        self._unfinished: list[Unfinished] = []
        self._anomalies: list[Anomaly] = []
        self._interruption: Interruption | None = None
        self._detail: str | None = None
        self._error: Any = None
        self._over = False

    def feed(self, chunk: bytes) -> bool:
        """Take the next bytes in; return whether the response's last event has been seen.

        The last event is `message_stop`, or `error`. Once seen, it stays seen.
        """
        for event in self._decoder.feed(chunk):
            self._take(event)
        return self._over

    def finish(self, loss: Loss = "cut", detail: str | None = None) -> Answer:
        """Return what the response said; `loss` is why, if its last event has not been seen."""
        interruption, known = self._interruption, self._detail
        if interruption is None and not self._over:
            interruption, known = loss, detail or self._lost()
        answer = Answer(
            api=API,
            blocks=tuple(Block(index, self._whole[index]) for index in sorted(self._whole)),
            envelope=self._envelope,
            unfinished=self._all_unfinished(),
            interruption=interruption,
            detail=known,
            error=self._error,
            anomalies=(*self._anomalies, *self._gaps()),
        )
        return closed(answer)

    def take(self, event: ServerSentEvent) -> bool:
        """Take the next event in, as `feed` does the bytes of several."""
        self._take(event)
        return self._over

    def _take(self, event: ServerSentEvent) -> None:
        try:
            data = read_object(event.data)
        except MalformedJson as exc:
            self.give_up(f"an event cannot be read: {exc}", event.data)
            return
        kind = data.get("type", event.name)
        if self._over:
            self._note(f"an event of type {named(kind)} after the last one", event.data)
        elif self._interruption is None:
            self._follow(kind, data, event.data)
        else:
            self._over = kind in ("message_stop", "error")

    def _follow(self, kind: object, data: JsonObject, raw: bytes) -> None:
        match kind:
            case "content_block_delta":
                self._delta(data, raw)
            case "content_block_start":
                self._start_block(data, raw)
            case "content_block_stop":
                self._stop_block(data, raw)
            case "message_start":
                self._start(data, raw)
            case "message_delta":
                self._envelope = updated(self._envelope, data)
            case "message_stop":
                self._envelope = updated(self._envelope, data)  # Bedrock counts tokens here.
                self._stop(raw)
            case "error":
                self._fail(data)
            case "ping":
                return
            case _:
                self._note(f"an event of unknown type {named(kind)}", raw)

    def _start(self, data: JsonObject, raw: bytes) -> None:
        message = data.get("message")
        if not isinstance(message, dict):
            self.give_up("a message_start without a message", raw)
        elif not self._started:
            self._begin(cast("JsonObject", message), raw)
        elif cast("JsonObject", message).get("id") == self._envelope.get("id"):
            self._note("a second message_start of the same message", raw)
        else:
            self.give_up("a message_start of another message", raw)

    def _begin(self, message: JsonObject, raw: bytes) -> None:
        """Take the first message_start, which may bring whole blocks (deferred tool calls)."""
        self._started = True
        self._envelope = envelope_of(message)
        content = message.get("content")
        blocks = cast("list[Any]", content) if isinstance(content, list) else []
        for index, block in enumerate(blocks):
            if not isinstance(block, dict):
                self.give_up("a message_start with content that is no block", raw)
                return
            self._whole[index] = cast("JsonObject", block)

    def _start_block(self, data: JsonObject, raw: bytes) -> None:
        index, block = _index(data), data.get("content_block")
        if not (self._started and index >= 0 and isinstance(block, dict)):
            self.give_up("a content_block_start out of place", raw)
            return
        start = cast("JsonObject", block)
        if index in self._writing and self._writing[index].is_untouched(start):
            self._note("a second content_block_start of the same block", raw)
        elif index in self._writing or index in self._whole:
            self.give_up("a content_block_start of another block at the same index", raw)
        else:
            self._writing[index] = OpenBlock(start)
            self._envelope = with_model(self._envelope, start)

    def _delta(self, data: JsonObject, raw: bytes) -> None:
        block, delta = self._writing.get(_index(data)), data.get("delta")
        if block is None or not isinstance(delta, dict):
            self._note("a content_block_delta of no open block", raw)
            return
        complaint = block.add(cast("JsonObject", delta))
        if complaint is not None:
            self._note(complaint, raw)

    def _stop_block(self, data: JsonObject, raw: bytes) -> None:
        index = _index(data)
        block = self._writing.pop(index, None)
        if block is None:
            self._note("a content_block_stop of no open block", raw)
            return
        try:
            self._whole[index] = block.stop()
        except MalformedJson as exc:
            self._note(f"block {index} stopped with an input that cannot be read: {exc}")
            self._unfinished.append(block.unfinished(index))

    def _stop(self, raw: bytes) -> None:
        if not self._started:
            self.give_up("a message_stop before any message_start", raw)
        elif self._is_amid_a_block():
            reason = named(self._envelope.get("stop_reason"))
            self._interruption = "malformed"
            self._detail = f"stopped ({reason}) with a block that is not whole"
        elif self._envelope.get("stop_reason") is None:
            self._note("a message_stop without a stop reason", raw)
        self._over = True

    def _is_amid_a_block(self) -> bool:
        """Whether a block is not whole, and the reason to stop is none to stop amid one."""
        stopped_amid = self._envelope.get("stop_reason") in _AMID_A_BLOCK
        return bool(self._writing or self._unfinished) and not stopped_amid

    def _fail(self, data: JsonObject) -> None:
        self._over = True
        self._interruption = "error"
        self._error = data.get("error", data)
        self._detail = error_kind(self._error)

    def give_up(self, why: str, raw: bytes) -> None:
        """Keep what is known, and put nothing more in: what follows may belong elsewhere.

        What was over, or given up, stays as it was.
        """
        self._note(why, raw)
        if self._interruption is None and not self._over:
            self._interruption, self._detail = "malformed", why

    def _note(self, what: str, raw: bytes = b"") -> None:
        self._anomalies.append(Anomaly(what, raw))

    def _lost(self) -> str | None:
        tail = self._decoder.tail.strip()
        return f"the last event broke off after {len(tail)} bytes" if tail else None

    def _all_unfinished(self) -> tuple[Unfinished, ...]:
        writing = [block.unfinished(index) for index, block in self._writing.items()]
        return tuple(sorted([*self._unfinished, *writing], key=lambda block: block.index))

    def _gaps(self) -> list[Anomaly]:
        broken = (block.index for block in self._unfinished)
        indexes = {*self._whole, *self._writing, *broken}
        missing = sorted(set(range(max(indexes, default=-1) + 1)) - indexes)
        return [Anomaly(f"no block at index {index}") for index in missing]


def _index(data: JsonObject) -> int:
    """Return the index that an event names; -1, where no block is, if it names none."""
    value = data.get("index")
    return value if isinstance(value, int) and not isinstance(value, bool) else -1


# The same as Bedrock brings it: each event in a frame.


class FramedMessageStream:
    """Reads one streamed response, chunk by chunk; nothing that arrives makes it raise."""

    __slots__ = ("_frames", "_is_given_up", "_message", "_over")

    def __init__(self) -> None:
        """Begin a response."""
        self._frames = eventstream.Decoder()
        self._message = MessageStream()
        self._is_given_up = False
        self._over = False

    def feed(self, chunk: bytes) -> bool:
        """Take the next bytes in; return whether the response's last event has been seen."""
        for frame in self._frames.feed(chunk):
            self._take(frame)
        if self._frames.fault is not None and not self._is_given_up:
            self._is_given_up = True
            self._message.give_up(self._frames.fault, self._frames.tail)
        return self._over

    def finish(self, loss: Loss = "cut", detail: str | None = None) -> Answer:
        """Return what the response said; `loss` is why, if its last event has not been seen."""
        tail = self._frames.tail
        lost = f"the last frame broke off after {len(tail)} bytes" if tail else None
        return self._message.finish(loss, detail or lost)

    def _take(self, frame: Frame) -> None:
        failure = failure_of(frame)
        if failure is not None:
            told = jsontext.write({"type": "error", "error": failure})
            self._over = self._message.take(ServerSentEvent("error", told))
            return
        data, kind = event_in(frame), frame.text(":event-type")
        if data is None and kind == "chunk":
            self._message.give_up("a chunk without an event", frame.payload)
        else:
            told = frame.payload if data is None else data
            self._over = self._message.take(ServerSentEvent(kind or "", told))
