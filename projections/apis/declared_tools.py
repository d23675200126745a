"""The tools that are in force: what each takes, where it comes from, what an API is told of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias
from uuid import UUID

from onrecord.domain.content import Native, Text
from onrecord.domain.events import Event, MessageRecorded, ToolsDeclared
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import BuiltinTool, ToolDefinition, ToolSource, tools_digest
from onrecord.projections.api import tool_of
from onrecord.projections.apis.request import Options, Report, render
from onrecord.projections.history.timeline_text import compact, tool_name
from onrecord.projections.members import list_of, members_of

Tool: TypeAlias = ToolDefinition | BuiltinTool | Native
"""A tool as it was declared."""

_MEMBERS: Final = ("tools", "toolConfig")
"""The members under which requests hold tools, whatever their API."""

_PROMPT: Final = MessageRecorded(role="user", content=(Text(text="?"),))
"""Something to say: there is no request without it."""


@dataclass(frozen=True, slots=True)
class Declared:
    """The tools in force at some version; none, at version 0, where none were declared.

    `version` is that of the declaration, in `conversation_id`: a fork may have its tools from what
    it was forked from. `sha256` is the digest of the tools, as their declaration has it.
    """

    tools: tuple[Tool, ...] = ()
    sources: tuple[ToolSource, ...] = ()
    sha256: str | None = None
    version: int = 0
    conversation_id: UUID | None = None

    def source_of(self, tool: Tool) -> ToolSource | None:
        """Return where a tool comes from, None where nobody said.

        What only one API can run comes from whom that API belongs to.
        """
        name = tool_name(tool)
        for source in self.sources:
            if name in source.tools:
                return source
        if isinstance(tool, Native) and tool_of(tool) is None:
            return ToolSource(origin="provider", name=tool.api, tools=(name,))
        return None


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a tool takes under one name; `kind` says in words what its schema allows."""

    name: str
    kind: str
    required: bool
    description: str | None = None

    def __str__(self) -> str:
        """Return the name and the kind; `?` stands behind the name of what may be left out."""
        return f"{self.name}{'' if self.required else '?'}: {self.kind}"


def declared_in(event: Event, version: int, conversation_id: UUID | None) -> Declared:
    """Return what a declaration puts in force; nothing for any other event."""
    if not isinstance(event, ToolsDeclared):
        return Declared()
    digest = event.sha256 or tools_digest(event.tools)
    return Declared(event.tools, event.sources, digest, version, conversation_id)


def definition_of(tool: Tool) -> ToolDefinition | None:
    """Return a tool as any model is told of it; None for one that only its provider runs."""
    match tool:
        case ToolDefinition():
            return tool
        case Native():
            return tool_of(tool)
        case BuiltinTool():
            return None


def parameters(tool: ToolDefinition) -> tuple[Parameter, ...]:
    """Return what a tool takes, in the order of its schema; what a schema says oddly is passed over."""
    properties = members_of(tool.input_schema.get("properties"))
    required = list_of(tool.input_schema.get("required"))
    return tuple(_parameter(name, item, required) for name, item in properties.items())


def told_to(tools: Iterable[Tool], api: str) -> tuple[JsonObject, Report]:
    """Return the member of a request that tells an API of tools, and what was done to them.

    UnsupportedTool where the API has not what a provider is to run.
    """
    events = ((1, ToolsDeclared(tools=tuple(tools))), (2, _PROMPT))
    request = render(events, Options(api=api))
    members = {name: request.body[name] for name in _MEMBERS if name in request.body}
    return members, request.report


def _parameter(name: str, value: object, required: Iterable[object]) -> Parameter:
    schema = members_of(value)
    about = schema.get("description")
    description = about if isinstance(about, str) and about.strip() else None
    return Parameter(name, _kind(schema), name in required, description)


def _kind(schema: Mapping[str, Any]) -> str:
    """Return in words what a schema allows: a type, one of some values, or anything."""
    match schema:
        case {"enum": values} if list_of(values):
            return _either(compact(value) for value in list_of(values))
        case {"const": value}:
            return compact(value)
        case {"type": "array", "items": items}:
            return f"array of {_kind(members_of(items))}"
        case {"type": str(one)}:
            return one
        case {"type": several} | {"anyOf": several} | {"oneOf": several}:
            return _either(
                each if isinstance(each, str) else _kind(members_of(each))
                for each in list_of(several)
            )
        case {"$ref": str(place)}:
            return place.rpartition("/")[2]
        case _:
            return "anything"


def _either(kinds: Iterable[str]) -> str:
    return " | ".join(dict.fromkeys(kinds)) or "anything"
