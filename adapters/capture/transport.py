"""Transports that record: each hands every request to the one it wraps.

Pools, proxies, limits and certificates are those of the wrapped one. What comes back is read beside
the caller, chunk by chunk.

Imports httpx2, which an SDK brings: only what was given such a client imports this.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Final, cast
from weakref import WeakKeyDictionary

import httpx2

from hansard.adapters.capture import loop_threads
from hansard.adapters.capture.answer import Loss
from hansard.adapters.capture.attempt import Attempt
from hansard.adapters.capture.binding import Bound
from hansard.adapters.capture.turns import Turns, is_turn, reads_answer

_PATIENCE: Final = 5.0
_PACKED: Final = "content-encoding"
_OPEN: Final[WeakKeyDictionary[Attempt, int]] = WeakKeyDictionary()
"""The attempts whose bodies somebody may still read, each with the process that made it."""


class RecordedTransport(httpx2.BaseTransport):
    """Sends requests through another transport and records what crosses it."""

    def __init__(self, inner: httpx2.BaseTransport, origin: httpx2.Client, turns: Turns) -> None:
        """Wrap a transport of a client, which is kept alive: its end would close the transport."""
        self.inner = inner
        self.origin = origin
        self.turns = turns

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Record the request, send it, and return a response that is recorded as it is read."""
        _must_be_open(self.origin)
        bound = self.turns.binding.of(request.headers)
        if not _is_recorded(request):
            return self.inner.handle_request(request)
        attempt = _open(self.turns, bound, request, request.read())
        if attempt is None:
            return self.inner.handle_request(request)
        try:
            response = self.inner.handle_request(request)
        except BaseException as exc:
            attempt.fail(exc)
            raise
        body = _loaded(response)
        if body is not None:
            _read_whole(attempt, response, body)
        else:
            attempt.answered(response.status_code, response.headers)
            inner = cast("httpx2.SyncByteStream", response.stream)
            response.stream = RecordedStream(inner, attempt)
        return response

    def close(self) -> None:
        """Close the client that the transport belongs to, as closing any client that shares it."""
        self.origin.close()


class RecordedStream(httpx2.SyncByteStream):
    """The body of a response; each chunk passes on as it comes, the last one when it is durable."""

    def __init__(self, inner: httpx2.SyncByteStream, attempt: Attempt) -> None:
        """Read a body for its caller and for the record."""
        _OPEN[attempt] = os.getpid()
        self._inner = inner
        self._attempt = attempt

    def __iter__(self) -> Iterator[bytes]:
        """Yield the chunks of the body, unchanged."""
        attempt = self._attempt
        held: bytes | None = None
        try:
            for chunk in self._inner:
                if held is not None:
                    yield held
                is_last = attempt.feed(chunk)
                # The end of a body that does not say it is known only when nothing follows.
                held = None if attempt.is_stream else chunk
                if is_last:
                    attempt.finish()
                if held is None:
                    yield chunk
            attempt.finish()
            if held is not None:
                yield held
        except Exception:
            attempt.lose("cut")
            raise
        except BaseException:
            self._abandon()
            raise

    def close(self) -> None:
        """Release the connection; what was not read is recorded as abandoned."""
        self._abandon()
        self._inner.close()

    def _abandon(self) -> None:
        """Record on a thread of its own: the garbage collector may be calling, amid an append."""
        if self._attempt.is_closed or sys.is_finalizing():
            return  # A thread that is started at the end of the interpreter may never run.
        worker = threading.Thread(target=self._attempt.lose, args=("abandoned",))
        try:
            worker.start()
        except RuntimeError:  # There is no thread to be had.
            self._attempt.lose("abandoned")
        else:
            worker.join(_PATIENCE)


