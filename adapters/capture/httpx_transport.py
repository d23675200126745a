"""The recording transports for clients of `httpx`, the older package of which httpx2 goes on.

Both are alike in all that is used here, but each wants streams of its own kind.

Imports httpx: only where that is installed is this imported.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any, cast

import httpx

from hansard.adapters.capture.transport import AsyncRecordedTransport, RecordedTransport
from hansard.adapters.capture.turns import Turns


class HttpxTransport(httpx.BaseTransport):
    """Sends requests through another transport and records what crosses it."""

    def __init__(self, inner: Any, origin: Any, turns: Turns) -> None:
        """Wrap a transport of a client, which is kept alive."""
        self.turns = turns
        self.origin = origin
        self._recorded = RecordedTransport(inner, origin, turns)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Record the request, send it, and return a response that is recorded as it is read."""
        response = cast("httpx.Response", self._recorded.handle_request(cast("Any", request)))
        if not isinstance(response.stream, httpx.SyncByteStream):
            response.stream = _Stream(response.stream)
        return response

    def close(self) -> None:
        """Close the client that the transport belongs to."""
        self._recorded.close()


class AsyncHttpxTransport(httpx.AsyncBaseTransport):
    """Sends requests through another transport and records what crosses it."""

    def __init__(self, inner: Any, origin: Any, turns: Turns) -> None:
        """Wrap a transport of a client, which is kept alive."""
        self.turns = turns
        self.origin = origin
        self._recorded = AsyncRecordedTransport(inner, origin, turns)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Record the request, send it, and return a response that is recorded as it is read."""
        answer = await self._recorded.handle_async_request(cast("Any", request))
        response = cast("httpx.Response", answer)
        if not isinstance(response.stream, httpx.AsyncByteStream):
            response.stream = _AsyncStream(response.stream)
        return response

    async def aclose(self) -> None:
        """Close the client that the transport belongs to."""
        await self._recorded.aclose()


class _Stream(httpx.SyncByteStream):
    """A recorded body, as httpx wants it."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._inner)

    def close(self) -> None:
        self._inner.close()


class _AsyncStream(httpx.AsyncByteStream):
    """A recorded body, as httpx wants it."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __aiter__(self) -> AsyncIterator[bytes]:
        return aiter(self._inner)

    async def aclose(self) -> None:
        await self._inner.aclose()
