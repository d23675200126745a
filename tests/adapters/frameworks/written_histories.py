"""Histories as frameworks write them whose spelling is no API's own, by hand: each says the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onrecord.domain.jsontext import JsonObject

ASKED, THOUGHT, CALLED, GAVE, ANSWERED = range(5)
"""What the items of each history say, in order."""

_NOTHING_USED: JsonObject = {"input_tokens": 0, "output_tokens": 0, "details": {}}


def pydantic_entry(kind: str, *parts: JsonObject, **members: Any) -> JsonObject:
    """An entry of a conversation of pydantic-ai."""
    return {"id": "e", "kind": "message", "message": {"kind": kind, "parts": [*parts], **members}}


def pydantic_call(call_id: str, **args: Any) -> JsonObject:
    return {"part_kind": "tool-call", "tool_call_id": call_id, "tool_name": "track", "args": args}


PYDANTIC_AI = (
    pydantic_entry(
        "request",
        {"part_kind": "system-prompt", "content": "Be brief."},
        {"part_kind": "user-prompt", "content": "Where is parcel NW-1?"},
    ),
    pydantic_entry("response", {"part_kind": "thinking", "content": "Look."}, usage=_NOTHING_USED),
    pydantic_entry("response", pydantic_call("c1", parcel="NW-1"), usage=_NOTHING_USED),
    pydantic_entry(
        "request",
        {
            "part_kind": "tool-return",
            "tool_call_id": "c1",
            "tool_name": "track",
            "content": "in depot North",
        },
    ),
    pydantic_entry("response", {"part_kind": "text", "content": "In depot North."}),
)


def framework_message(role: str, *contents: JsonObject) -> JsonObject:
    """A message of Microsoft's Agent Framework."""
    return {"type": "message", "role": role, "contents": [*contents]}


AGENT_FRAMEWORK = (
    framework_message("user", {"type": "text", "text": "Where is parcel NW-1?"}),
    framework_message("assistant", {"type": "text_reasoning", "text": "Look."}),
    framework_message(
        "assistant",
        {
            "type": "function_call",
            "call_id": "c1",
            "name": "track",
            "arguments": {"parcel": "NW-1"},
        },
    ),
    framework_message(
        "tool", {"type": "function_result", "call_id": "c1", "result": "in depot North"}
    ),
    framework_message("assistant", {"type": "text", "text": "In depot North."}),
)


def ag2_event(kind: str, **members: Any) -> JsonObject:
    """An event of AG2."""
    return {"__event__": f"ag2.events.types.{kind}", "created_at": 1795863662.5, **members}


_AG2_CALLS = ag2_event(
    "ToolCallsEvent",
    calls=[ag2_event("ToolCallEvent", id="c1", name="track", arguments='{"parcel":"NW-1"}')],
)
_AG2_GAVE = [ag2_event("TextInput", content="in depot North")]
AG2 = (
    ag2_event("ModelRequest", parts=[ag2_event("TextInput", content="Where is parcel NW-1?")]),
    _AG2_CALLS,
    ag2_event("ModelResponse", message=None, tool_calls=_AG2_CALLS),
    ag2_event(
        "ToolResultsEvent",
        results=[
            ag2_event("ToolResultEvent", parent_id="c1", result={"data": {"parts": _AG2_GAVE}})
        ],
    ),
    ag2_event("ModelResponse", message=ag2_event("ModelMessage", content="In depot North.")),
)


def langgraph_message(kind: str, content: Any, **members: Any) -> JsonObject:
    """A message as LangGraph's serialiser spells it."""
    said = {"content": content, "type": kind, "id": None, **members}
    return {"$ext": 5, "of": ["langchain_core.messages", "Message", said, "model_validate_json"]}


def langgraph_typed(value: Any) -> JsonObject:
    return {"type": "msgpack", "json": value}


def langgraph_writes(*writes: tuple[str, JsonObject]) -> JsonObject:
    """A call of `put_writes`: channels and values."""
    placed = [[place, *write] for place, write in enumerate(writes)]
    return {"writes_to": "0001", "task_id": "t", "task_path": "", "writes": placed}


def langgraph_checkpoint(number: int, at: int, **values: JsonObject | None) -> JsonObject:
    """A checkpoint that changes values; its messages lie at a version, 0: in itself."""
    return {
        "checkpoint_id": f"{number:04}",
        "parent_id": None,
        "checkpoint": {"type": "null"},
        "metadata": {"type": "null"},
        "channels": {"messages": ["1", at]},
        "values": values,
        "latest": [f"{number:04}", 0],
        "early": [],
    }


def langgraph_same(version: int) -> JsonObject:
    """A reference to the value that an item said before."""
    return {"$same": [version, 0]}


_HUMAN = langgraph_message("human", "Where is parcel NW-1?", id="h")
_CALL = {"id": "c1", "name": "track", "args": {"parcel": "NW-1"}}
LANGGRAPH = (
    langgraph_writes(("messages", langgraph_typed([_HUMAN]))),
    langgraph_checkpoint(
        2, 0, messages={"base": 0, "parts": [{"new": [langgraph_typed(langgraph_same(1))]}]}
    ),
    langgraph_writes(
        (
            "messages",
            langgraph_typed([langgraph_message("ai", "", id="a", tool_calls=[_CALL])]),
        ),
    ),
    langgraph_writes(
        (
            "messages",
            langgraph_typed([langgraph_message("tool", "in depot North", tool_call_id="c1")]),
        ),
    ),
    langgraph_writes(
        ("messages", langgraph_typed(langgraph_message("ai", "In depot North.", id="b"))),
        ("count", langgraph_typed(5)),
    ),
)

HISTORIES: Mapping[str, tuple[JsonObject, ...]] = {
    "pydantic-ai": PYDANTIC_AI,
    "agent-framework": AGENT_FRAMEWORK,
    "ag2": AG2,
    "langgraph": LANGGRAPH,
}
