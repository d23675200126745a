"""The body of a request as its program sends it: held to be recorded, or passed on as it comes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from onrecord.adapters.proxy.asgi import Receive
from onrecord.adapters.wire.bodies.answer_body import Unpacking


class ProgramGone(Exception):
    """The program hung up."""


class RequestBody:
    """The body of one request, read once. What was read to be held is passed on all the same."""

    def __init__(self, receive: Receive) -> None:
        """Read from what the server received."""
        self._receive = receive
        self._held: list[bytes] = []
        self._is_read = asyncio.Event()

    async def hold(self, at_most: int) -> bytes | None:
        """Return all of the body; None where it is longer: then it is passed on by `pieces`.

        ProgramGone where the program hangs up first.
        """
        size = 0
        async for piece in self._next():
            self._held.append(piece)
            size += len(piece)
            if size > at_most:
                return None
        body = b"".join(self._held)
        self._held = [body]
        return body

    async def head(self, at_least: int) -> bytes:
        """Return how the body begins, all of it if it is shorter."""
        size = 0
        async for piece in self._next():
            self._held.append(piece)
            size += len(piece)
            if size >= at_least:
                break
        return b"".join(self._held)

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the body as it comes; what was held goes first, and is let go of."""
        while self._held:
            yield self._held.pop(0)
        async for piece in self._next():
            yield piece

    async def gone(self) -> None:
        """Return when the program hangs up after all of its body came."""
        await self._is_read.wait()
        while (await self._receive())["type"] != "http.disconnect":
            continue

    async def _next(self) -> AsyncIterator[bytes]:
        while not self._is_read.is_set():
            message = await self._receive()
            if message["type"] == "http.disconnect":
                self._is_read.set()
                raise ProgramGone
            if not message.get("more_body", False):
                self._is_read.set()
            if piece := message.get("body", b""):
                yield piece


def unpacked(body: bytes, content_encoding: str | None, at_most: int) -> bytes | None:
    """Return what a body unpacks to; None where it cannot be unpacked, or is longer than that."""
    if not content_encoding:
        return body
    unpacking = Unpacking(content_encoding)
    pieces: list[bytes] = []
    for piece in unpacking.feed(body):
        pieces.append(piece)
        at_most -= len(piece)
        if at_most < 0:
            return None
    return None if unpacking.failure else b"".join(pieces)
