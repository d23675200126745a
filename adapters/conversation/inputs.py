"""What callers hand over as prompts and tools, as the record takes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, cast

from pydantic import ValidationError

from onrecord.adapters.inputs.arguments import kind_of, several, text_if_given
from onrecord.adapters.inputs.documents import Unstored, described, must_hold, stored
from onrecord.adapters.streams.stream import Stream
from onrecord.adapters.streams.writing import Done
from onrecord.adapters.tools.tool import Tool, Toolset
from onrecord.domain import conversation
from onrecord.domain.content import Document, Native, Text
from onrecord.domain.errors import InvalidContent
from onrecord.domain.tools import BuiltinTool, ToolDefinition, ToolSource, tools_digest
from onrecord.projections.api import known_api

GivenTool: TypeAlias = ToolDefinition | BuiltinTool | Native | Mapping[str, Any]
"""A tool as callers give it: a definition, a mapping of its fields, or one API's own JSON."""

_Tool: TypeAlias = ToolDefinition | BuiltinTool | Native


def attachments(documents: object) -> tuple[Document | Unstored, ...]:
    """Return documents with their types and names, none of them stored."""
    return tuple(described(given) for given in several("documents", documents))


def prompt(
    text: object, attached: Sequence[Document | Unstored], stream: Stream
) -> tuple[Text | Document, ...]:
    """Return what a user says, documents first; InvalidContent where no record can hold it.

    Nothing is stored of what is refused. Blank text alone is: no provider takes it.
    """
    said = text_if_given("a prompt's text", text)
    if said is not None and not said.strip() and not attached:
        raise InvalidContent("the prompt is blank: give it text or a document")
    must_hold(stream, attached)
    kept = tuple(stored(given, stream) for given in attached)
    return kept if said is None else (*kept, Text(text=said))


def say(
    talk: Stream,
    text: object,
    documents: Sequence[Document | Unstored],
    message_id: str | None,
    expected_version: int | None,
) -> Done:
    """Store documents, and record a user's prompt with them."""
    said = prompt(text, documents, talk)
    decided = conversation.say(talk.known_head(), said, message_id=message_id)
    return talk.append(*decided, expected_version=expected_version)


def known_tools(given: object) -> tuple[_Tool, ...]:
    """Return tools as they are recorded; InvalidContent where one is no neutral definition.

    UnknownApi where the options of a provider's tool are for an API that is none of ours.
    """
    return tuple(_tool(each) for each in several("tools", given))


def known_sources(given: object) -> tuple[ToolSource, ...]:
    """Return where tools come from; InvalidContent where one is no `ToolSource`."""
    listed = tuple(several("sources", given))
    for each in listed:
        if not isinstance(each, ToolSource):
            raise InvalidContent(
                f"a source of tools is an onrecord.ToolSource, not {kind_of(each)}"
            )
    return cast("tuple[ToolSource, ...]", listed)


def _tool(given: object) -> _Tool:
    if isinstance(given, BuiltinTool):
        _check_builtin(given)
    if isinstance(given, _Tool):
        return given
    try:
        return ToolDefinition.model_validate(given)
    except ValidationError:
        # The cause would show the tool.
        raise InvalidContent(
            "a tool for any model has `name`, `input_schema` (a JSON Schema object) and perhaps "
            "`description`, `title`, `output_schema`, `annotations`, nothing else; give a function "
            "as onrecord.tool(function), the list of an MCP server as onrecord.mcp_listing(...), a "
            'provider\'s own tool as onrecord.BuiltinTool(name="web_search"), what only one API '
            'knows as onrecord.Native(api="anthropic-messages", value={...})'
        ) from None


def _check_builtin(tool: BuiltinTool) -> None:
    """Raise InvalidContent where no API has such a tool, UnknownApi for options of none."""
    # What spells requests takes a while to import, and few callers declare such tools.
    from onrecord.projections.apis.tools import builtin_names

    known = sorted(builtin_names())
    if tool.name not in known:
        raise InvalidContent(
            f"no API runs a tool named {tool.name!r}: name one of {', '.join(known)}"
        )
    for api in tool.options:
        known_api(api)


# The tools that callers declare, each with where it comes from.

DeclaredTool: TypeAlias = GivenTool | Toolset | Tool
"""A tool as callers declare it, or several with where they come from, or one that can be called."""


def given_tools(tools: object, sources: object) -> tuple[tuple[_Tool, ...], tuple[ToolSource, ...]]:
    """Return tools and their sources as they are recorded.

    Those that a provider runs for any API have the provider as their source. InvalidContent where
    one is no tool, or no source, and where two have the same name: no API takes those.
    """
    listed = several("tools", tools)
    declared = known_tools([tool for each in listed for tool in _flat(each)])
    _must_differ(declared)
    told = (*_places(listed), *known_sources(sources))
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
