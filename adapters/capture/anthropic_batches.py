"""How Anthropic's message batches are read.

Shapes: platform.claude.com, "Message Batches"; anthropic 2.11.0, resources/messages/batches.py.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Final, cast

from onrecord.adapters.capture.answer import Answer, Loss
from onrecord.adapters.capture.anthropic_body import answer_of, read_body
from onrecord.adapters.capture.anthropic_envelope import API
from onrecord.adapters.capture.batch_members import as_object, deferred
from onrecord.adapters.capture.nesting import read_object
from onrecord.adapters.capture.wire import BatchEntry, BatchResult, BatchWire, ResultsWire
from onrecord.domain import jsontext
from onrecord.domain.errors import InvalidContent, MalformedJson
from onrecord.domain.jsontext import JsonObject

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
