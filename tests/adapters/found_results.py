"""What was recorded of a tool's result, for tests: the result, its documents, their bytes."""

from __future__ import annotations

import json
from typing import Any

import onrecord
from onrecord.adapters.conversation.conversation import stream_of
from onrecord.domain.content import Document, Text, ToolCall, ToolResult
from onrecord.domain.events import (
    DocumentExtracted,
    Event,
    ToolCallRecorded,
    ToolResultRecorded,
)


def call(talk: onrecord.Talk, name: str = "look") -> None:
    made = ToolCall(id="call_1", name=name, arguments={})
    talk.user("Look it up.")
    talk.log.append(ToolCallRecorded(call_id="call_1", name=name, content=made))


def recorded(talk: onrecord.Talk) -> list[Event]:
    events = [each.event() for each in talk.log.read()]
    return [each for each in events if isinstance(each, ToolResultRecorded | DocumentExtracted)]


def result(talk: onrecord.Talk) -> ToolResult:
    (event,) = [each for each in recorded(talk) if isinstance(each, ToolResultRecorded)]
    assert isinstance(event.content, ToolResult)
    return event.content


def extracted(talk: onrecord.Talk) -> list[DocumentExtracted]:
    return [each for each in recorded(talk) if isinstance(each, DocumentExtracted)]


def text(talk: onrecord.Talk) -> Any:
    first = result(talk).content[0]
    assert isinstance(first, Text)
    return json.loads(first.text)


def short(document: Document) -> str:
    assert document.blob is not None
    return document.blob.sha256[:8]


def blob(talk: onrecord.Talk, document: Document) -> list[bytes]:
    assert document.blob is not None
    return list(stream_of(talk).backend.get_blob(talk.conversation_id, document.blob))
