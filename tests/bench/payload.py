"""What is said in the measured conversations: texts of 1 KB that do not compress."""

from __future__ import annotations

import base64
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any
from uuid import UUID

from onrecord.domain import events
from onrecord.domain.content import Native, Text, ToolCall, ToolResult
from onrecord.domain.events import Event
from onrecord.domain.request_template import ContentSpan, LiteralSpan, Recipe, Template

API = "anthropic-messages"
WINDOW = 20
"""Exchanges of the measured window: 50 messages."""

_RANDOM = random.Random(4711)


def text() -> str:
    """Return 1 KB of random base64."""
    return base64.b64encode(_RANDOM.randbytes(768)).decode("ascii")


def prompt() -> Event:
    """Return something that a user says."""
    return events.MessageRecorded(role="user", content=(Text(text=text()),))


def answer() -> Event:
    """Return something that a model says, in neutral form."""
    return events.MessageRecorded(role="assistant", content=(Text(text=text()),))


@dataclass(frozen=True, slots=True)
class Exchange:
    """A prompt and its answer, with a round of one tool call between them, or none."""

    prompt: str
    answer: str
    call: str | None = None
    result: str | None = None


def exchanges(messages: int) -> Iterator[Exchange]:
    """Yield exchanges that hold so many messages, a multiple of ten: every fourth calls a tool."""
    for number in range(messages * 4 // 10):
        if number % 4:
            yield Exchange(prompt=text(), answer=text())
        else:
            call = f"toolu_{_RANDOM.randbytes(9).hex()}"
            yield Exchange(prompt=text(), answer=text(), call=call, result=text())


def batches(found: Iterator[Any], size: int) -> Iterator[list[Any]]:
    """Yield what an iterator yields, in lists of at most `size`."""
    while batch := list(islice(found, size)):
        yield batch


def as_said(exchange: Exchange) -> Iterator[Event]:
    """Yield an exchange as a caller would say it: an event a message."""
    yield events.MessageRecorded(role="user", content=(Text(text=exchange.prompt),))
    if exchange.call is not None:
        called = ToolCall(id=exchange.call, name="look_up", arguments={"name": exchange.call})
        yield events.ToolCallRecorded(call_id=exchange.call, name="look_up", content=called)
        yield _result(exchange.call, exchange.result or "")
    yield events.MessageRecorded(role="assistant", content=(Text(text=exchange.answer),))


def as_recorded(exchange: Exchange) -> Iterator[Event]:
    """Yield an exchange as it is recorded off the wire: what as_said has, and both envelopes."""
    yield events.MessageRecorded(role="user", content=(Text(text=exchange.prompt),))
    if exchange.call is not None:
        arguments = {"name": exchange.call}
        block = {"type": "tool_use", "id": exchange.call, "name": "look_up", "input": arguments}
        response = _identity()
        yield from _sent()
        yield events.ToolCallRecorded(
            response=response,
            index=0,
            call_id=exchange.call,
            name="look_up",
            content=_native(block),
        )
        yield _completed(response, "tool_use")
        yield _result(exchange.call, exchange.result or "")
    response = _identity()
    yield from _sent()
    yield events.MessageRecorded(
        role="assistant",
        content=(_native({"type": "text", "text": exchange.answer}),),
        response=response,
        index=0,
    )
    yield _completed(response, "end_turn")


def as_items(exchange: Exchange) -> Iterator[dict[str, Any]]:
    """Yield an exchange as OpenAI Agents keeps it: an item a message."""
    yield {"role": "user", "content": exchange.prompt}
    if exchange.call is not None:
        yield {
            "type": "function_call",
            "call_id": exchange.call,
            "name": "look_up",
            "arguments": f'{{"name":"{exchange.call}"}}',
        }
        yield {
            "type": "function_call_output",
            "call_id": exchange.call,
            "output": exchange.result,
        }
    yield {"role": "assistant", "content": exchange.answer}


def _result(call_id: str, content: str) -> Event:
    result = ToolResult(call_id=call_id, content=(Text(text=content),))
    return events.ToolResultRecorded(call_id=call_id, content=result)


def _sent() -> Iterator[Event]:
    recipe = Recipe(api=API, version=1, options={"window": WINDOW}, renderer="1")
    spans = (
        LiteralSpan(text='{"model":"claude-sonnet-4-5","max_tokens":1024,"messages":'),
        ContentSpan(event=UUID(int=1), pointer="/content/0/text"),
        LiteralSpan(text="}"),
    )
    digest = _RANDOM.randbytes(32).hex()
    yield events.RequestSent(
        api=API,
        endpoint="/v1/messages",
        model="claude-sonnet-4-5",
        template=Template(spans=spans, sha256=digest, size=51_200),
        recipe=recipe,
        prefix=digest,
        history=digest,
        blocks=1,
    )


def _completed(response: UUID, stop_reason: str) -> Event:
    usage = {"input_tokens": 2095, "output_tokens": 503, "service_tier": "standard"}
    envelope = {
        "id": f"msg_{response.hex}",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": usage,
    }
    return events.ResponseCompleted(
        response=response,
        api=API,
        provider_id=f"msg_{response.hex}",
        model="claude-sonnet-4-5",
        stop_reason=stop_reason,
        envelope=envelope,
        input_tokens=2095,
        output_tokens=503,
    )


def _native(block: dict[str, Any]) -> Native:
    return Native(api=API, value=block)


def _identity() -> UUID:
    return UUID(bytes=_RANDOM.randbytes(16), version=4)
