"""What a process engine hands over, and the conversations that take it, for tests."""

from __future__ import annotations

from typing import Any

import onrecord
from onrecord.domain import events
from onrecord.domain.content import ToolCall
from tests.projections.happenings import words

PDF = b"%PDF-1.7 a report"


def with_open_calls(talk: onrecord.Talk) -> onrecord.Talk:
    """A conversation whose last message is an assistant's that calls two tools."""
    talk.user("Look")
    for call_id in ("a", "b"):
        call = ToolCall(id=call_id, name=f"tool_{call_id}", arguments={})
        talk.log.append(events.ToolCallRecorded(call_id=call_id, name=call.name, content=call))
    return talk


def result(call_id: str, content: Any = None, **more: Any) -> dict[str, Any]:
    given = f"{call_id} gave" if content is None else content
    return {"id": call_id, "name": f"tool_{call_id}", "content": given, **more}


def bell(content: Any = "a bell rang", **more: Any) -> dict[str, Any]:
    return {"id": None, "name": "bell", "content": content, **more}


def last_turn(talk: onrecord.Talk) -> list[str]:
    return [words(block) for block in talk.history()[-1].blocks]


def types(talk: onrecord.Talk, since: int) -> list[str]:
    return [recorded.type for recorded in talk.events(after=since)]


def result_of(talk: onrecord.Talk, call_id: str) -> events.ToolResultRecorded:
    [found] = [
        event
        for recorded in talk.events(after=0)
        if isinstance(event := recorded.event(), events.ToolResultRecorded)
        and event.call_id == call_id
    ]
    return found
