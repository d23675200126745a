"""The envelope of an Anthropic message: all of it but its content, merged from a stream's events.

Rules: platform.claude.com, "Streaming messages". Token counts of a `message_delta` are totals, so
they replace; one that is left out or null keeps the value it had.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, cast

from onrecord.adapters.capture.answer import Answer, token_count
from onrecord.domain.head import MOST_TOKENS
from onrecord.domain.jsontext import JsonObject

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
