"""What a process engine hands over, and the conversations that take it, for tests."""

from __future__ import annotations

from typing import Any

import onrecord
from onrecord.domain import events
from onrecord.domain.content import ToolCall
from tests.projections.happenings import words

PDF = b"%PDF-1.7 a report"


def with_open_calls(chat: onrecord.Conversation) -> onrecord.Conversation:
    """A conversation whose last message is an assistant's that calls two tools."""
    chat.user("Look")
    for call_id in ("a", "b"):
        call = ToolCall(id=call_id, name=f"tool_{call_id}", arguments={})
        chat.log.append(events.ToolCallRecorded(call_id=call_id, name=call.name, content=call))
    return chat


def result(call_id: str, content: Any = None, **more: Any) -> dict[str, Any]:
    given = f"{call_id} gave" if content is None else content
    return {"id": call_id, "name": f"tool_{call_id}", "content": given, **more}


def bell(content: Any = "a bell rang", **more: Any) -> dict[str, Any]:
    return {"id": None, "name": "bell", "content": content, **more}


def last_turn(chat: onrecord.Conversation) -> list[str]:
    return [words(block) for block in chat.history()[-1].blocks]


def types(chat: onrecord.Conversation, since: int) -> list[str]:
    return [recorded.type for recorded in chat.events(after=since)]


def result_of(chat: onrecord.Conversation, call_id: str) -> events.ToolResultRecorded:
    [found] = [
        event
        for recorded in chat.events(after=0)
        if isinstance(event := recorded.event(), events.ToolResultRecorded)
        and event.call_id == call_id
    ]
    return found
