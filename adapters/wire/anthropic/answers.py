"""The answers of Anthropic's Messages API, read from the bytes of a JSON body."""

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
from onrecord.projections.apis.anthropic.read import called, is_result

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
    content = message.get("content")
    if not isinstance(content, list):
        why = "a message without a list of content"
        return Answer(api=API, envelope=envelope_of(message), interruption="malformed", detail=why)
    return _message(message, cast("list[Any]", content))


def _message(message: JsonObject, content: list[Any]) -> Answer:
    blocks, broken = whole_blocks(content)
    stopped = message.get("stop_reason") is not None
    answer = Answer(
        api=API,
        blocks=blocks,
        envelope=envelope_of(message),
        interruption="malformed" if broken else None,
        detail=f"{broken} of the content is no block" if broken else None,
        anomalies=() if stopped else (Anomaly("a message without a stop reason"),),
    )
    return closed(answer)


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
            asked := called(block.value)
        ) and asked.id:
            return block.server_tool_call(asked.id, asked.name)
        case {"type": str(kind), "tool_use_id": str(call)} if call and is_result(kind):
            return block.server_tool_result(call)
        case {"type": "compaction"}:
            return block.compaction()
        case value:
            return block.opaque(value.get("type"))
