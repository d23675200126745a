"""The tools of an MCP server: its list of them, calls of them, and what they give.

The shapes are those of the Model Context Protocol's schemas (2025-06-18 to 2026-07-28), as JSON or
as objects of the official `mcp` SDK (`onrecord[mcp]`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from pydantic import ValidationError

from onrecord.adapters.inputs.arguments import kind_of, text_given
from onrecord.adapters.inputs.document_inputs import (
    Unstored,
    decoded,
    from_outside,
    linked,
    name_in,
)
from onrecord.adapters.tools.tool import Failed, Tool, Toolset, Unfolded, has_type, plain
from onrecord.domain import jsontext
from onrecord.domain.content import Text
from onrecord.domain.errors import InvalidContent, MalformedJson, NotInstalled
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tool_context import ToolCallContext
from onrecord.domain.tools import ToolDefinition, ToolSource
from onrecord.projections.members import members_of, nonempty_text

# What an MCP server lists as its tools (`Tool`, `ListToolsResult`, `Implementation`), as
# definitions for any model; nothing is asked of it.

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
    entries = [_entry(place, each) for place, each in enumerate(_tools_listed(listing))]
    before = text_given("a prefix", prefix)
    tools = tuple(_distinct(_tool(place, entry, before) for place, entry in enumerate(entries)))
    server_info = _server(server)
    source = ToolSource(
        origin="mcp",
        name=nonempty_text(server_info.get("name")),
        version=nonempty_text(server_info.get("version")),
        sha256=hashlib.sha256(jsontext.write_canonical(entries)).hexdigest(),
        tools=tuple(tool.name for tool in tools),
    )
    return Toolset(tools, source)


def _tools_listed(listing: object) -> Iterable[object]:
    json_value = plain(listing)
    if isinstance(json_value, dict) and "tools" in json_value:
        json_value = cast("JsonObject", json_value)["tools"]
    if isinstance(json_value, str | bytes | dict) or not isinstance(json_value, Iterable):
        raise InvalidContent(
            "an MCP server's list is a ListToolsResult, its JSON with `tools`, or a list of the tools "
            f"themselves, not {kind_of(cast('object', json_value))}"
        )
    return cast("Iterable[object]", json_value)


def _entry(place: int, value: object) -> JsonObject:
    json_value = plain(value)
    if isinstance(json_value, dict):
        return cast("JsonObject", json_value)
    raise InvalidContent(f"entry {place} of the list is no tool but {kind_of(value)}")


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
    by_name: dict[str, ToolDefinition] = {}
    for tool in tools:
        if by_name.setdefault(tool.name, tool) != tool:
            raise InvalidContent(f"the list has two tools named {tool.name!r}: leave one out")
    return by_name.values()


def _server(value: object) -> Mapping[str, Any]:
    json_value: Any = {} if value is None else plain(value)
    if not isinstance(json_value, dict):
        raise InvalidContent(
            "an MCP server is told by its InitializeResult or its server_info, "
            f"not {kind_of(value)}"
        )
    members = cast("JsonObject", json_value)
    return members_of(members.get("serverInfo", members))


# What of a context an MCP server is told: the `_meta` of a call, by a filter; nothing by default.
#
# Which names are reserved: MCP, "Basic / General fields / `_meta`" (2025-11-25, 2026-07-28).

MetaFilter: TypeAlias = Callable[[ToolCallContext], Mapping[str, Any]]
"""Says what of a context a server is told."""

_RESERVED: Final = frozenset(
    {"baggage", "progressToken", "progress_token", "traceparent", "tracestate"}
)
"""Names of the protocol's own; `progress_token` is how the `mcp` SDK spells one."""

_OF_THE_PROTOCOL: Final = frozenset({"mcp", "modelcontextprotocol"})


def allow(*names: str) -> MetaFilter:
    """Return a filter that tells a server these names of a context, and no others."""
    allowed = frozenset(_not_reserved(text_given("a name to allow", name)) for name in names)
    return lambda context: {name: value for name, value in context.items() if name in allowed}


def deny(*names: str) -> MetaFilter:
    """Return a filter that tells a server all names of a context but these."""
    denied = frozenset(text_given("a name to deny", name) for name in names)
    return lambda context: {name: value for name, value in context.items() if name not in denied}


NOTHING: Final[MetaFilter] = allow()
"""Tells a server nothing."""


