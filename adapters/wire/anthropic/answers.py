"""The answers of Anthropic's Messages API, read from the bytes of a JSON body."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, cast

from onrecord.adapters.wire.answer import Anomaly, Answer, Block, Loss, Place, token_count
from onrecord.adapters.wire.api import error_kind
from onrecord.adapters.wire.nesting import read_object
from onrecord.domain.content import Native
from onrecord.domain.errors import MalformedJson
from onrecord.domain.events import (
    CompactionRecorded,
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
from onrecord.projections.apis.anthropic.read import called, is_result

# The envelope of an Anthropic message: all of it but its content, merged from a stream's events.
#
# Rules: platform.claude.com, "Streaming messages". Token counts of a `message_delta` are totals,
# so they replace; one that is left out or null keeps the value it had.

API: Final = "anthropic-messages"
"""The name of this wire format, in events and requests."""

_STOPS: Final = frozenset({"stop_reason", "stop_sequence", "stop_details"})
"""What a message_delta always replaces, by null too."""

_OWN: Final = frozenset({"type", "delta", "usage"})


def envelope_of(message: JsonObject) -> JsonObject:
    """Return a message without its content."""
    return {key: value for key, value in message.items() if key != "content"}


def updated(envelope: JsonObject, event: JsonObject) -> JsonObject:
    """Return the envelope after a message_delta event."""
    beside = {key: value for key, value in event.items() if key not in _OWN}
    merged = _merged(_merged(envelope, _object(event.get("delta"))), beside)
    usage = _object(event.get("usage"))
    return {**merged, "usage": _merged(_object(merged.get("usage")), usage)} if usage else merged


def with_model(envelope: JsonObject, block: JsonObject) -> JsonObject:
    """Return the envelope after a block began: a fallback names the model that goes on."""
    if block.get("type") != "fallback":
        return envelope
    model = _object(block.get("to")).get("model")
    return {**envelope, "model": model} if isinstance(model, str) else envelope


def tokens(envelope: JsonObject) -> tuple[int | None, int | None]:
    """Return the input and output tokens of a message, None for what it does not say.

    Input counts what was read from the cache and what was written to it: Anthropic counts these
    beside `input_tokens`, and all three together are what the model read. Where one can be no count
    (a fraction, less than none, more than `MOST_TOKENS`) none is known; the envelope has it as it
    came.
    """
    usage = _object(envelope.get("usage"))
    cached = (usage.get("cache_creation_input_tokens"), usage.get("cache_read_input_tokens"))
    read = [usage.get("input_tokens"), *(0 if count is None else count for count in cached)]
    counts = [count for count in map(token_count, read) if count is not None]
    taken = min(sum(counts), MOST_TOKENS) if len(counts) == len(read) else None
    return taken, token_count(usage.get("output_tokens"))


def closed(answer: Answer) -> Answer:
    """Return an answer with what its envelope says of it.

    Results are awaited only of a complete answer that stopped for its calls. Those of a turn that
    paused are not: it goes back as it is, to be continued, and a result after it would be refused.
    Nor are those of calls whose model declined to go on before another took over.
    """
    reason = answer.text("stop_reason")
    taken, given = tokens(answer.envelope)
    return replace(
        answer,
        stop_reason=reason,
        input_tokens=taken,
        output_tokens=given,
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


def _merged(known: JsonObject, news: JsonObject) -> JsonObject:
    replacing = {
        key: value
        for key, value in news.items()
        if value is not None or key in _STOPS or known.get(key) is None
    }
    return {**known, **replacing}


def _object(value: Any) -> JsonObject:
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def read_body(body: bytes, loss: Loss = "malformed", detail: str | None = None) -> Answer:
    """Return what a whole JSON body said; `loss` is why, if it is not whole.

    Never raises: a body that cannot be read is an answer without blocks that says so.
    """
    try:
        message = read_object(body)
    except MalformedJson as exc:
        return Answer(api=API, interruption=loss, detail=detail or str(exc))
    return answer_of(message)


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
    whole = tuple(
        Block(index, cast("JsonObject", block))
        for index, block in enumerate(content)
        if isinstance(block, dict)
    )
    broken = len(content) - len(whole)
    stopped = message.get("stop_reason") is not None
    answer = Answer(
        api=API,
        blocks=whole,
        envelope=envelope_of(message),
        interruption="malformed" if broken else None,
        detail=f"{broken} of the content is no block" if broken else None,
        anomalies=() if stopped else (Anomaly("a message without a stop reason"),),
    )
    return closed(answer)


# Which event records a block of Anthropic's Messages API.


def event_of(index: int, value: JsonObject, native: Native, place: Place) -> Event:
    """Return the event of a block; one that lacks what its event needs is opaque.

    A call without an id is such a block: nobody could give its result.
    """
    response, line = place.response, place.line
    match value:
        case {"type": "text"}:
            return MessageRecorded(
                role="assistant", content=(native,), response=response, index=index, line=line
            )
        case {"type": "thinking" | "redacted_thinking"}:
            return ReasoningRecorded(response=response, index=index, content=native, line=line)
        case {"type": "tool_use", "id": str(call), "name": str(name)} if call:
            return ToolCallRecorded(
                response=response,
                index=index,
                call_id=call,
                name=name,
                content=native,
                awaited=place.awaited and call not in place.ran,
                line=line,
            )
        case {"type": "server_tool_use" | "mcp_tool_use"} if (asked := called(value)) and asked.id:
            return ServerToolCallRecorded(
                response=response,
                index=index,
                call_id=asked.id,
                name=asked.name,
                content=native,
                line=line,
            )
        case {"type": str(kind), "tool_use_id": str(call)} if call and is_result(kind):
            return ServerToolResultRecorded(
                response=response, index=index, call_id=call, content=native, line=line
            )
        case {"type": "compaction"}:
            return CompactionRecorded(response=response, index=index, content=native, line=line)
        case _:
            return OpaqueRecorded(
                response=response, index=index, type=_type_of(value), content=native, line=line
            )


def _type_of(block: JsonObject) -> str:
    kind = block.get("type")
    return kind if isinstance(kind, str) else ""
