"""What an agent asks an MCP server for, and how it comes to one that answers over HTTP."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Literal
from urllib.parse import quote

import mcp
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.types import TextContent, TextResourceContents

from tests.adapters.service.served import Served


@asynccontextmanager
async def agent(
    service: Served,
    key: str | None = None,
    *,
    conversation: str | None = None,
    mode: Literal["legacy", "auto"] = "auto",
) -> AsyncGenerator[mcp.Client]:
    """A client of the SDK that asks a service, by a key, about one conversation or all."""
    headers = {} if key is None else {"authorization": f"Bearer {key}"}
    query = "" if conversation is None else f"?conversation={quote(conversation, safe='')}"
    async with create_mcp_http_client(headers) as http:
        transport = streamable_http_client(f"{service.url}/mcp{query}", http_client=http)
        async with mcp.Client(transport, mode=mode) as client:
            yield client


async def asked(
    client: mcp.Client | mcp.ClientSession, tool: str, **arguments: object
) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert isinstance(result, mcp.types.CallToolResult)
    assert not result.is_error, result.content
    assert result.structured_content is not None
    (text,) = result.content
    assert isinstance(text, TextContent)
    fields: dict[str, Any] = result.structured_content
    assert json.loads(text.text) == fields
    return fields


async def pages(client: mcp.Client, tool: str, **arguments: object) -> list[dict[str, Any]]:
    """All pages of a tool, one after the other."""
    found = [await asked(client, tool, **arguments)]
    while found[-1]["next"] is not None:
        found.append(await asked(client, tool, cursor=found[-1]["next"], **arguments))
    return found


async def refused(client: mcp.Client, tool: str, **arguments: object) -> str:
    result = await client.call_tool(tool, arguments)
    assert isinstance(result, mcp.types.CallToolResult)
    assert result.is_error
    assert result.structured_content is None
    (text,) = result.content
    assert isinstance(text, TextContent)
    return text.text


async def content(client: mcp.Client, uri: str) -> Any:
    (found,) = (await client.read_resource(uri)).contents
    assert isinstance(found, TextResourceContents)
    return json.loads(found.text)


async def subscribe(client: mcp.Client | mcp.ClientSession, uri: str) -> None:
    """Subscribe as agents do up to revision 2025-11-25."""
    await client.subscribe_resource(uri)  # pyright: ignore[reportDeprecated]


async def unsubscribe(client: mcp.Client, uri: str) -> None:
    """Take a subscription back, as agents do up to revision 2025-11-25."""
    await client.unsubscribe_resource(uri)  # pyright: ignore[reportDeprecated]
