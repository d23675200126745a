"""A conversation's tools: which are in force, what providers' own did, what it carries for its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from onrecord.adapters.inputs.arguments import json_given, kind_of, several, text_given
from onrecord.adapters.streams.event_reading import in_force
from onrecord.adapters.streams.lineage import amendments, backwards
from onrecord.adapters.streams.stream import Done, Stream
from onrecord.adapters.tools.tool import Tool, Toolset
from onrecord.domain import conversation
from onrecord.domain.content import Native
from onrecord.domain.errors import InvalidContent
from onrecord.domain.events import ToolsDeclared
from onrecord.domain.header import OURS
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import Duplicate
from onrecord.domain.tool_context import EMPTY, ToolCallContext
from onrecord.domain.tools import BuiltinTool, ToolDefinition, ToolSource, tools_digest
from onrecord.projections.api import known_api

if TYPE_CHECKING:
    from onrecord.projections.apis.declared_tools import Declared
    from onrecord.projections.history.server_tools import Activity


GivenTool: TypeAlias = ToolDefinition | BuiltinTool | Native | Mapping[str, Any]
"""A tool as callers give it: a definition, a mapping of its fields, or one API's own JSON."""

_Tool: TypeAlias = ToolDefinition | BuiltinTool | Native


DeclaredTool: TypeAlias = GivenTool | Toolset | Tool
"""A tool as callers declare it, or several with where they come from, or one that can be called."""


class ConversationTools:
    """The tools of one conversation: `conversation.tools`."""

    def __init__(self, stream: Stream) -> None:
        """Declare and tell the tools of a conversation."""
        self._stream = stream

    def declare(self, tools: Iterable[DeclaredTool], sources: Iterable[ToolSource] = ()) -> Done:
        """Put other tools in force: mappings with `name`, `description`, `input_schema`.

        A provider's own tools are given as `BuiltinTool`, what only one API knows as `Native`.
        `sources` say where tools come from; what is given as a `Toolset` brings its own. What is in
        force already is not recorded again.
        """
        return declare(self._stream, *checked_tools(tools, sources))

    def in_force(self, *, at: int | None = None) -> Declared:
        """Return the tools in force, where they come from, and which version declared them.

        `at` is the version to tell it at; none, at version 0, where none were declared by then.
        """
        from onrecord.adapters.conversation.history_queries import declared, main_branch

        return declared(self._stream.backend, main_branch(self._stream, at))

    def server_calls(self, *, at: int | None = None) -> tuple[Activity, ...]:
        """Return what tools did that providers ran, in order: what each was asked, and gave.

        `at` is the version to tell it at. Pictures and texts are whole.
        """
        from onrecord.adapters.conversation.history_queries import activities, main_branch

        return activities(self._stream.backend, main_branch(self._stream, at))


# Putting tools in force: what is in force already is not recorded again.
#
# Programs declare what they have whenever they begin, and a list of tools may be megabytes.


def declare(
    stream: Stream,
    tools: Iterable[ToolDefinition | BuiltinTool | Native],
    sources: Iterable[ToolSource],
) -> Done:
    """Record that these tools are in force; where the conversation says so, nothing changes."""
    declared, known_sources = tuple(tools), tuple(sources)
    _must_hold_no_secret(declared)
    _must_be_open(declared, known_sources)
    try:
        (event,) = conversation.declare_tools(stream.known_head(), declared, known_sources)
    except PydanticSerializationError:
        # The cause would name what the tool holds.
        raise InvalidContent("a tool is JSON: it holds an object that is none") from None
    return _recorded_before(stream, event) or stream.append(event)


def _must_hold_no_secret(tools: Iterable[ToolDefinition | BuiltinTool | Native]) -> None:
    """Raise InvalidContent where a tool's JSON holds a secret: what is declared is kept as it is."""
    for tool in tools:
        match tool:
            case Native():
                values = {tool.api: tool.value}
            case BuiltinTool():
                values = tool.options
            case _:
                continue
        for api, value in values.items():
            if places := _secrets_of(api, value):
                raise InvalidContent(
                    f"a tool of {api} holds a secret at {', '.join(places)}: declare "
                    '"$onrecord.cut:" there, and give the secret to chat.request(secrets=...)'
                )


