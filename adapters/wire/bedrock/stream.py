"""The answers of Bedrock's Converse API, whole or in frames, and the events that record their blocks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, cast

from onrecord.adapters.wire.answer import (
    Anomaly,
    Answer,
    Loss,
    body_reader,
    named,
    token_sum,
    with_content,
)
from onrecord.adapters.wire.api import error_kind
from onrecord.adapters.wire.bedrock.blocks import OpenBedrockBlock, begun, begun_by
from onrecord.adapters.wire.blocks import BlockContext
from onrecord.adapters.wire.eventstream import Decoder, Frame, failure_of
from onrecord.adapters.wire.stream_reader import BlocksByIndex, StreamReader, broken_off, index_or
from onrecord.domain.events import Event
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.bedrock.read import called
from onrecord.projections.members import members_of, token_count

API: Final = "bedrock-converse"
"""The name of this wire format, in events and requests."""

_AMID_A_BLOCK: Final = (
    *("max_tokens", "model_context_window_exceeded", "content_filtered"),
    *("guardrail_intervened", "malformed_model_output", "malformed_tool_use"),
)
"""Reasons to stop that may come at any moment, amid a block too."""

_FOR_CALLS: Final = ("tool_use", "end_turn", "stop_sequence")
"""Reasons to stop behind which calls await results: some models end their turn with calls."""


_CACHED: Final = ("cacheReadInputTokens", "cacheWriteInputTokens")
"""Counts of tokens that stand beside `inputTokens`: together they are what the model read."""


# The envelope of a Converse answer: all of its body but the content of its message.
#
# Members: docs.aws.amazon.com, "Converse", "ConverseStream", "TokenUsage".


def envelope_of(body: JsonObject) -> JsonObject:
    """Return a body without its message's content."""
    output, message = members_of(body.get("output")), message_of(body)
    if "content" not in message:
        return body
    beside = {name: value for name, value in message.items() if name != "content"}
    return {**body, "output": {**output, "message": beside}}


def message_of(body: JsonObject) -> JsonObject:
    """Return the message of a body, or of an envelope; an empty one where it has none."""
    return members_of(members_of(body.get("output")).get("message"))


def closed(answer: Answer) -> Answer:
    """Return an answer with what its envelope says of it."""
    reason = answer.text("stopReason")
    usage = members_of(answer.envelope.get("usage"))
    return replace(
        answer,
        stop_reason=reason,
        input_tokens=token_sum(usage, "inputTokens", *_CACHED),
        output_tokens=token_count(usage.get("outputTokens")),
        awaits_results=answer.is_complete and reason in _FOR_CALLS and _calls(answer),
    )


def _calls(answer: Answer) -> bool:
    """Whether an answer calls the caller's tools."""
    values = [block.value for block in answer.blocks]
    return any("toolUse" in value and called(value) is None for value in values)


# The answers, read from the bytes of a JSON body.

_ERRORS: Final = frozenset({"message", "Message", "__type", "error"})
"""Members that errors have; no answer has one of them."""


def _answer_of(body: JsonObject) -> Answer:
    if "output" not in body and body.keys() & _ERRORS:
        error = body.get("error", body)
        return Answer(API, interruption="error", error=error, detail=error_kind(error))
    content, has_stopped = message_of(body).get("content"), body.get("stopReason") is not None
    whole = Answer(API, envelope=envelope_of(body))
    return with_content(whole, content, closed, what="an answer", has_stopped=has_stopped)


read_body: Final = body_reader(API, _answer_of)


# Which event records a block of Bedrock's Converse API.

_SPOKEN: Final = (
    *("text", "citationsContent", "image", "document", "video", "audio"),
    *("searchResult", "guardContent"),
)
"""The members of blocks by which a model speaks."""


def event_of(block: BlockContext) -> Event:
    """Return the event of a block; one that lacks what its event needs is opaque.

    A block is a union: the member that it has says what it is (docs.aws.amazon.com,
    "ContentBlock"). A result in an answer is of a tool that Bedrock runs.
    """
    match block.value:
        case {"toolUse": _} if (server_call := called(block.value)) and server_call.id:
            return block.server_tool_call(server_call.id, server_call.name)
        case {"toolUse": {"toolUseId": str(call), "name": str(name)}} if call:
            return block.tool_call(call, name)
        case {"toolResult": {"toolUseId": str(call)}} if call:
            return block.server_tool_result(call)
        case {"reasoningContent": _}:
            return block.reasoning()
        case value if any(member in value for member in _SPOKEN):
            return block.message()
        case value:
            return block.opaque(next(iter(value), ""))


# A streamed answer of Bedrock's ConverseStream, put together from its frames.
#
# Our own assembly, never an SDK's: botocore drops members that its service model does not know,
# and the payload of unknown events. Order and shapes: docs.aws.amazon.com,
# "ConverseStreamOutput".

_PADDING: Final = "p"
"""A member of events that hides their length, and says nothing."""

_OF_A_START: Final = frozenset({"contentBlockIndex", "start"})
_OF_A_DELTA: Final = frozenset({"contentBlockIndex", "delta"})
_OF_A_STOP: Final = frozenset({"contentBlockIndex"})


