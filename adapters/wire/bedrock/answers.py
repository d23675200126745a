"""The envelope of a Converse answer: all of its body but the content of its message.

Members: docs.aws.amazon.com, "Converse", "ConverseStream", "TokenUsage".
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, cast

from onrecord.adapters.wire.answer import Answer, Place, token_count
from onrecord.domain.content import Native
from onrecord.domain.events import (
    Event,
    MessageRecorded,
    OpaqueRecorded,
    ReasoningRecorded,
    ServerToolCallRecorded,
    ServerToolResultRecorded,
    ToolCallRecorded,
)
from onrecord.domain.head import MOST_TOKENS
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.bedrock.read import called

API: Final = "bedrock-converse"
"""The name of this wire format, in events and requests."""

AMID_A_BLOCK: Final = (
    *("max_tokens", "model_context_window_exceeded", "content_filtered"),
    *("guardrail_intervened", "malformed_model_output", "malformed_tool_use"),
)
"""Reasons to stop that may come at any moment, amid a block too."""

_FOR_CALLS: Final = ("tool_use", "end_turn", "stop_sequence")
"""Reasons to stop behind which calls await results: some models end their turn with calls."""


def envelope_of(body: JsonObject) -> JsonObject:
    """Return a body without its message's content."""
    output, message = _object(body.get("output")), message_of(body)
    if "content" not in message:
        return body
    told = {name: value for name, value in message.items() if name != "content"}
    return {**body, "output": {**output, "message": told}}


def message_of(body: JsonObject) -> JsonObject:
    """Return the message of a body, or of an envelope; an empty one where it has none."""
    return _object(_object(body.get("output")).get("message"))


def closed(answer: Answer) -> Answer:
    """Return an answer with what its envelope says of it.

    What was read from a cache, and written to it, is counted beside `inputTokens`; all of these
    are what the model read.
    """
    reason = answer.text("stopReason")
    taken, given = _tokens(_object(answer.envelope.get("usage")))
    return replace(
        answer,
        stop_reason=reason,
        input_tokens=taken,
        output_tokens=given,
        awaits_results=answer.is_complete and reason in _FOR_CALLS and _calls(answer),
    )


def _calls(answer: Answer) -> bool:
    """Whether an answer calls the caller's tools."""
    values = [block.value for block in answer.blocks]
    return any("toolUse" in value and called(value) is None for value in values)


def _tokens(usage: JsonObject) -> tuple[int | None, int | None]:
    cached = (usage.get("cacheReadInputTokens"), usage.get("cacheWriteInputTokens"))
    read = [usage.get("inputTokens"), *(0 if count is None else count for count in cached)]
    counts = [count for count in map(token_count, read) if count is not None]
    taken = min(sum(counts), MOST_TOKENS) if len(counts) == len(read) else None
    return taken, token_count(usage.get("outputTokens"))


def _object(value: Any) -> JsonObject:
    return cast("JsonObject", value) if isinstance(value, dict) else {}


# Which event records a block of Bedrock's Converse API.

_SPOKEN: Final = (
    *("text", "citationsContent", "image", "document", "video", "audio"),
    *("searchResult", "guardContent"),
)
"""The members of blocks by which a model speaks."""


def event_of(index: int, value: JsonObject, native: Native, place: Place) -> Event:
    """Return the event of a block; one that lacks what its event needs is opaque.

    A block is a union: the member that it has says what it is (docs.aws.amazon.com,
    "ContentBlock"). A result in an answer is of a tool that Bedrock runs.
    """
    response, line = place.response, place.line
    match value:
        case {"toolUse": _} if (asked := called(value)) and asked.id:
            return ServerToolCallRecorded(
                response=response,
                index=index,
                call_id=asked.id,
                name=asked.name,
                content=native,
                line=line,
            )
        case {"toolUse": {"toolUseId": str(call), "name": str(name)}} if call:
            return ToolCallRecorded(
                response=response,
                index=index,
                call_id=call,
                name=name,
                content=native,
                awaited=place.awaited,
                line=line,
            )
        case {"toolResult": {"toolUseId": str(call)}} if call:
            return ServerToolResultRecorded(
                response=response, index=index, call_id=call, content=native, line=line
            )
        case {"reasoningContent": _}:
            return ReasoningRecorded(response=response, index=index, content=native, line=line)
        case _ if any(member in value for member in _SPOKEN):
            return MessageRecorded(
                role="assistant", content=(native,), response=response, index=index, line=line
            )
        case _:
            kind = next(iter(value), "")
            return OpaqueRecorded(
                response=response, index=index, type=kind, content=native, line=line
            )