def meta_of(context: ToolCallContext, tell: MetaFilter) -> JsonObject | None:
    """Return the `_meta` of a call: None where the context is empty, else what the filter tells.

    That may be an empty object. InvalidContent, with names and without values, for what is
    reserved by the protocol and for what is no JSON.
    """
    if not context:
        return None
    filtered = cast("object", tell(context))
    if not isinstance(filtered, Mapping):
        raise InvalidContent(f"a filter of `_meta` gives a mapping, not {kind_of(filtered)}")
    meta: JsonObject = {}
    for name, value in cast("Mapping[object, object]", filtered).items():
        meta[_not_reserved(text_given("a name in `_meta`", name))] = _json(str(name), value)
    return meta


def _not_reserved(name: str) -> str:
    prefix, slash, _ = name.rpartition("/")
    labels = prefix.split(".")
    if name in _RESERVED or (slash and len(labels) > 1 and labels[1] in _OF_THE_PROTOCOL):
        raise InvalidContent(
            f"{name!r} is reserved by MCP: name it otherwise in the context, such as "
            f"'com.example/{name.rpartition('/')[2]}'"
        )
    return name


def _json(name: str, value: object) -> Any:
    try:
        return jsontext.read(jsontext.write(value))
    except MalformedJson:
        # The cause would show the value.
        raise InvalidContent(
            f"{name!r} is no JSON but {kind_of(value)}, and so cannot be told to a server"
        ) from None


# Calls through a session that the caller holds: a `ClientSession`, or a `Client`. It lives in the loop
# that it was opened in; calls from other threads are handed over to that loop.

if TYPE_CHECKING:
    import asyncio

    import mcp
    from mcp.types import CallToolResult
    from mcp.types import Tool as ListedTool

    Session: TypeAlias = mcp.ClientSession | mcp.Client

_MOST_PAGES: Final = 1000
"""How many pages a list of tools may have: a server may page for ever."""


async def mcp_tools(
    session: Session, *, meta: MetaFilter = NOTHING, prefix: str = ""
) -> tuple[Tool, ...]:
    """Return the tools that an MCP server lists, all pages of them, for a `ToolRunner`.

    `meta` says what of a call's context the server is told, in `_meta`: `onrecord.allow(...)`,
    `onrecord.deny(...)` or a function of your own; by default nothing. `prefix` goes before each
    name. InvalidContent for what is no session, NotInstalled without the `mcp` SDK.
    """
    import asyncio

    _must_be_session(session)
    toolset = mcp_listing(await _listed(session), server=session.server_info, prefix=prefix)
    loop = asyncio.get_running_loop()
    return tuple(
        Tool(
            definition,
            _Called(session, loop, definition.name[len(prefix) :], meta),
            toolset.source,
            is_async=True,
        )
        for definition in toolset.tools
    )


@dataclass(frozen=True, slots=True)
class _Called:
    """A tool of a server, by the name that the server has for it."""

    session: Session
    loop: asyncio.AbstractEventLoop
    name: str
    meta: MetaFilter

    async def __call__(self, arguments: JsonObject, context: ToolCallContext) -> object:
        """Return what the server gives, as the SDK has it."""
        import asyncio

        # The SDK's type of `_meta` names one key of the protocol's; any other may stand beside it.
        meta: Any = meta_of(context, self.meta)
        called = self.session.call_tool(self.name, arguments, meta=meta)
        if asyncio.get_running_loop() is self.loop:
            result = await called
        else:
            result = await _in_loop(self.loop, called)
        return Failed(result) if result.is_error else result


async def _in_loop(
    loop: asyncio.AbstractEventLoop, called: Coroutine[Any, Any, CallToolResult]
) -> CallToolResult:
    import asyncio

    if loop.is_closed() or not loop.is_running():
        called.close()
        raise InvalidContent("the loop of the MCP session has ended: open the session anew")
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(called, loop))


async def _listed(session: Session) -> list[ListedTool]:
    from mcp import Client
    from mcp.types import PaginatedRequestParams

    tools: list[ListedTool] = []
    cursors: list[str | None] = [None]
    while len(cursors) <= _MOST_PAGES:
        if isinstance(session, Client):
            page = await session.list_tools(cursor=cursors[-1])
        else:
            page = await session.list_tools(params=PaginatedRequestParams(cursor=cursors[-1]))
        tools += page.tools
        # An empty text is a cursor (MCP 2026-07-28, "Pagination"), though some servers end with
        # it: one that comes again leads to pages that are known.
        if page.next_cursor is None or page.next_cursor in cursors:
            return tools
        cursors.append(page.next_cursor)
    raise InvalidContent(f"the server's list of tools has more than {_MOST_PAGES} pages")


