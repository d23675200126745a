"""Routes of tails: new events as they come, by server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Annotated, Any, Final
from uuid import UUID

from pydantic import Field
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from onrecord.adapters.service.hub import Channel, Place, Positions
from onrecord.adapters.service.model import Empty, Model
from onrecord.adapters.service.problems import MALFORMED, Problem
from onrecord.adapters.service.route import Call, Route
from onrecord.adapters.service.routes.conversations import begun
from onrecord.domain.errors import StaleCursor, StorageError
from onrecord.domain.log import Cursor

_RETRY: Final = b"retry: 2000\n\n"
COMMENT: Final = b": \n\n"
"""What a tail sends to say that it is there."""

_HEADERS: Final = {"cache-control": "no-cache", "x-accel-buffering": "no"}
_MOST_BYTES: Final = 256 << 10
"""So much is handed to a connection at once; what a client does not take waits in the log."""


class TailQuery(Model):
    """Where a tail begins; the header `Last-Event-ID` counts more."""

    after: (
        Annotated[str, Field(pattern="^(start|[0-9a-f-]{36}:[0-9]{1,9}:[0-9]{1,18})$")] | None
    ) = None
    """The `id` of an event of a tail, or `start` for all there is; without it, what is new from now on."""


async def tenant_tail(call: Call[TailQuery, Empty]) -> Response:
    """Return the events of all conversations, as they come."""
    return await _tail(call, None)


async def conversation_tail(call: Call[TailQuery, Empty]) -> Response:
    """Return the events of one conversation, as they come."""
    conversation, _ = await begun(call)
    return await _tail(call, await conversation.conversation_id)


async def _tail(call: Call[TailQuery, Empty], conversation_id: UUID | None) -> Response:
    positions = await _beginning(call)
    return followed(call, _Tail(call, conversation_id, positions).sent())


def followed(call: Call[Any, Any], content: AsyncIterator[bytes]) -> Response:
    """Return a stream of server-sent events that counts as a tail until it is over."""
    headers = dict(_HEADERS)
    if call.request.method == "HEAD":
        return Response(None, 200, headers, media_type="text/event-stream")
    key = call.access.caller_id
    call.tails.open_tails.enter(key)
    return _TailResponse(content, headers, partial(call.tails.open_tails.leave, key))


class _TailResponse(StreamingResponse):
    """A stream that says when it is over, whatever ended it."""

    def __init__(
        self, content: AsyncIterator[bytes], headers: dict[str, str], over: Callable[[], None]
    ) -> None:
        super().__init__(content, headers=headers, media_type="text/event-stream")
        self._over = over

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._over()


async def _beginning(call: Call[TailQuery, Empty]) -> Positions:
    """Return where a tail begins; StaleCursor where that is in another log."""
    named = call.request.headers.get("last-event-id") or call.query.after
    ends = await call.tails.hub.ends()
    if named is None:
        return {end.shard: end.position for end in ends}
    if named == "start":
        return {end.shard: 0 for end in ends}
    after = _cursor(named)
    # Asking for what is behind it raises where it is no place of this log.
    await call.steps.run(lambda: call.backend.subscribe(after, call.tenant).stop())
    return {after.shard: after.position}


def _cursor(text: str) -> Cursor:
    try:
        incarnation, shard, position = text.split(":")
        if not (shard.isdecimal() and position.isdecimal() and len(position) <= 18):
            raise ValueError
        return Cursor(UUID(incarnation), int(shard), int(position))
    except ValueError:
        raise Problem(MALFORMED, "Last-Event-ID is the id of an event of a tail") from None


class _Tail:
    """One client that follows: where it is, and what it is sent next."""

    def __init__(
        self, call: Call[TailQuery, Empty], conversation_id: UUID | None, positions: Positions
    ) -> None:
        self._call = call
        self._hub = call.tails.hub
        self._place = Place(positions, conversation_id)

    async def sent(self) -> AsyncIterator[bytes]:
        """Yield what is sent until the server ends, the key counts no more, or the log is another one."""
        yield _RETRY
        with self._hub.channel(self._call.tenant) as channel:
            while not self._hub.is_over:
                moved = channel.moved
                found, forgot = await self._next(channel), self._hub.forgot
                if found is None:
                    return
                for piece in filter(None, found):
                    # The client took its time, maybe: the key may be revoked by now.
                    if not await self._is_allowed():
                        return
                    # The rest may hold what was erased meanwhile: it comes again.
                    if forgot != self._hub.forgot:
                        return
                    yield piece
                if not found and not await self._is_allowed():
                    return
                if not found and not await happens(moved, self._call.tails.seconds):
                    yield COMMENT

    async def _next(self, channel: Channel) -> list[bytes] | None:
        """Return what is behind the place, and go there; None where the log is another one."""
        frames = channel.since(self._place.positions)
        if frames is None:
            try:
                frames, place = await self._hub.read(self._call.tenant, self._place)
            except StaleCursor:
                return None
            except StorageError:
                return []  # It is away: the client waits with the service.
            is_moved = place != self._place
            self._place = place
            if is_moved and not frames:
                return [b""]  # There may be more behind it.
        self._place = self._place.behind(frames)
        wanted = self._place.conversation_id
        texts = [each.text for each in frames if wanted in (None, each.conversation_id)]
        return _joined(texts) or ([b""] if frames else [])

    async def _is_allowed(self) -> bool:
        """Whether the key still counts; the door remembers it for some seconds."""
        return await self._call.is_allowed("read")


def _joined(texts: list[bytes]) -> list[bytes]:
    """Return texts in pieces of some size: fewer writes, and none of them huge."""
    pieces: list[bytes] = []
    piece = bytearray()
    for text in texts:
        piece += text
        if len(piece) >= _MOST_BYTES:
            pieces.append(bytes(piece))
            piece.clear()
    if piece:
        pieces.append(bytes(piece))
    return pieces


async def happens(moved: asyncio.Event, seconds: float) -> bool:
    """Return whether something happens within so many seconds."""
    try:
        async with asyncio.timeout(seconds):
            await moved.wait()
    except TimeoutError:
        return False
    return True


def _route(path: str, name: str, summary: str, answers: Any, *others: int) -> Route[Any, Any]:
    return Route(
        *("GET", path, name, summary),
        role="read",
        query=TailQuery,
        body=Empty,
        answers=answers,
        media_type="text/event-stream",
        statuses=(410, *others),
    )


ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    _route("/v1/tail", "tail", "Follow all conversations by server-sent events.", tenant_tail),
    _route(
        *("/v1/conversations/{key}/tail", "conversationTail"),
        *("Follow one conversation by server-sent events.", conversation_tail),
    ),
)
