"""An agent that listens over HTTP: a stream that counts as a tail, and ends as tails do."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from onrecord.adapters.mcp_server.watched import Moves
from onrecord.adapters.service.hub import Channel
from onrecord.adapters.service.route import Call

Streams = Callable[[Moves, Request, bytes, Send], Awaitable[None]]
"""Sends the answer to a message piece by piece."""


@dataclass(frozen=True, slots=True)
class _TenantMoves:
    """The moves of one tenant's conversations, until its key counts no more, or the server ends."""

    call: Call[Any, Any]
    channel: Channel

    def seen(self) -> object:
        return self.channel.moved

    async def wait(self, seen: object) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(self.call.tails.seconds):
                await cast("asyncio.Event", seen).wait()
        return not self.call.tails.hub.is_over and await self.call.is_allowed("read")


class McpStream(Response):
    """The answer to an agent that listens: it is open as long as the agent is there."""

    def __init__(self, call: Call[Any, Any], streams: Streams, body: bytes) -> None:
        """Count as a tail from now on; Problem where there are too many."""
        super().__init__()
        self._call = call
        self._streams = streams
        self._message = body
        call.tails.open_tails.enter(call.access.caller_id)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send what there is to tell until the agent goes, its key counts no more, or the server ends."""
        del scope, receive
        call = self._call
        try:
            with call.tails.hub.channel(call.tenant) as channel:
                moves = _TenantMoves(call, channel)
                await self._streams(moves, call.request, self._message, send)
        finally:
            call.tails.open_tails.leave(call.access.caller_id)