def _must_be_session(value: object) -> None:
    try:
        from mcp import Client, ClientSession
    except ModuleNotFoundError as exc:
        raise NotInstalled("an MCP session", exc.name, "mcp") from exc
    if not isinstance(value, ClientSession | Client):
        raise InvalidContent(
            f"an MCP session is a ClientSession or a Client of the mcp SDK, not {kind_of(value)}"
        )


# What the tools of MCP servers give (`CallToolResult`, `ReadResourceResult` and the blocks of
# content), as texts and documents.

_PACKAGES: Final = frozenset({"mcp", "mcp_types"})


def is_from_sdk(value: object) -> bool:
    """Whether a value is a result, or a block of content, of the `mcp` SDK."""
    return has_type(value, _PACKAGES, _KINDS)


def unfold(value: Any) -> Unfolded:
    """Return what a result or a block says."""
    return _KINDS[type(value).__name__](value)


def _result(result: Any) -> Unfolded:
    """Return the blocks of a result, and its structured content where no text says the same.

    A server "SHOULD also return the serialized JSON in a TextContent block" (MCP, "Tools"), so that
    it would be told twice. Absent is not null there.
    """
    blocks = _blocks(result.content)
    if "structured_content" in result.model_fields_set:
        blocks += _structured(result.structured_content, blocks)
    return Unfolded(blocks or None, "/content", is_error=bool(result.is_error))


def _blocks(content: Sequence[object]) -> list[object]:
    """Return the blocks of a result; those of a kind that is not known as their JSON."""
    return [block if is_from_sdk(block) else _as_json(block) for block in content]


def _structured(value: Any, blocks: list[object]) -> list[Text]:
    structured = jsontext.write_canonical(value)
    texts = (getattr(block, "text", None) for block in blocks)
    if any(isinstance(text, str) and _canonical(text) == structured for text in texts):
        return []
    return [_as_json(value)]


def _canonical(text: str) -> bytes | None:
    try:
        return jsontext.write_canonical(jsontext.read(text))
    except MalformedJson:
        return None


def _contents(result: Any) -> Unfolded:
    return Unfolded(_blocks(result.contents) or None, "/contents")


def document_in(encoded: str, declared: str | None, uri: str = "") -> Unstored | None:
    """Return the document that base64 holds; None where it is none: then it is told as it came."""
    data = decoded(encoded)
    return None if data is None else from_outside(data, declared, name_in(uri))


def document_of(text: str, declared: str | None, uri: str) -> Unstored:
    """Return the text of an embedded resource as a document."""
    data = text.encode(errors="surrogatepass")
    return from_outside(data, declared or "text/plain", name_in(uri))


def _media(block: Any) -> Unfolded:
    return Unfolded(document_in(block.data, block.mime_type) or _as_json(block))


def _text_resource(resource: Any) -> Unfolded:
    return Unfolded(document_of(resource.text, resource.mime_type, str(resource.uri)))


def _blob_resource(resource: Any) -> Unfolded:
    document = document_in(resource.blob, resource.mime_type, str(resource.uri))
    return Unfolded(document or _as_json(resource))


def _link(link: Any) -> Unfolded:
    """Return a document at an address that a provider can read; other addresses stay words."""
    named = link.name or link.title
    return Unfolded(linked(str(link.uri), link.mime_type, named) or _as_json(link))


def _as_json(value: object) -> Text:
    return Text(text=jsontext.write(plain(value)).decode())


_KINDS: Final[Mapping[str, Callable[[Any], Unfolded]]] = {
    "CallToolResult": _result,
    "ReadResourceResult": _contents,
    "TextContent": lambda block: Unfolded(Text(text=block.text)),
    "ImageContent": _media,
    "AudioContent": _media,
    "ResourceLink": _link,
    "EmbeddedResource": lambda block: Unfolded(block.resource),
    "TextResourceContents": _text_resource,
    "BlobResourceContents": _blob_resource,
}
"""Names of types to what tells their values."""
