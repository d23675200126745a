"""The answers of Anthropic's Messages API, whole or streamed, put together from their bytes.

Streams are assembled here, never by an SDK: those merge the texts of two messages when a gateway splices a
second `message_start` in, drop deltas of types they do not know, and complete truncated tool input
to something plausible. Order and shapes of events: platform.claude.com, "Streaming messages".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, cast

from onrecord.adapters.wire.answer import (
    Answer,
    Loss,
    body_reader,
    named,
    token_sum,
    with_content,
)
from onrecord.adapters.wire.anthropic.blocks import MEMBERS, OpenAnthropicBlock
from onrecord.adapters.wire.api import error_kind
from onrecord.adapters.wire.blocks import BlockContext
from onrecord.adapters.wire.stream_reader import (
    BlocksByIndex,
    EventReader,
    ServerSentEvent,
    index_or,
)
from onrecord.domain.events import Event
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.anthropic.read import called, is_result
from onrecord.projections.members import list_of, members_of, token_count

# The envelope of an Anthropic message: all of it but its content, merged from a stream's events.
#
# Rules: platform.claude.com, "Streaming messages". Token counts of a `message_delta` are totals,
# so they replace; one that is left out or null keeps the value it had.

API: Final = "anthropic-messages"
"""The name of this wire format, in events and requests."""

_STOPS: Final = frozenset({"stop_reason", "stop_sequence", "stop_details"})
"""What a message_delta always replaces, by null too."""

_CACHED: Final = ("cache_creation_input_tokens", "cache_read_input_tokens")
"""Counts of tokens that stand beside `input_tokens`: together they are what the model read."""

_OWN: Final = frozenset({"type", "delta", "usage"})


def envelope_of(message: JsonObject) -> JsonObject:
    """Return a message without its content."""
    return {key: value for key, value in message.items() if key != "content"}


def updated(envelope: JsonObject, event: JsonObject) -> JsonObject:
    """Return the envelope after a message_delta event."""
    beside = {key: value for key, value in event.items() if key not in _OWN}
    merged = _merged(_merged(envelope, members_of(event.get("delta"))), beside)
    usage = members_of(event.get("usage"))
    return {**merged, "usage": _merged(members_of(merged.get("usage")), usage)} if usage else merged


def with_model(envelope: JsonObject, block: JsonObject) -> JsonObject:
    """Return the envelope after a block began: a fallback names the model that goes on."""
    if block.get("type") != "fallback":
        return envelope
    model = members_of(block.get("to")).get("model")
    return {**envelope, "model": model} if isinstance(model, str) else envelope


def closed(answer: Answer) -> Answer:
    """Return an answer with what its envelope says of it.

    Results are awaited only of a complete answer that stopped for its calls. Those of a turn that
    paused are not: it goes back as it is, to be continued, and a result after it would be refused.
    Nor are those of calls whose model declined to go on before another took over.
    """
    reason = answer.text("stop_reason")
    usage = members_of(answer.envelope.get("usage"))
    return replace(
        answer,
        stop_reason=reason,
        input_tokens=token_sum(usage, "input_tokens", *_CACHED),
        output_tokens=token_count(usage.get("output_tokens")),
        awaits_results=answer.is_complete and reason == "tool_use",
        ran=_declined(answer),
    )


def _declined(answer: Answer) -> frozenset[str]:
    """Return the ids of calls before the last fallback ("Refusals and fallback": drop them)."""
    values = [block.value for block in answer.blocks]
    kinds = [value.get("type") for value in values]
    last = max((place for place, kind in enumerate(kinds) if kind == "fallback"), default=0)
    ids = (value.get("id") for value in values[:last] if value.get("type") == "tool_use")
    return frozenset(call for call in ids if isinstance(call, str))


def _merged(known: JsonObject, later: JsonObject) -> JsonObject:
    replacing = {
        key: value
        for key, value in later.items()
        if value is not None or key in _STOPS or known.get(key) is None
    }
    return {**known, **replacing}


def answer_of(message: JsonObject) -> Answer:
    """Return what a message, or an error in its place, said."""
    if message.get("type") == "error":
        error = message.get("error", message)
        return Answer(api=API, interruption="error", error=error, detail=error_kind(error))
    has_stopped = message.get("stop_reason") is not None
    whole = Answer(API, envelope=envelope_of(message))
    return with_content(
        whole, message.get("content"), closed, what="a message", has_stopped=has_stopped
    )


read_body: Final = body_reader(API, answer_of)


# Which event records a block of Anthropic's Messages API.


def event_of(block: BlockContext) -> Event:
    """Return the event of a block; one that lacks what its event needs is opaque.

    A call without an id is such a block: nobody could give its result.
    """
    match block.value:
        case {"type": "text"}:
            return block.message()
        case {"type": "thinking" | "redacted_thinking"}:
            return block.reasoning()
        case {"type": "tool_use", "id": str(call), "name": str(name)} if call:
            return block.tool_call(call, name)
        case {"type": "server_tool_use" | "mcp_tool_use"} if (
            server_call := called(block.value)
        ) and server_call.id:
            return block.server_tool_call(server_call.id, server_call.name)
        case {"type": str(kind), "tool_use_id": str(call)} if call and is_result(kind):
            return block.server_tool_result(call)
        case {"type": "compaction"}:
            return block.compaction()
        case value:
            return block.opaque(value.get("type"))


_AMID_A_BLOCK: Final = ("max_tokens", "model_context_window_exceeded", "refusal")
"""Reasons to stop that may come at any moment, amid a block too."""


# The answer, event by event.

_MEMBERS: Final[Mapping[str, frozenset[str]]] = {
    "message_start": frozenset({"type", "message"}),
    "content_block_start": frozenset({"type", "index", "content_block"}),
    "content_block_delta": frozenset({"type", "index", "delta"}),
    "content_block_stop": frozenset({"type", "index"}),
    "ping": frozenset({"type"}),
}
"""What events hold of which no member goes into the envelope."""


class MessageStream(EventReader):
    """Reads one streamed response; its last event is `message_stop`, or `error`."""

    __slots__ = ("_blocks", "_envelope", "_started")

    def __init__(self) -> None:
        """Begin a response."""
        super().__init__()
        self._envelope: JsonObject = {}
        self._started = False
        self._blocks = BlocksByIndex[OpenAnthropicBlock]()

    def finish(self, loss: Loss = "cut", detail: str | None = None) -> Answer:
        """Return what the response said; `loss` is why, if its last event has not been seen."""
        lost = detail or self._broken_off()
        ending = self._ending(loss, lost)
        odd = self._left_over() if ending[0] is None else []
        answer = self._answer(API, self._envelope, ending, *self._blocks.gaps(), *odd)
        return closed(
            replace(answer, blocks=self._blocks.blocks(), unfinished=self._blocks.unfinished())
        )

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
        if isinstance(kind, str) and kind in _MEMBERS:
            self._look_for_more(data, _MEMBERS[kind])
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
        for index, block in enumerate(list_of(message.get("content"))):
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
            self._blocks.open[index] = OpenAnthropicBlock(start)
            self._envelope = with_model(self._envelope, start)

    def _delta(self, data: JsonObject) -> None:
        block, change = self._blocks.open.get(index_or(data.get("index"), -1)), data.get("delta")
        if block is None or not isinstance(change, dict):
            self._note("a content_block_delta of no open block")
            return
        delta = cast("JsonObject", change)
        complaint = block.add(delta)
        if complaint is not None:
            self._note(complaint)
            return
        kind: object = delta.get("type")
        if isinstance(kind, str) and kind in MEMBERS:
            self._look_for_more(delta, MEMBERS[kind])

    def _stop_block(self, data: JsonObject) -> None:
        index = index_or(data.get("index"), -1)
        block = self._blocks.open.get(index)
        if block is not None and block.replaces_input:
            self._note("an input that came before its pieces", b"")
        if index not in self._blocks.open:
            self._note("a content_block_stop of no open block")
        elif complaint := self._blocks.stop(index):
            self._note(complaint, b"")

    def _stop(self) -> None:
        reason = self._envelope.get("stop_reason")
        if not self._started:
            self._give_up("a message_stop before any message_start")
        elif fault := self._blocks.stopped_amid(reason, _AMID_A_BLOCK):
            self._interruption, self._detail = "malformed", fault
        elif reason is None:
            self._note("a message_stop without a stop reason")
        self._over = True
