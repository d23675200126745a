"""The tools of an MCP server, called through a session that the caller holds.

The session is the official `mcp` SDK's (`onrecord[mcp]`): a `ClientSession`, or a `Client`. It lives
in the loop that it was opened in; calls from other threads are handed over to that loop.
"""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from onrecord.adapters.conversation.arguments import kind_of
from onrecord.adapters.tools.mcp_listing import mcp_listing
from onrecord.adapters.tools.mcp_meta import NOTHING, MetaFilter, meta_of
from onrecord.adapters.tools.tool import Failed, Tool
from onrecord.domain.errors import InvalidContent, NotInstalled
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tool_context import ToolCallContext

if TYPE_CHECKING:
    import asyncio

    import mcp
    from mcp.types import CallToolResult, ListToolsResult
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
    listed = mcp_listing(await _listed(session), server=session.server_info, prefix=prefix)
    loop = asyncio.get_running_loop()
    return tuple(
        Tool(
            definition,
            _Called(session, loop, definition.name[len(prefix) :], meta),
            listed.source,
            is_async=True,
        )
        for definition in listed.tools
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

        told = meta_of(context, self.meta)
        called = self._called(arguments, told)
        if asyncio.get_running_loop() is self.loop:
            result = await called
        else:
            result = await _in_loop(self.loop, called)
        return Failed(result) if result.is_error else result

    async def _called(self, arguments: JsonObject, told: JsonObject | None) -> CallToolResult:
        # The SDK's type of `_meta` names one key of the protocol's; any other may stand beside it.
        meta: Any = told
        return await self.session.call_tool(self.name, arguments, meta=meta)


async def _in_loop(
    loop: asyncio.AbstractEventLoop, called: Coroutine[Any, Any, CallToolResult]
) -> CallToolResult:
    import asyncio

    if loop.is_closed() or not loop.is_running():
        called.close()
        raise InvalidContent("the loop of the MCP session has ended: open the session anew")
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(called, loop))


async def _listed(session: Session) -> list[ListedTool]:
    listed: list[ListedTool] = []
    asked: list[str | None] = [None]
    while len(asked) <= _MOST_PAGES:
        page = await _page(session, asked[-1])
        listed += page.tools
        # An empty text is a cursor (MCP 2026-07-28, "Pagination"), though some servers end with
        # it: one that comes again leads to pages that are known.
        if page.next_cursor is None or page.next_cursor in asked:
            return listed
        asked.append(page.next_cursor)
    raise InvalidContent(f"the server's list of tools has more than {_MOST_PAGES} pages")


async def _page(session: Session, cursor: str | None) -> ListToolsResult:
    from mcp import Client
    from mcp.types import PaginatedRequestParams

    if isinstance(session, Client):
        return await session.list_tools(cursor=cursor)
    return await session.list_tools(params=PaginatedRequestParams(cursor=cursor))


def _must_be_session(given: object) -> None:
    try:
        from mcp import Client, ClientSession
    except ModuleNotFoundError as exc:
        raise NotInstalled("an MCP session", exc.name, "mcp") from exc
    if not isinstance(given, ClientSession | Client):
        raise InvalidContent(
            f"an MCP session is a ClientSession or a Client of the mcp SDK, not {kind_of(given)}"
        )
