"""Blocks of Anthropic's Messages API in neutral form: for other APIs, and for showing.

What only Anthropic can read (signatures, encrypted content, citations' indexes) stays behind. The
values taken here are whole: strings that were moved to blobs are back in their place
(domain/blobs.py). Shapes: platform.claude.com, "Messages".
"""

from __future__ import annotations

from typing import Any, Final

from onrecord.domain.content import (
    Block,
    Opaque,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
)
from onrecord.domain.events import Unfinished
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.apis import Replay
from onrecord.projections.neutral_anthropic_documents import document, parts
from onrecord.projections.server_tools_anthropic import called, gave

API: Final = "anthropic-messages"


def neutral(value: JsonObject) -> Block:
    """Return a block in neutral form; Opaque where its kind says nothing to other APIs."""
    match value:
        case {"type": "text", "text": str(text)}:
            return Text(text=text)
        case {"type": "thinking", "thinking": str(text)}:
            return Reasoning(text=text)
        case {"type": "redacted_thinking"}:
            return Reasoning(text="")
        case {"type": "compaction", "content": str(text)}:
            return Text(text=text)
        case {"type": "tool_use", "id": str(call), "name": str(name)}:
            return ToolCall(id=call, name=name, arguments=value.get("input", {}))
        case {"type": "tool_result", "tool_use_id": str(call)}:
            return ToolResult(
                call_id=call,
                content=parts(value.get("content")),
                is_error=value.get("is_error") is True,
            )
        case {"type": "image" | "document" | "search_result"}:
            return document(value) or _opaque(value)
        case _:
            return called(value) or gave(value) or _opaque(value)


def instructions(value: JsonObject) -> str:
    """Return the text of what stands under `system`: `{"system": ...}`, or one block of it."""
    said = parts(value.get("system", value))
    return "\n\n".join(part.text for part in said if isinstance(part, Text) and part.text)


def tool(value: JsonObject) -> ToolDefinition | None:
    """Return the definition of a tool of the caller; None for a tool of Anthropic's."""
    match value:
        case {"type": str(kind)} if kind != "custom":
            return None
        case {"name": str(name), "input_schema": dict()}:
            told = value.get("description")
            return ToolDefinition(
                name=name,
                description=told if isinstance(told, str) else None,
                input_schema=value["input_schema"],
            )
        case _:
            return None


def replay(value: JsonObject) -> Replay:
    """Return how a block of an answer goes back.

    A file that code left in its container is told of and never taken back in an assistant's message;
    in a user's it is taken (providers' own SDK types allow both).
    """
    return "record" if value.get("type") == "container_upload" else "verbatim"


def _opaque(value: JsonObject) -> Opaque:
    kind: Any = value.get("type")
    return Opaque(api=API, type=kind if isinstance(kind, str) else "")


def partial(part: Unfinished) -> JsonObject | None:
    """Return the block of text that came in part; None where nothing of it may stay."""
    begun = part.value.get("text")
    if part.value.get("type") != "text" or not isinstance(begun, str):
        return None
    text = begun + part.partial
    return {**part.value, "text": text} if text.strip() else None
