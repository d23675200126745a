"""What items of frameworks say of calls of tools, as the events that would record it."""

from __future__ import annotations

from collections.abc import Iterator

from onrecord.domain.content import (
    NeutralBlock,
    ServerToolCall,
    ServerToolResult,
    ToolCall,
    ToolResult,
)
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.api import neutral_of
from onrecord.projections.frameworks.registry import framework_of


def calls_in(members: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """Yield the name and the members of an event for each call and each result that an item holds.

    `members` are those of an item's event. One that is kept beside its stream says nothing.
    """
    contents = framework_of(members["framework"]).read_item(members["item"])
    if contents is None or "beside" in members:
        return
    for value in contents.blocks:
        found = _event(neutral_of(contents.api, value))
        if found is not None:
            name, said = found
            content = {"kind": "native", "api": contents.api, "value": value}
            yield name, {**said, "content": content}


def _event(block: NeutralBlock) -> tuple[str, JsonObject] | None:
    match block:
        case ToolCall(id=call_id, name=name):
            return "tool_call.recorded", {"call_id": call_id, "name": name}
        case ServerToolCall(id=call_id, name=name):
            return "server_tool_call.recorded", {"call_id": call_id, "name": name}
        case ToolResult(call_id=call_id, is_error=is_error):
            return "tool_result.recorded", {"call_id": call_id, "is_error": is_error}
        case ServerToolResult(call_id=call_id):
            return "server_tool_result.recorded", {"call_id": call_id}
        case _:
            return None
