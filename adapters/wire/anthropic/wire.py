"""How the wire of Anthropic's Messages API is read."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from typing import Any, Final, cast

from onrecord.adapters.wire.answer import Answer, Loss
from onrecord.adapters.wire.anthropic.answers import API, answer_of, event_of, read_body
from onrecord.adapters.wire.anthropic.requests import (
    ENDPOINTS,
    instructions,
    read_request,
    said,
    tools,
)
from onrecord.adapters.wire.anthropic.stream import FramedMessageStream, MessageStream
from onrecord.adapters.wire.api import (
    BatchEntry,
    BatchResult,
    BatchWire,
    ResultsWire,
    Wire,
    as_object,
    deferred,
)
from onrecord.adapters.wire.eventstream import FRAMES
from onrecord.adapters.wire.nesting import read_object
from onrecord.adapters.wire.sse import EVENT_STREAM
from onrecord.domain import jsontext
from onrecord.domain.errors import InvalidContent, MalformedJson
from onrecord.domain.jsontext import JsonObject

# How Anthropic's message batches are read.
#
# Shapes: platform.claude.com, "Message Batches"; anthropic 2.11.0, resources/messages/batches.py.

_NAME: Final = re.compile(rb'\s*\{\s*"custom_id"\s*:\s*("(?:[^"\\]|\\.)*")')


def entries(body: bytes) -> tuple[BatchEntry, ...]:
    """Return the requests that a batch sends; InvalidContent or MalformedJson where one is none."""
    requests = read_object(body).get("requests")
    if not isinstance(requests, list):
        raise InvalidContent("`requests` is no list: send the requests as one")
    return tuple(_entry(item) for item in cast("list[Any]", requests))


def read_created(body: bytes, loss: Loss = "malformed", detail: str | None = None) -> Answer:
    """Return what the service says to a batch that was sent: its requests are answered later."""
    try:
        batch = read_object(body)
    except MalformedJson:
        return read_body(body, loss, detail)
    batch_id = batch.get("id")
    is_batch = isinstance(batch_id, str) and batch.get("type") == "message_batch"
    return deferred(API, batch, batch_id if is_batch else None, "batch")


def read_result(line: bytes) -> BatchResult | None:
    """Return what a line of results says; None where it is none."""
    try:
        said = read_object(line)
    except MalformedJson:
        return None
    name, result = said.get("custom_id"), said.get("result")
    known = as_object(result)
    return _result(name, known) if isinstance(name, str) and known is not None else None


def _result(name: str, result: JsonObject) -> BatchResult:
    message, error = as_object(result.get("message")), as_object(result.get("error"))
    match result.get("type"):
        case "succeeded" if message is not None:
            return BatchResult(name, answer_of(message))
        case "errored" if error is not None:
            request_id = error.get("request_id")
            failed = answer_of({"type": "error", **error})
            return BatchResult(name, failed, request_id if isinstance(request_id, str) else None)
        case "canceled" | "expired" as kind:
            over = Answer(API, interruption="error", error=result, detail=kind)
            return BatchResult(name, over)
        case _:
            unread = Answer(API, interruption="malformed", detail="a result of no known type")
            return BatchResult(name, replace(unread, error=result))


def _entry(item: Any) -> BatchEntry:
    entry = as_object(item) or {}
    name, params = entry.get("custom_id"), as_object(entry.get("params"))
    if not isinstance(name, str) or params is None:
        raise InvalidContent("an item of `requests` is no request: give it its custom_id, params")
    return BatchEntry(name, jsontext.write(params))


BATCHES: Final = BatchWire(entries, read_created, lines=ResultsWire(read_result, _NAME))


def _family() -> type[Exception] | None:
    if "anthropic" not in sys.modules:
        return None
    from anthropic import AnthropicError

    return AnthropicError


WIRE: Final = Wire(
    api=API,
    streams={EVENT_STREAM: MessageStream, FRAMES: FramedMessageStream},
    read_body=read_body,
    event_of=event_of,
    read_request=read_request,
    said=said,
    instructions=instructions,
    tools=tools,
    endpoints=ENDPOINTS,
    told=frozenset(
        {
            "/messages",
            "/system",
            "/tools/*/description",
            "/tools/*/input_schema",
            "/tools/*/input_examples",
            "/tools/*/configs",  # Its members are the names of tools.
            "/output_config",
            "/output_format",
        }
    ),
    headers=(
        *("anthropic-version", "anthropic-beta"),
        *("x-amzn-bedrock-guardrailidentifier", "x-amzn-bedrock-guardrailversion"),
    ),
    family=_family,
    batches=BATCHES,
)
