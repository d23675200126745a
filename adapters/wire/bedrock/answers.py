"""The envelope of a Converse answer: all of its body but the content of its message.

Members: docs.aws.amazon.com, "Converse", "ConverseStream", "TokenUsage".
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, cast

from onrecord.adapters.wire.answer import (
    Anomaly,
    Answer,
    body_reader,
    members_of,
    token_count,
    token_sum,
    whole_blocks,
)
from onrecord.adapters.wire.api import error_kind
from onrecord.adapters.wire.blocks import BlockContext
from onrecord.domain.events import (
    Event,
)
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


_CACHED: Final = ("cacheReadInputTokens", "cacheWriteInputTokens")
"""Counts of tokens that stand beside `inputTokens`: together they are what the model read."""


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
    envelope, content = envelope_of(body), message_of(body).get("content")
    if not isinstance(content, list):
        why = "an answer without a list of content"
        return Answer(API, envelope=envelope, interruption="malformed", detail=why)
    blocks, broken = whole_blocks(cast("list[Any]", content))
    stopped = body.get("stopReason") is not None
    answer = Answer(
        api=API,
        blocks=blocks,
        envelope=envelope,
        interruption="malformed" if broken else None,
        detail=f"{broken} of the content is no block" if broken else None,
        anomalies=() if stopped else (Anomaly("an answer without a stop reason"),),
    )
    return closed(answer)


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
        case {"toolUse": _} if (asked := called(block.value)) and asked.id:
            return block.server_tool_call(asked.id, asked.name)
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
