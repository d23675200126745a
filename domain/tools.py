"""Tool definitions: what a model is told of the caller's tools."""

from __future__ import annotations

from typing import Literal

from hansard.domain.content import Value
from hansard.domain.jsontext import JsonObject


class ToolDefinition(Value):
    """A tool of the caller, told to any model: name, description, JSON Schema of its input."""

    kind: Literal["tool"] = "tool"
    name: str
    description: str | None = None
    input_schema: JsonObject
