"""One request on its way to a provider, and the answer on its way back, recorded as it passes."""

from __future__ import annotations

import asyncio
import io
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Final, cast

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from onrecord.adapters.proxy.asgi import Header, Send, begin_answer
from onrecord.adapters.proxy.headers import by_name, handed_back
from onrecord.adapters.proxy.refusals import Refusal
from onrecord.adapters.proxy.upstreams import Upstream
from onrecord.adapters.wire.bodies.attempt import AnswerRecorder
from onrecord.adapters.wire.clients.recorded_async import AsyncRecordedBody, done

logger = logging.getLogger("onrecord")

_CONNECTING: Final = 10.0
_AT_ONCE: Final = 1024**2
"""How many bytes of a body aiohttp takes as they are; it has longer ones read piece by piece."""

_LONGEST_HEADER: Final = 64 * 1024
_UNSET: Final = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")
"""What aiohttp would add to a request."""


def new_session() -> aiohttp.ClientSession:
    """Return what requests go out by: it follows nothing, keeps no cookie, and unpacks nothing."""
    return aiohttp.ClientSession(
        auto_decompress=False,
        connector=aiohttp.TCPConnector(limit=0),
        cookie_jar=aiohttp.DummyCookieJar(),
        max_field_size=_LONGEST_HEADER,
        max_line_size=_LONGEST_HEADER,
        skip_auto_headers=_UNSET,
        # Reasoning pauses for minutes: nothing ends a wait for bytes but the program.
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECTING),
    )


@dataclass(frozen=True, slots=True)
class Outbound:
    """A request as the provider gets it; `body` is all of it, or its pieces with its own length."""

    upstream: Upstream
    method: str
    target: str
    headers: Sequence[tuple[str, str]]
    body: bytes | AsyncIterator[bytes]
    length: str | None = None

    @property
    def url(self) -> URL:
        """The URL, spelled as the program spelled its part of it."""
        return URL(self.upstream.url + self.target, encoded=True)


async def exchange(
    session: aiohttp.ClientSession,
    outbound: Outbound,
    recorder: AnswerRecorder | None,
    send: Send,
    added: Iterable[Header] = (),
) -> None:
    """Send a request, and hand its answer on as it comes; `added` are headers of the proxy's own.

    Refusal where no answer comes. One that breaks off ends without its end, as it came: the server
    closes the connection to the program.
    """
    try:
        response = await _sent(session, outbound)
    except BaseException as exc:
        if recorder is not None:
            await done(partial(recorder.fail, exc))
        if isinstance(exc, (aiohttp.ClientError, OSError)):
            raise _unanswered(outbound.upstream, exc) from exc
        raise
    try:
        await _hand_on(response, recorder, send, added)
    except (aiohttp.ClientError, OSError) as exc:
        logger.warning("an answer of %s broke off: %s", outbound.upstream.name, type(exc).__name__)
    finally:
        response.close()  # Where all was read the connection went back before.


async def _sent(session: aiohttp.ClientSession, outbound: Outbound) -> aiohttp.ClientResponse:
    headers = CIMultiDict(outbound.headers)
    if outbound.length is not None:
        headers["Content-Length"] = outbound.length
    body: bytes | io.BytesIO | AsyncIterator[bytes] | None = outbound.body
    if isinstance(body, bytes):
        body = io.BytesIO(body) if len(body) > _AT_ONCE else body or None
    return await session.request(
        outbound.method, outbound.url, headers=headers, data=body, allow_redirects=False
    )


async def _hand_on(
    response: aiohttp.ClientResponse,
    recorder: AnswerRecorder | None,
    send: Send,
    added: Iterable[Header],
) -> None:
    raw = response.raw_headers
    if recorder is not None:
        recorder.answered(response.status, by_name(raw))
    pieces = _Pieces(response.content)
    body = aiter(pieces) if recorder is None else aiter(AsyncRecordedBody(pieces, recorder))
    try:
        await begin_answer(send, response.status, [*handed_back(raw), *added])
        async with aclosing(cast("AsyncGenerator[bytes]", body)) as chunks:
            async for chunk in chunks:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
    finally:
        if recorder is not None and not recorder.is_closed:
            await done(partial(recorder.lose, "abandoned"))
    await send({"type": "http.response.body", "body": b""})


class _Pieces:
    """What comes over the wire, as it comes."""

    def __init__(self, content: aiohttp.StreamReader) -> None:
        self._content = content

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        async for piece in self._content.iter_any():
            yield piece

    async def aclose(self) -> None:
        """Do nothing: the response lets go of its connection."""


def _unanswered(upstream: Upstream, error: Exception) -> Refusal:
    if isinstance(error, (TimeoutError, asyncio.TimeoutError)):
        return Refusal(504, f"{upstream.name} could not be reached in time")
    if isinstance(error, aiohttp.ClientConnectorError):
        return Refusal(502, f"{upstream.name} could not be reached")
    return Refusal(502, f"{upstream.name} closed the connection without an answer")
