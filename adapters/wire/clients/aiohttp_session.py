"""A session of aiohttp's whose requests are recorded, as google-genai sends them.

Imports aiohttp: only what was given such a session imports this.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from typing import Any, Final

from aiohttp import ClientResponse, StreamReader
from aiohttp.base_protocol import BaseProtocol

from onrecord.adapters.wire.bodies.attempt import AnswerRecorder
from onrecord.adapters.wire.clients import recorded_async, unrecorded
from onrecord.adapters.wire.clients.exchange_recorder import ExchangeRecorder
from onrecord.adapters.wire.clients.recorded_async import AsyncRecordedBody
from onrecord.adapters.wire.clients.sending import Sending, extensions_of_call, target_of
from onrecord.adapters.wire.clients.transport import abandon

_PACKED: Final = "content-encoding"
_BUFFER: Final = 2**16


class RecordedSession:
    """Sends requests through another session and records what crosses it."""

    def __init__(self, inner: Any, exchanges: ExchangeRecorder) -> None:
        """Wrap a session: one of aiohttp's, or of google-auth's around one."""
        self._inner = inner
        self._exchanges = exchanges

    def __getattr__(self, name: str) -> Any:
        """Return what the session has."""
        return getattr(self._inner, name)

    async def request(
        self,
        method: str,
        url: Any,
        *,
        headers: Mapping[str, str] | None = None,
        data: bytes | None = None,
        **more: Any,
    ) -> Any:
        """Record the request, send it, and return a response that is recorded as it is read."""
        own_headers = dict(headers or {})
        bound = self._exchanges.binding.of(own_headers)
        lowered = {name.lower(): value for name, value in own_headers.items()}
        sending = Sending(method.upper(), target_of(str(url)), lowered, extensions_of_call({}))
        body = data or b""
        if self._exchanges.binding.splice:
            body = await recorded_async.result_of(
                partial(self._exchanges.spliced, bound, sending, body)
            )
        more["data"] = body or data
        send = partial(self._inner.request, method, url, headers=own_headers, **more)
        # What google-genai uploads is sent in parts: no form, and no batch's.
        if not sending.is_recorded or sending.kind == "upload":
            unrecorded.say(sending.method, sending.path)
            return await send()
        attempt = await recorded_async.opened(
            partial(self._exchanges.attempt, bound, sending, body)
        )
        if attempt is None:
            return await send()
        try:
            response = await send()
        except BaseException as exc:
            await recorded_async.done(partial(attempt.fail, exc))
            raise
        _record(getattr(response, "_response", response), attempt)
        return response


def _record(response: ClientResponse, attempt: AnswerRecorder) -> None:
    """Have a response recorded as it is read; what is not read of it is abandoned."""
    # What it was packed in is taken off before anybody reads it.
    headers = {name.lower(): value for name, value in response.headers.items()}
    attempt.answered(response.status, {k: v for k, v in headers.items() if k != _PACKED})
    response.content = _RecordedContent(response.content, attempt)
    for name in ("close", "release"):
        setattr(response, name, _abandoning(getattr(response, name), attempt))


def _abandoning(end: Callable[[], Any], attempt: AnswerRecorder) -> Callable[[], Any]:
    def ended() -> Any:
        abandon(attempt)
        return end()

    return ended


class _RecordedContent(StreamReader):
    """The content of a response, as its readers want it: what they wait for is recorded first."""

    def __init__(self, inner: StreamReader, attempt: AnswerRecorder) -> None:
        loop = asyncio.get_running_loop()
        super().__init__(BaseProtocol(loop), _BUFFER, loop=loop)
        self._chunks = aiter(AsyncRecordedBody(_Chunks(inner), attempt))

    async def _wait(self, func_name: str) -> None:
        """Have more to read, or the end; every way of reading comes here when there is nothing."""
        try:
            self.feed_data(await anext(self._chunks))
        except StopAsyncIteration:
            self.feed_eof()


class _Chunks:
    """What comes over the wire, as it comes."""

    def __init__(self, content: StreamReader) -> None:
        self._content = content

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._content.iter_any()

    async def aclose(self) -> None:
        """Do nothing: the response releases its connection itself."""
