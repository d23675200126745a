"""Calls of tools and their results as events, for tests of what becomes of them."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from onrecord.domain import events
from onrecord.domain.content import Native, Text, ToolCall, ToolResult
from onrecord.domain.events import Event

RESPONSE: Final = UUID(int=7)
LINE: Final = UUID(int=8)


def called(
    call_id: str, *, line: UUID | None = None, response: UUID | None = None, **arguments: Any
) -> Event:
    content = ToolCall(id=call_id, name="look_up", arguments=arguments)
    return events.ToolCallRecorded(
        call_id=call_id, name="look_up", content=content, line=line, response=response
    )


def gave(call_id: str, text: str = "found", **members: Any) -> Event:
    content = ToolResult(call_id=call_id, content=(Text(text=text),))
    return events.ToolResultRecorded(call_id=call_id, content=content, **members)


def closed(model: str | None = "claude-sonnet-5") -> Event:
    return events.ResponseCompleted(
        response=RESPONSE, api="anthropic-messages", model=model, envelope={}
    )


def searched(call_id: str, name: str = "web_search", **members: Any) -> Event:
    value = {"type": "server_tool_use", "id": call_id, "name": name, "input": {"query": "fog"}}
    return events.ServerToolCallRecorded(
        response=RESPONSE,
        index=0,
        call_id=call_id,
        name=name,
        content=Native(api="anthropic-messages", value=value),
        **members,
    )


def search_gave(call_id: str, title: str = "mist", **members: Any) -> Event:
    page = {"type": "web_search_result", "url": "https://a.b", "title": title}
    value = {"type": "web_search_tool_result", "tool_use_id": call_id, "content": [page]}
    return events.ServerToolResultRecorded(
        response=RESPONSE,
        index=1,
        call_id=call_id,
        content=Native(api="anthropic-messages", value=value),
        **members,
    )
