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


def call(chat: onrecord.Conversation, name: str = "look") -> None:
    made = ToolCall(id="call_1", name=name, arguments={})
    chat.user("Look it up.")
    chat.log.append(ToolCallRecorded(call_id="call_1", name=name, content=made))


def recorded(chat: onrecord.Conversation) -> list[Event]:
    events = [each.event() for each in chat.log.read()]
    return [each for each in events if isinstance(each, ToolResultRecorded | DocumentExtracted)]


def result(chat: onrecord.Conversation) -> ToolResult:
    (event,) = [each for each in recorded(chat) if isinstance(each, ToolResultRecorded)]
    assert isinstance(event.content, ToolResult)
    return event.content


def extracted(chat: onrecord.Conversation) -> list[DocumentExtracted]:
    return [each for each in recorded(chat) if isinstance(each, DocumentExtracted)]


def text(chat: onrecord.Conversation) -> Any:
    first = result(chat).content[0]
    assert isinstance(first, Text)
    return json.loads(first.text)


def short(document: Document) -> str:
    assert document.blob is not None
    return document.blob.sha256[:8]


def blob(chat: onrecord.Conversation, document: Document) -> list[bytes]:
    assert document.blob is not None
    return list(stream_of(chat).backend.get_blob(chat.conversation_id, document.blob))