class ConverseStream(StreamReader):
    """Reads one streamed response, chunk by chunk; nothing that arrives makes it raise."""

    __slots__ = ("_blocks", "_decoder", "_envelope", "_is_broken", "_message", "_metered")

    def __init__(self) -> None:
        """Begin a response."""
        super().__init__()
        self._decoder = Decoder()
        self._envelope: JsonObject = {}
        self._message: JsonObject | None = None
        self._blocks = BlocksByIndex[OpenBedrockBlock]()
        self._is_broken = False
        self._metered = False

    def feed(self, chunk: bytes) -> bool:
        """Take the next bytes in; return whether the response's last event has been seen.

        These are `messageStop` and `metadata`, which counts the tokens, or an error. Once seen, it
        stays seen. A response whose `messageStop` came is whole without `metadata`.
        """
        for frame in self._decoder.feed(chunk):
            self._take(frame)
        if self._decoder.fault is not None and not self._is_broken:
            self._is_broken, self._raw = True, self._decoder.tail
            self._give_up(self._decoder.fault)
        return self._is_over

    @property
    def endings(self) -> int:
        """1 once `messageStop` came, at which readers may leave, and nothing but counts is due."""
        return int(self._over and not self._is_over)

    def finish(self, loss: Loss = "cut", detail: str | None = None) -> Answer:
        """Return what the response said; `loss` is why, if its last event has not been seen."""
        ending = self._ending(loss, detail or broken_off("frame", self._decoder.tail))
        fault = self._blocks.stopped_amid(self._envelope.get("stopReason"), _AMID_A_BLOCK)
        if ending[0] is None and fault:
            ending = "malformed", fault
        tail = self._decoder.tail if ending[0] is None and self._decoder.fault is None else b""
        odd = [Anomaly("the last frame broke off")] if tail else []
        message = {} if self._message is None else {"output": {"message": self._message}}
        envelope = {**message, **self._envelope}
        answer = self._answer(API, envelope, ending, *self._blocks.gaps(), *odd)
        return closed(
            replace(answer, blocks=self._blocks.blocks(), unfinished=self._blocks.unfinished())
        )

    @property
    def _is_over(self) -> bool:
        return (self._over and self._metered) or self._interruption == "error"

    def _take(self, frame: Frame) -> None:
        self._raw = frame.payload
        failure = failure_of(frame)
        if self._is_over:
            self._note("a frame after the last one")
        elif failure is not None:
            self._fail(failure)
        elif self._interruption is None:
            self._follow(frame)

    def _follow(self, frame: Frame) -> None:
        data = self._read(frame.payload)
        if data is None:
            return
        kind = frame.text(":event-type")
        data.pop(_PADDING, None)
        match kind:
            case "contentBlockDelta":
                self._delta(data)
            case "contentBlockStart":
                self._start_block(data)
            case "contentBlockStop":
                self._stop_block(data)
            case "messageStart":
                self._start(data)
            case "messageStop":
                self._stop(data)
            case "metadata":
                self._metered = True
                self._tell(data)
            case _:
                self._note(f"an event of unknown type {named(kind)}")

    def _start(self, data: JsonObject) -> None:
        if self._message is None:
            self._message = data
        elif self._blocks.whole or self._blocks.open:
            self._give_up("a messageStart of another message")
        else:
            self._note("a second messageStart")

    def _start_block(self, data: JsonObject) -> None:
        index, start = index_or(data.get("contentBlockIndex"), -1), data.get("start")
        if index < 0 or not isinstance(start, dict | None):
            self._give_up("a contentBlockStart out of place")
        elif self._blocks.is_taken(index):
            self._give_up("a contentBlockStart of another block at the same index")
        else:
            self._blocks.open[index] = begun(cast("JsonObject", start or {}))
            self._look_for_more(data, _OF_A_START)
            first = next(iter(cast("JsonObject", start or {})), "")
            self._look_for_more(cast("JsonObject", start or {}), {first})

    def _delta(self, data: JsonObject) -> None:
        index, delta = index_or(data.get("contentBlockIndex"), -1), data.get("delta")
        if index < 0 or index in self._blocks.whole or not isinstance(delta, dict):
            self._note("a contentBlockDelta of no open block")
            return
        for member, piece in cast("JsonObject", delta).items():
            self._grow(index, member, piece)
        self._look_for_more(data, _OF_A_DELTA)

    def _grow(self, index: int, member: str, piece: Any) -> None:
        block = self._blocks.open.get(index) or begun_by(member)
        if block is None:
            self._note(f"a delta of unknown kind {named(member)}")
            return
        self._blocks.open[index] = block
        complaint = block.add(member, piece)
        if complaint is not None:
            self._note(complaint)

    def _stop_block(self, data: JsonObject) -> None:
        index = index_or(data.get("contentBlockIndex"), -1)
        if index not in self._blocks.open:
            self._note("a contentBlockStop of no open block")
            return
        self._look_for_more(data, _OF_A_STOP)
        self._close(index)

    def _close(self, index: int) -> None:
        if complaint := self._blocks.stop(index):
            self._note(complaint)

    def _stop(self, data: JsonObject) -> None:
        if self._over:
            self._note("a second messageStop")
            return
        self._over = True
        self._tell(data)
        for index, block in list(self._blocks.open.items()):
            if block is not None and block.may_stay_open:
                self._close(index)
        if data.get("stopReason") is None:
            self._note("a messageStop without a stop reason")

    def _tell(self, members: JsonObject) -> None:
        """Put members of the answer in; what is said twice, and not alike, stays as it was."""
        for name, value in members.items():
            if self._envelope.setdefault(name, value) != value:
                self._note(f"more than one value of {named(name)}")