class AsyncRecordedTransport(httpx2.AsyncBaseTransport):
    """Sends requests through another transport and records what crosses it."""

    def __init__(
        self, inner: httpx2.AsyncBaseTransport, origin: httpx2.AsyncClient, turns: Turns
    ) -> None:
        """Wrap a transport of a client, which is kept alive: its end would close the transport."""
        self.inner = inner
        self.origin = origin
        self.turns = turns

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Record the request, send it, and return a response that is recorded as it is read."""
        _must_be_open(self.origin)
        bound = self.turns.binding.of(request.headers)
        if not _is_recorded(request):
            return await self.inner.handle_async_request(request)
        body = await request.aread()
        opening = partial(_open, self.turns, bound, request, body)
        attempt = await loop_threads.opened(opening)
        if attempt is None:
            return await self.inner.handle_async_request(request)
        try:
            response = await self.inner.handle_async_request(request)
        except BaseException as exc:
            await loop_threads.done(partial(attempt.fail, exc))
            raise
        loaded = _loaded(response)
        if loaded is not None:
            await loop_threads.done(partial(_read_whole, attempt, response, loaded))
        else:
            attempt.answered(response.status_code, response.headers)
            inner = cast("httpx2.AsyncByteStream", response.stream)
            response.stream = AsyncRecordedStream(inner, attempt)
        return response

    async def aclose(self) -> None:
        """Close the client that the transport belongs to, as closing any client that shares it."""
        await self.origin.aclose()


class AsyncRecordedStream(httpx2.AsyncByteStream):
    """The body of a response; each chunk passes on as it comes, the last one when it is durable."""

    def __init__(self, inner: httpx2.AsyncByteStream, attempt: Attempt) -> None:
        """Read a body for its caller and for the record."""
        _OPEN[attempt] = os.getpid()
        self._inner = inner
        self._attempt = attempt

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the chunks of the body, unchanged."""
        attempt = self._attempt
        held: bytes | None = None
        try:
            async for chunk in self._inner:
                if held is not None:
                    yield held
                is_last = attempt.feed(chunk)
                # The end of a body that does not say it is known only when nothing follows.
                held = None if attempt.is_stream else chunk
                if is_last:
                    await loop_threads.done(attempt.finish)
                if held is None:
                    yield chunk
            await self._finish()
            if held is not None:
                yield held
        except Exception:
            await self._lose("cut")
            raise
        except BaseException:
            await self._lose("abandoned")
            raise

    async def aclose(self) -> None:
        """Release the connection; what was not read is recorded as abandoned."""
        await self._lose("abandoned")
        await self._inner.aclose()

    async def _finish(self) -> None:
        if not self._attempt.is_closed:
            await loop_threads.done(self._attempt.finish)

    async def _lose(self, loss: Loss) -> None:
        if not self._attempt.is_closed:
            await loop_threads.done(partial(self._attempt.lose, loss))


@atexit.register
def _abandon_all() -> None:
    """Record what is still open as abandoned, while the interpreter can: nobody will read on."""
    while _OPEN:
        attempt, process = _OPEN.popitem()
        if process == os.getpid():  # What was open before a fork is the parent's.
            attempt.lose("abandoned")


def _is_recorded(request: httpx2.Request) -> bool:
    method, path = request.method, request.url.path
    return is_turn(method, path, request.extensions) or reads_answer(method, path)


def _open(turns: Turns, bound: Bound, request: httpx2.Request, body: bytes) -> Attempt | None:
    target = request.url.raw_path.decode("ascii")
    if reads_answer(request.method, request.url.path):
        return turns.reading(bound, request.url.path, target, request.headers)
    return turns.open(bound, request.url.path, target, request.headers, body, request.extensions)


def _loaded(response: httpx2.Response) -> bytes | None:
    """Return a body that a transport (a cache, a stand-in) made whole; None where it is to come."""
    try:
        return response.content
    except RuntimeError:  # ResponseNotRead, of httpx2 or of httpx.
        return None


def _read_whole(attempt: Attempt, response: httpx2.Response, body: bytes) -> None:
    """Read a body that is unpacked already."""
    headers = {name: value for name, value in response.headers.items() if name != _PACKED}
    attempt.answered(response.status_code, headers)
    attempt.feed(body)
    attempt.finish()


def _must_be_open(client: httpx2.Client | httpx2.AsyncClient) -> None:
    if client.is_closed:
        raise RuntimeError("Cannot send a request, as the client has been closed.")
