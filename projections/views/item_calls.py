"""What items of frameworks say of calls of tools, as the events that would record it.

A row of the ledger is of an event, so an item has one call: the first, where it holds several.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from onrecord.domain.content import (
    NeutralBlock,
    ServerToolCall,
    ServerToolResult,
    ToolCall,
    ToolResult,
)
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.api import neutral_of
from onrecord.projections.frameworks.readings import contents_of


def calls_in(members: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """Yield the name and the members of an event for the call and each result that an item holds.

    `members` are those of an item's event. One that is kept beside its stream says nothing.
    """
    contents = contents_of(members["framework"], members["item"])
    if contents is None or "beside" in members:
        return
    has_call = False
    for value in contents.blocks:
        found = _event(neutral_of(contents.api, value))
        if found is None or (has_call and found[0] in _CALLS):
            continue
        has_call = has_call or found[0] in _CALLS
        name, said = found
        yield name, {**said, "content": {"kind": "native", "api": contents.api, "value": value}}


_CALLS: Final = frozenset({"tool_call.recorded", "server_tool_call.recorded"})


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
