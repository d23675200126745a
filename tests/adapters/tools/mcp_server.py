"""An MCP server on the official SDK's low level: run as a program, it talks over stdin and stdout.

Its tools tell what they were sent. The list of them has two pages.
"""

import base64
import os
from typing import Any, cast

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ImageContent,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)

PICTURE = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(16)).decode()

PAGES = (
    (
        Tool(
            name="echo",
            title="Echo",
            description="Say what was sent.",
            input_schema={"type": "object", "properties": {"text": {"type": "string"}}},
        ),
        Tool(name="fail", description="Fail.", input_schema={"type": "object"}),
    ),
    (
        Tool(name="sleep", description="Take long.", input_schema={"type": "object"}),
        Tool(name="picture", description="Show it.", input_schema={"type": "object"}),
        Tool(name="die", description="End the server.", input_schema={"type": "object"}),
    ),
)


class Sent:
    """What the server was sent: the name, arguments and `_meta` of each call."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, object, dict[str, Any] | None]] = []

    async def list_tools(
        self, _context: object, params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        page = int(params.cursor) if params is not None and params.cursor else 0
        following = str(page + 1) if page + 1 < len(PAGES) else None
        return ListToolsResult(tools=list(PAGES[page]), next_cursor=following)

    async def call_tool(self, _context: object, params: CallToolRequestParams) -> CallToolResult:
        self.calls.append((params.name, params.arguments, cast("Any", params.meta)))
        match params.name:
            case "fail":
                return CallToolResult(content=[TextContent(text="no such parcel")], is_error=True)
            case "picture":
                return CallToolResult(
                    content=[
                        TextContent(text="As it came:"),
                        ImageContent(data=PICTURE, mime_type="image/png"),
                    ]
                )
            case "sleep":
                await anyio.sleep_forever()
            case "die":
                os._exit(1)
            case _:
                pass
        return CallToolResult(content=[TextContent(text=str(params.arguments))])

    def server(self) -> Server:
        return Server(
            "parcels",
            version="1.2.3",
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
        )


async def main() -> None:
    server = Sent().server()
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
