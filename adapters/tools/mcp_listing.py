"""What an MCP server lists as its tools, as definitions for any model; nothing is asked of it.

The shapes are those of the Model Context Protocol's schemas (2025-06-18 to 2026-07-28): `Tool`,
`ListToolsResult`, `Implementation`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from pydantic import ValidationError

from onrecord.adapters.conversation.arguments import kind_of, text_given
from onrecord.adapters.tools.plain_json import plain
from onrecord.adapters.tools.toolset import Toolset
from onrecord.domain import jsontext
from onrecord.domain.errors import InvalidContent
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import ToolDefinition, ToolSource

_MEMBERS: Final = {
    "title": "title",
    "description": "description",
    "inputSchema": "input_schema",
    "outputSchema": "output_schema",
    "annotations": "annotations",
}
"""What of an entry goes into a definition, by its name on the wire; icons and the like do not."""


def mcp_listing(listing: object, *, server: object = None, prefix: str = "") -> Toolset:
    """Return the tools of an MCP server's list, each under its name behind `prefix`.

    `listing` is a `ListToolsResult` or the tools of all its pages, as objects of the `mcp` SDK or
    as their JSON. `server` is who lists them: an `InitializeResult`, its `server_info`, or the JSON
    of either. The source's digest is that of the canonical JSON of the list. The very same entry
    twice is one tool; InvalidContent for two that share a name, and for what is no list of tools.
    """
    entries = [_entry(place, each) for place, each in enumerate(_listed(listing))]
    before = text_given("a prefix", prefix)
    tools = tuple(_distinct(_tool(place, entry, before) for place, entry in enumerate(entries)))
    named = _server(server)
    source = ToolSource(
        origin="mcp",
        name=_text(named.get("name")),
        version=_text(named.get("version")),
        sha256=hashlib.sha256(jsontext.write_canonical(entries)).hexdigest(),
        tools=tuple(tool.name for tool in tools),
    )
    return Toolset(tools, source)


def _listed(listing: object) -> Iterable[object]:
    held = plain(listing)
    if isinstance(held, dict) and "tools" in held:
        held = cast("JsonObject", held)["tools"]
    if isinstance(held, str | bytes | dict) or not isinstance(held, Iterable):
        raise InvalidContent(
            "an MCP server's list is a ListToolsResult, its JSON with `tools`, or a list of the tools "
            f"themselves, not {kind_of(cast('object', held))}"
        )
    return cast("Iterable[object]", held)


def _entry(place: int, given: object) -> JsonObject:
    held = plain(given)
    if isinstance(held, dict):
        return cast("JsonObject", held)
    raise InvalidContent(f"entry {place} of the list is no tool but {kind_of(given)}")


def _tool(place: int, entry: JsonObject, prefix: str) -> ToolDefinition:
    name: Any = entry.get("name")
    fields = {ours: entry[theirs] for theirs, ours in _MEMBERS.items() if theirs in entry}
    if isinstance(name, str) and name:
        try:
            return ToolDefinition(name=f"{prefix}{name}", **fields)
        except ValidationError as exc:
            wrong = ", ".join(str(error["loc"][0]) for error in exc.errors(include_input=False))
            why = f"{wrong} is not as the protocol has it"
    else:
        why = "it has no name"
    # Not from within: the cause would show the tool.
    raise InvalidContent(f"entry {place} of the list is no tool: {why}")


def _distinct(tools: Iterable[ToolDefinition]) -> Iterable[ToolDefinition]:
    """Return each tool once; two that only share their name cannot be told apart by a call."""
    seen: dict[str, ToolDefinition] = {}
    for tool in tools:
        if seen.setdefault(tool.name, tool) != tool:
            raise InvalidContent(f"the list has two tools named {tool.name!r}: leave one out")
    return seen.values()


def _server(given: object) -> Mapping[str, Any]:
    held: Any = {} if given is None else plain(given)
    if not isinstance(held, dict):
        raise InvalidContent(
            "an MCP server is told by its InitializeResult or its server_info, "
            f"not {kind_of(given)}"
        )
    told = cast("JsonObject", held)
    inner: Any = told.get("serverInfo", told)
    return cast("JsonObject", inner) if isinstance(inner, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
