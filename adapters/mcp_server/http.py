"""The MCP server over HTTP, without sessions: a message comes in a body, and its answer goes back."""

from __future__ import annotations

from dataclasses import dataclass, field

import anyio
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Message, Receive, Send

from onrecord.adapters.mcp_server.server import Reader
from onrecord.adapters.mcp_server.watched import Moves, moves_of


async def exchange(reader: Reader, request: Request, body: bytes) -> Response:
    """Return the answer to a message of an agent.

    ClientDisconnect where the client has gone: then nothing more is read for it.
    """
    answer = _Answer()
    async with anyio.create_task_group() as group:
        group.start_soon(_cancel_when_gone, request.receive, group.cancel_scope)
        await stream(reader, moves_of(reader.scope), request, body, answer.send)
        group.cancel_scope.cancel()
    return answer.response()


async def stream(reader: Reader, moves: Moves, request: Request, body: bytes, send: Send) -> None:
    """Send the answer to a message piece by piece, until it ends or the client has gone."""
    manager = StreamableHTTPSessionManager(reader.server(moves), json_response=True, stateless=True)
    whole: Message = {"type": "http.request", "body": body, "more_body": False}
    messages = iter((whole,))

    async def receive() -> Message:
        return next(messages, None) or await request.receive()

    # What it began for the message ends with it.
    async with manager.run():
        await manager.handle_request(request.scope, receive, send)


async def _cancel_when_gone(receive: Receive, work: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    work.cancel()


@dataclass(slots=True)
class _Answer:
    """An answer as it is sent, kept until it is whole."""

    status: int | None = None
    headers: list[tuple[bytes, bytes]] = field(default_factory=list[tuple[bytes, bytes]])
    body: bytearray = field(default_factory=bytearray)
    is_whole: bool = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], list(message["headers"])
            return
        self.body += message.get("body", b"")
        self.is_whole = not message.get("more_body", False)

    def response(self) -> Response:
        if self.status is None or not self.is_whole:
            raise ClientDisconnect
        response = Response(bytes(self.body), self.status)
        response.raw_headers = [*self.headers, (b"cache-control", b"no-store")]
        return response