def _must_be_open(tools: Iterable[_Tool], sources: Iterable[ToolSource]) -> None:
    """Raise InvalidContent where what no model is told of holds a secret: it is recorded as well."""
    from onrecord.adapters.wire.secrets import secrets_in

    for tool in tools:
        hints = tool.annotations if isinstance(tool, ToolDefinition) else None
        if places := secrets_in({"annotations": hints}):
            raise InvalidContent(f"a tool holds a secret at {', '.join(places)}: leave it out")
    for source in sources:
        named = {"name": source.name, "version": source.version}
        if places := secrets_in(named):
            raise InvalidContent(
                f"a source of tools ({source.origin}) holds a secret at {', '.join(places)}: "
                "name it without"
            )


def _secrets_of(api: str, value: JsonObject) -> tuple[str, ...]:
    from onrecord.adapters.wire.secrets import secrets_of_tool
    from onrecord.adapters.wire.wires import wire_of

    wire = wire_of(api)
    return () if wire is None else secrets_of_tool(value, wire)


def _recorded_before(stream: Stream, declared: ToolsDeclared) -> Duplicate | None:
    """Return where the conversation itself, not what it was forked from, put the same in force."""
    head = stream.head()
    if not head.tools:
        return None
    segments = stream.lineage(head.version, head)
    redacted = amendments(stream.backend, segments).redacted
    recorded = in_force(stream.backend, segments, "tools", redacted)
    if recorded is None or recorded.conversation_id != stream.conversation_id:
        return None
    match recorded.event():
        # By digest, for of what was recorded long strings were moved to blobs.
        case ToolsDeclared(sha256=declared.sha256, sources=declared.sources):
            return Duplicate(recorded.version, recorded.version)
        case _:
            return None


# What callers give as tools, as it is recorded.


def checked_tools(
    tools: object, sources: object
) -> tuple[tuple[_Tool, ...], tuple[ToolSource, ...]]:
    """Return tools and their sources as they are recorded.

    Those that a provider runs for any API have the provider as their source. InvalidContent where
    one is no tool, or no source, where no record can hold it, and where two have the same name: no
    API takes those.
    """
    values = several("tools", tools)
    declared = tuple(_tool(tool, at) for at, each in enumerate(values) for tool in _flat(each))
    for tool in declared:
        json_given("a tool", dict(tool))
    _must_differ(declared)
    all_sources = (*_places(values), *_known_sources(sources))
    return declared, (*all_sources, *_providers(declared, all_sources))


def _flat(each: object) -> Sequence[object]:
    match each:
        case Toolset(tools=tools):
            return tools
        case Tool(definition=definition):
            return (definition,)
        case _:
            return (each,)


def _places(values: Iterable[object]) -> tuple[ToolSource, ...]:
    """Return where toolsets and tools that can be called come from, each place once."""
    places: dict[ToolSource, list[ToolDefinition]] = {}
    for each in values:
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
    names = set[str]()
    for tool in tools:
        if isinstance(tool, Native):
            continue
        if tool.name in names:
            raise InvalidContent(
                f"two tools are named {tool.name!r}: no model could tell their calls apart; "
                "declare one of them under another name"
            )
        names.add(tool.name)


def _providers(tools: Iterable[_Tool], sources: Iterable[ToolSource]) -> Iterator[ToolSource]:
    """Yield the source of the tools that providers run, unless somebody told it."""
    known = {name for tool_source in sources for name in tool_source.tools}
    names = [tool.name for tool in tools if isinstance(tool, BuiltinTool)]
    if own := tuple(name for name in names if name not in known):
        yield ToolSource(origin="provider", tools=own)


def _known_sources(values: object) -> tuple[ToolSource, ...]:
    """Return where tools come from; InvalidContent where one is no `ToolSource`."""
    sources = tuple(several("sources", values))
    for each in sources:
        if not isinstance(each, ToolSource):
            raise InvalidContent(
                f"a source of tools is an onrecord.ToolSource, not {kind_of(each)}"
            )
    return cast("tuple[ToolSource, ...]", sources)


def _tool(value: object, at: int) -> _Tool:
    """Return a tool as it is recorded; InvalidContent where it is no neutral definition.

    UnknownApi where the options of a provider's tool are for an API that is none of ours.
    """
    if isinstance(value, BuiltinTool):
        _check_builtin(value)
    if isinstance(value, _Tool):
        return value
    try:
        return ToolDefinition.model_validate(value)
    except ValidationError as exc:
        # The cause would show the tool.
        raise InvalidContent(
            f"{_place_of(value, at)}: {_wrong_members(value, exc)}; a tool for any model has `name`, `input_schema` (a JSON Schema object) and perhaps "
            "`description`, `title`, `output_schema`, `annotations`, nothing else; give a function "
            "as onrecord.tool(function), the list of an MCP server as onrecord.mcp_listing(...), a "
            'provider\'s own tool as onrecord.BuiltinTool(name="web_search"), what only one API '
            'knows as onrecord.Native(api="anthropic-messages", value={...})'
        ) from None


