"""A streamed answer of Anthropic's Messages API, put together from its bytes.

Our own assembly, never an SDK's: those merge the texts of two messages when a gateway splices a
second `message_start` in, drop deltas of types they do not know, and complete truncated tool input
to something plausible. Order and shapes of events: platform.claude.com, "Streaming messages".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple, cast

from onrecord.adapters.wire import eventstream
from onrecord.adapters.wire.answer import Answer, Loss, named
from onrecord.adapters.wire.anthropic.answers import API, closed, envelope_of, updated, with_model
from onrecord.adapters.wire.eventstream import Frame, event_in, failure_of
from onrecord.adapters.wire.sse import Decoder, ServerSentEvent, in_whole_characters
from onrecord.adapters.wire.stream_reader import BlocksByIndex, StreamReader, broken_off, index_or
from onrecord.domain import jsontext
from onrecord.domain.events import Unfinished
from onrecord.domain.jsontext import JsonObject, read_bounded

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
                return {**self._value, "input": read_bounded(text)} if text else self._value
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


class MessageStream(StreamReader):
    """Reads one streamed response, chunk by chunk; nothing that arrives makes it raise."""

    __slots__ = ("_blocks", "_decoder", "_envelope", "_started")

    def __init__(self) -> None:
        """Begin a response."""
        super().__init__()
        self._decoder = Decoder()
        self._envelope: JsonObject = {}
        self._started = False
        self._blocks = BlocksByIndex[OpenBlock]()

    def feed(self, chunk: bytes) -> bool:
        """Take the next bytes in; return whether the response's last event has been seen.

        The last event is `message_stop`, or `error`. Once seen, it stays seen.
        """
        for event in self._decoder.feed(chunk):
            self._take(event)
        return self._over

    def finish(self, loss: Loss = "cut", detail: str | None = None) -> Answer:
        """Return what the response said; `loss` is why, if its last event has not been seen."""
        lost = detail or broken_off("event", self._decoder.tail.strip())
        answer = self._answer(API, self._envelope, self._ending(loss, lost), *self._blocks.gaps())
        return closed(
            replace(answer, blocks=self._blocks.blocks(), unfinished=self._blocks.unfinished())
        )

    def take(self, event: ServerSentEvent) -> bool:
        """Take the next event in, as `feed` does the bytes of several."""
        self._take(event)
        return self._over

    def give_up(self, why: str, raw: bytes) -> None:
        """Put nothing more in: what brings the events went bad."""
        self._give_up(why, raw)

    def _take(self, event: ServerSentEvent) -> None:
        data = self._read(event.data)
        if data is None:
            return
        kind = data.get("type", event.name)
        if self._over:
            self._note(f"an event of type {named(kind)} after the last one")
        elif self._interruption is None:
            self._follow(kind, data)
        else:
            self._over = kind in ("message_stop", "error")

    def _follow(self, kind: object, data: JsonObject) -> None:
        match kind:
            case "content_block_delta":
                self._delta(data)
            case "content_block_start":
                self._start_block(data)
            case "content_block_stop":
                self._stop_block(data)
            case "message_start":
                self._start(data)
            case "message_delta":
                self._envelope = updated(self._envelope, data)
            case "message_stop":
                self._envelope = updated(self._envelope, data)  # Bedrock counts tokens here.
                self._stop()
            case "error":
                self._fail(data.get("error", data))
            case "ping":
                return
            case _:
                self._note(f"an event of unknown type {named(kind)}")

    def _start(self, data: JsonObject) -> None:
        message = data.get("message")
        if not isinstance(message, dict):
            self._give_up("a message_start without a message")
        elif not self._started:
            self._begin(cast("JsonObject", message))
        elif cast("JsonObject", message).get("id") == self._envelope.get("id"):
            self._note("a second message_start of the same message")
        else:
            self._give_up("a message_start of another message")

    def _begin(self, message: JsonObject) -> None:
        """Take the first message_start, which may bring whole blocks (deferred tool calls)."""
        self._started = True
        self._envelope = envelope_of(message)
        content = message.get("content")
        blocks = cast("list[Any]", content) if isinstance(content, list) else []
        for index, block in enumerate(blocks):
            if not isinstance(block, dict):
                self._give_up("a message_start with content that is no block")
                return
            self._blocks.whole[index] = cast("JsonObject", block)

    def _start_block(self, data: JsonObject) -> None:
        index, block = index_or(data.get("index"), -1), data.get("content_block")
        if not (self._started and index >= 0 and isinstance(block, dict)):
            self._give_up("a content_block_start out of place")
            return
        start = cast("JsonObject", block)
        begun = self._blocks.open.get(index)
        if begun is not None and begun.is_untouched(start):
            self._note("a second content_block_start of the same block")
        elif self._blocks.is_taken(index):
            self._give_up("a content_block_start of another block at the same index")
        else:
            self._blocks.open[index] = OpenBlock(start)
            self._envelope = with_model(self._envelope, start)

    def _delta(self, data: JsonObject) -> None:
        block, delta = self._blocks.open.get(index_or(data.get("index"), -1)), data.get("delta")
        if block is None or not isinstance(delta, dict):
            self._note("a content_block_delta of no open block")
            return
        complaint = block.add(cast("JsonObject", delta))
        if complaint is not None:
            self._note(complaint)

    def _stop_block(self, data: JsonObject) -> None:
        index = index_or(data.get("index"), -1)
        if index not in self._blocks.open:
            self._note("a content_block_stop of no open block")
        elif complaint := self._blocks.stop(index):
            self._note(complaint, b"")

    def _stop(self) -> None:
        if not self._started:
            self._give_up("a message_stop before any message_start")
        elif self._is_amid_a_block():
            reason = named(self._envelope.get("stop_reason"))
            self._interruption = "malformed"
            self._detail = f"stopped ({reason}) with a block that is not whole"
        elif self._envelope.get("stop_reason") is None:
            self._note("a message_stop without a stop reason")
        self._over = True

    def _is_amid_a_block(self) -> bool:
        """Whether a block is not whole, and the reason to stop is none to stop amid one."""
        stopped_amid = self._envelope.get("stop_reason") in _AMID_A_BLOCK
        return bool(self._blocks.unfinished()) and not stopped_amid


# The same as Bedrock brings it: each event in a frame.


class FramedMessageStream:
    """Reads one streamed response in frames, chunk by chunk; nothing that arrives makes it raise."""

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
        return self._message.finish(loss, detail or broken_off("frame", self._frames.tail))

    def _take(self, frame: Frame) -> None:
        failure = failure_of(frame)
        if failure is not None:
            payload = jsontext.write({"type": "error", "error": failure})
            self._over = self._message.take(ServerSentEvent("error", payload))
            return
        data, kind = event_in(frame), frame.text(":event-type")
        if data is None and kind == "chunk":
            self._message.give_up("a chunk without an event", frame.payload)
        else:
            payload = frame.payload if data is None else data
            self._over = self._message.take(ServerSentEvent(kind or "", payload))
