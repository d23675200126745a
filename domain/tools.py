"""Tool definitions: what a model is told of the caller's tools, and of those of its provider."""

import hashlib
from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from onrecord.domain import jsontext
from onrecord.domain.content import Native, Value
from onrecord.domain.jsontext import JsonObject


class ToolDefinition(Value):
    """A tool of the caller, told to any model: name, description, JSON Schema of its input.

    The rest is as the Model Context Protocol lists tools: a `title` for people, the JSON Schema of
    what it gives, hints such as `readOnlyHint`. Models are not told of it where their API has no
    place for it.
    """

    kind: Literal["tool"] = "tool"
    name: str
    description: str | None = None
    input_schema: JsonObject
    title: str | None = None
    output_schema: JsonObject | None = None
    annotations: JsonObject | None = None


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


class ToolSource(Value):
    """Where declared tools come from: what lists them (`origin`), which one, in which state.

    `name` is what it calls itself: a server, an agent, a process; `version` likewise. `sha256` is the
    digest, in hex, of what lists them (a file, a card), `tools` the names of those that it gave.
    """

    origin: Literal["python", "mcp", "a2a", "bpmn", "provider"]
    name: str | None = None
    version: str | None = None
    sha256: str | None = None
    tools: tuple[str, ...] = ()


def tools_digest(tools: Sequence[ToolDefinition | BuiltinTool | Native]) -> str:
    """Return the SHA-256, in hex, of the canonical JSON of tools, what is at its default left out."""
    plain = [tool.model_dump(mode="json", exclude_defaults=True) for tool in tools]
    return hashlib.sha256(jsontext.write_canonical(plain)).hexdigest()
