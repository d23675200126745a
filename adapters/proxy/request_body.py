"""The body of a request as its program sends it: held to be recorded, or passed on as it comes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Final, TypeAlias

from onrecord.adapters.proxy.asgi import Header, Receive
from onrecord.adapters.proxy.refusals import Refusal
from onrecord.adapters.wire.bodies.unpacking import Unpacking

Hold: TypeAlias = Callable[[int], None]
"""Is told how many bytes are held in all; Refusal where there is no room for them."""

_PIECE_SECONDS: Final = 60.0
"""How long the next piece of a body may take: what is held by then is room that others lack."""


def hold_any(size: int) -> None:
    """Hold any number of bytes."""
    del size


class ProgramGone(Exception):
    """The program hung up."""


class RequestBody:
    """The body of one request, read once. What was read to be held is passed on all the same."""

    def __init__(self, receive: Receive, headers: Iterable[Header], hold: Hold = hold_any) -> None:
        """Read from what the server received; `hold` is told what is held."""
        announced = next((value for name, value in headers if name == b"content-length"), b"")
        self._announced = int(announced) if announced.isdigit() else 0
        self.count: Final = hold
        self._receive = receive
        self._held: list[bytes] = []
        self._is_read = asyncio.Event()

    async def hold(self, at_most: int) -> bytes | None:
        """Return all of the body; None where it is longer: then it is passed on by `pieces`.

        What is announced is counted before it is read. ProgramGone where the program hangs up first,
        Refusal where there is no room for the body, or where it does not come.
        """
        if self._announced > at_most:
            return None
        self.count(self._announced)
        size = sum(map(len, self._held))
        async for piece in self._next():
            size += len(piece)
            self.count(size)
            self._held.append(piece)
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
            try:
                async with asyncio.timeout(_PIECE_SECONDS):
                    message = await self._receive()
            except TimeoutError:
                raise Refusal(408, "the body took too long to arrive") from None
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
