"""Tool definitions: what a model is told of the caller's tools, and of those of its provider."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hansard.domain.content import Value
from hansard.domain.jsontext import JsonObject


class ToolDefinition(Value):
    """A tool of the caller, told to any model: name, description, JSON Schema of its input."""

    kind: Literal["tool"] = "tool"
    name: str
    description: str | None = None
    input_schema: JsonObject


class BuiltinTool(Value):
    """A tool that providers have themselves, by the name that all APIs share: `web_search`.

    Each API is told of it in its own spelling. `version` is a date as Anthropic puts it behind the
    names of its tools (`20250305`); other APIs have no versions. `options` are by API, as that
    spells them: `{"anthropic-messages": {"max_uses": 3}}`.
    """

    kind: Literal["builtin"] = "builtin"
    name: str
    version: str | None = None
    options: dict[str, JsonObject] = Field(default_factory=dict)