def _place_of(value: object, at: int) -> str:
    """Return where a tool stands in the list, and its name if it has one."""
    name = cast("Mapping[str, object]", value).get("name") if isinstance(value, Mapping) else None
    return f"tools[{at}] ({name!r})" if isinstance(name, str) else f"tools[{at}]"


def _wrong_members(value: object, error: ValidationError) -> str:
    """Return which members are wrong, without what they hold."""
    if not isinstance(value, Mapping):
        return f"it is no tool but of the type {kind_of(value)}"
    kinds = {
        ".".join(map(str, each["loc"])): each["type"]
        for each in error.errors(include_url=False, include_context=False, include_input=False)
    }
    why = {"missing": "is missing", "extra_forbidden": "is no member of a tool"}
    return ", ".join(
        f"`{name}` {why.get(kind, 'is of a wrong type')}" for name, kind in kinds.items()
    )


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


# What a conversation carries for its tools: the names that are allowed to be kept, in a header.
#
# A header is stored in clear and never erased (docs/format.md), so little is taken: short texts,
# by an allow list, and no name of a credential. No error here shows a value.

MOST_CARRIED: Final = 16
"""How many names a conversation may carry."""

LONGEST_CARRIED: Final = 256
"""How many characters a value may have; a name has at most a quarter of that."""

_CARRIED: Final = "context.carried"


def carry(stream: Stream, entries: Mapping[str, Any] | ToolCallContext, persist: object) -> Done:
    """Record what the conversation carries from here on: of these entries, those that are named.

    InvalidContent where one of them is not to be kept.
    """
    metadata = persisted_entries(ToolCallContext.of(entries), persist)
    return stream.append(*conversation.carry(stream.head()), metadata=metadata)


def carried(stream: Stream) -> ToolCallContext:
    """Return what the conversation carries; a fork carries what its origin did, until it says.

    Read from its end: the longer ago it was said, the more is read.
    """
    return carried_since(stream, 0, stream.head().version) or EMPTY


def carried_since(stream: Stream, after: int, until: int) -> ToolCallContext | None:
    """Return what was last said to be carried after < version <= until; None if nothing was."""
    if until <= after:
        return None
    for recorded in backwards(stream.backend, stream.lineages().whole(until), after):
        if recorded.type == _CARRIED:
            metadata = recorded.client_header().metadata
            own = {name: value for name, value in metadata.items() if not name.startswith(OURS)}
            return ToolCallContext.of(own)
    return None


def persisted_entries(context: ToolCallContext, persist: object) -> dict[str, str]:
    """Return what of a context may stand in a header: the names of an allow list.

    InvalidContent, with the name and without the value, for what is no short text, for the name of
    a credential, and for too many.
    """
    names = [_name(name) for name in several("persist", persist)]
    allowed = [name for name in dict.fromkeys(names) if name in context]
    if len(allowed) > MOST_CARRIED:
        raise InvalidContent(
            f"a conversation carries at most {MOST_CARRIED} names, not {len(allowed)}: keep fewer"
        )
    return {name: _value(name, context[name]) for name in allowed}


def _name(value: object) -> str:
    # Few conversations carry a tool context, so `import onrecord` does not load this.
    from onrecord.adapters.wire.secrets import is_secret

    name = text_given("a name to keep", value)
    if not name.strip() or not name.isprintable() or len(name) > LONGEST_CARRIED // 4:
        raise InvalidContent(
            f"a name to keep has 1 to {LONGEST_CARRIED // 4} printable characters, not {len(name)}"
        )
    if name.startswith(OURS):
        raise InvalidContent(
            f"names that begin with {OURS!r} are kept for Onrecord: rename {name!r}"
        )
    if is_secret(name):
        raise InvalidContent(
            f"{name!r} names a credential, and a header keeps what it holds for ever: "
            "leave it out, and give it to the ToolRunner; the tools get it all the same"
        )
    return name


def _value(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidContent(f"{name!r} is no text (str) but {kind_of(value)}: keep its id or name")
    if len(value) > LONGEST_CARRIED:
        raise InvalidContent(
            f"{name!r} has {len(value)} characters, and at most {LONGEST_CARRIED} are kept: keep an id"
        )
    return text_given(repr(name), value)
