"""Which event records a block of Anthropic's Messages API."""

from __future__ import annotations

from onrecord.adapters.capture.place import Place
from onrecord.domain.content import Native
from onrecord.domain.events import (
    CompactionRecorded,
    Event,
    MessageRecorded,
    OpaqueRecorded,
    ReasoningRecorded,
    ServerToolCallRecorded,
    ServerToolResultRecorded,
    ToolCallRecorded,
)
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.anthropic.read import called, is_result


def event_of(index: int, value: JsonObject, native: Native, place: Place) -> Event:
    """Return the event of a block; one that lacks what its event needs is opaque.

    A call without an id is such a block: nobody could give its result.
    """
    response, line = place.response, place.line
    match value:
        case {"type": "text"}:
            return MessageRecorded(
                role="assistant", content=(native,), response=response, index=index, line=line
            )
        case {"type": "thinking" | "redacted_thinking"}:
            return ReasoningRecorded(response=response, index=index, content=native, line=line)
        case {"type": "tool_use", "id": str(call), "name": str(name)} if call:
            return ToolCallRecorded(
                response=response,
                index=index,
                call_id=call,
                name=name,
                content=native,
                awaited=place.awaited and call not in place.ran,
                line=line,
            )
        case {"type": "server_tool_use" | "mcp_tool_use"} if (asked := called(value)) and asked.id:
            return ServerToolCallRecorded(
                response=response,
                index=index,
                call_id=asked.id,
                name=asked.name,
                content=native,
                line=line,
            )
        case {"type": str(kind), "tool_use_id": str(call)} if call and is_result(kind):
            return ServerToolResultRecorded(
                response=response, index=index, call_id=call, content=native, line=line
            )
        case {"type": "compaction"}:
            return CompactionRecorded(response=response, index=index, content=native, line=line)
        case _:
            return OpaqueRecorded(
                response=response, index=index, type=_type_of(value), content=native, line=line
            )


def _type_of(block: JsonObject) -> str:
    kind = block.get("type")
    return kind if isinstance(kind, str) else ""
