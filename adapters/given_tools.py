"""The tools that callers declare, each with where it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from onrecord.adapters import given
from onrecord.adapters.arguments import several
from onrecord.adapters.given import GivenTool
from onrecord.adapters.tools.tool import Tool
from onrecord.adapters.tools.toolset import Toolset
from onrecord.domain.content import Native
from onrecord.domain.errors import InvalidContent
from onrecord.domain.tools import BuiltinTool, ToolDefinition, ToolSource, tools_digest

DeclaredTool: TypeAlias = GivenTool | Toolset | Tool
"""A tool as callers declare it, or several with where they come from, or one that can be called."""

_Tool: TypeAlias = ToolDefinition | BuiltinTool | Native


def given_tools(tools: object, sources: object) -> tuple[tuple[_Tool, ...], tuple[ToolSource, ...]]:
    """Return tools and their sources as they are recorded.

    Those that a provider runs for any API have the provider as their source. InvalidContent where
    one is no tool, or no source, and where two have the same name: no API takes those.
    """
    listed = several("tools", tools)
    declared = given.tools([tool for each in listed for tool in _flat(each)])
    _must_differ(declared)
    told = (*_places(listed), *given.sources(sources))
    return declared, (*told, *_providers(declared, told))


def _flat(each: object) -> Sequence[object]:
    match each:
        case Toolset(tools=tools):
            return tools
        case Tool(definition=definition):
            return (definition,)
        case _:
            return (each,)


def _places(listed: Iterable[object]) -> tuple[ToolSource, ...]:
    """Return where toolsets and tools that can be called come from, each place once."""
    places: dict[ToolSource, list[ToolDefinition]] = {}
    for each in listed:
        match each:
            case Toolset(source=source):
                places.setdefault(source, [])
            case Tool(definition=definition, source=source):
                places.setdefault(source, []).append(definition)
            case _:
                pass
    return tuple(_with(source, tools) if tools else source for source, tools in places.items())


def _with(source: ToolSource, tools: Sequence[ToolDefinition]) -> ToolSource:
    """Return a source with the names of the tools that it gave, and the digest of what it lists.

    Where nobody lists them, that is the digest of the tools themselves.
    """
    names = tuple(tool.name for tool in tools)
    return source.model_copy(
        update={"tools": names, "sha256": source.sha256 or tools_digest(tools)}
    )


def _must_differ(tools: Iterable[_Tool]) -> None:
    seen = set[str]()
    for tool in tools:
        if isinstance(tool, Native):
            continue
        if tool.name in seen:
            raise InvalidContent(
                f"two tools are named {tool.name!r}: no model could tell their calls apart; "
                "declare one of them under another name"
            )
        seen.add(tool.name)


def _providers(tools: Iterable[_Tool], told: Iterable[ToolSource]) -> Iterator[ToolSource]:
    """Yield the source of the tools that providers run, unless somebody told it."""
    known = {name for source in told for name in source.tools}
    names = [tool.name for tool in tools if isinstance(tool, BuiltinTool)]
    if own := tuple(name for name in names if name not in known):
        yield ToolSource(origin="provider", tools=own)
