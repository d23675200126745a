"""Custom tools, which only OpenAI's two APIs know, as functions that any API can call."""

from __future__ import annotations

from typing import Any, Final

from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import ToolDefinition

_SCHEMA: Final[JsonObject] = {
    "type": "object",
    "properties": {"arguments": {"type": "string"}},
    "required": ["arguments"],
}


def custom_tool(name: str, description: Any) -> ToolDefinition:
    """Return the definition of a tool whose input is one free text: it stands in `arguments`."""
    told = description if isinstance(description, str) else None
    return ToolDefinition(name=name, description=told, input_schema=_SCHEMA)
