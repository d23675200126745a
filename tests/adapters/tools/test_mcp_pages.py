"""The pages of an MCP server's list of tools: all of them are asked for, and none for ever."""

from typing import Any

import mcp
import pytest
from mcp.server.lowlevel import Server
from mcp.types import ListToolsResult, PaginatedRequestParams, Tool

import onrecord
from onrecord.domain.errors import InvalidContent

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Pages:
    """A server whose page at each cursor holds one tool, and leads to another cursor."""

    def __init__(self, after: dict[str | None, str | None]) -> None:
        self.after = after
        self.asked: list[str | None] = []

    async def list_tools(
        self, _context: object, params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        cursor = params.cursor if params else None
        self.asked.append(cursor)
        tool = Tool(name=f"tool_{cursor or 0}", input_schema={"type": "object"})
        return ListToolsResult(tools=[tool], next_cursor=self.after.get(cursor, f"{cursor}+"))

    def server(self) -> Server[Any]:
        return Server("pages", version="1.0", on_list_tools=self.list_tools)


async def listed(pages: Pages) -> list[str]:
    async with mcp.Client(pages.server()) as client:
        return [tool.name for tool in await onrecord.mcp_tools(client)]


async def test_an_empty_text_is_a_cursor_like_any_other() -> None:
    pages = Pages({None: "", "": "b", "b": None})
    assert await listed(pages) == ["tool_0", "tool_b"]
    assert pages.asked == [None, "", "b"]


async def test_a_server_that_ends_with_an_empty_text_is_listed_once() -> None:
    pages = Pages({None: "a", "a": "", "": "a"})
    assert await listed(pages) == ["tool_0", "tool_a"]
    assert pages.asked == [None, "a", ""]


async def test_pages_that_lead_back_to_one_another_are_asked_for_once() -> None:
    pages = Pages({None: "a", "a": "b", "b": "a"})
    assert await listed(pages) == ["tool_0", "tool_a", "tool_b"]
    assert pages.asked == [None, "a", "b"]


async def test_a_list_that_never_ends_is_refused() -> None:
    async with mcp.Client(Pages({}).server()) as client:
        with pytest.raises(InvalidContent, match="more than 1000 pages"):
            await onrecord.mcp_tools(client)
