"""Transports that record: each hands every request to the one it wraps, and gives a recorded body.

Pools, proxies, limits and certificates are those of the wrapped one. What comes back is read beside
the caller, chunk by chunk. For httpx2, and for httpx, the older package of which that goes on: both
are alike in all that is used here, but each wants transports and bodies of its own kind.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Callable, Iterator
from functools import cache, partial, wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, cast
from weakref import WeakKeyDictionary

from onrecord.adapters.recording.tenancy import HEADER
from onrecord.adapters.wire.bodies.attempt import AnswerRecorder
from onrecord.adapters.wire.clients import unrecorded
from onrecord.adapters.wire.clients.binding import CallBinding
from onrecord.adapters.wire.clients.exchange_recorder import ExchangeRecorder
from onrecord.adapters.wire.clients.sending import Sending, extensions_of_call
from onrecord.adapters.wire.forms import is_of_batch, is_passing

if TYPE_CHECKING:
    import httpx2

    from onrecord.adapters.wire.clients.recorded_async import AsyncChunkStream


# The body of a response, recorded as its caller reads it.
#
# Chunks pass on untouched as they come; the one that ends the response is handed on when that is
# durable.

_PATIENCE: Final = 5.0
_OPEN: Final[WeakKeyDictionary[AnswerRecorder, int]] = WeakKeyDictionary()
"""The recorders whose bodies somebody may still read, each with the process that made it."""


class ChunkStream(Protocol):
    """What comes over the wire, chunk by chunk."""

    def __iter__(self) -> Iterator[bytes]:
        """Yield the chunks."""
        ...

    def close(self) -> None:
        """Release the connection."""
        ...


class RecordedBody:
    """A body that is recorded while it is read."""

    def __init__(self, inner: ChunkStream, recorder: AnswerRecorder) -> None:
        """Read a body for its caller and for the record."""
        keep_open(recorder)
        self._inner = inner
        self._recorder = recorder

    def __iter__(self) -> Iterator[bytes]:
        """Yield the chunks of the body, unchanged."""
        recorder = self._recorder
        pending = PendingChunks()
        try:
            for chunk in self._inner:
                if recorder.feed(chunk):
                    recorder.finish()
                recorder.write_out()
                yield from pending.take(chunk, recorder.endings)
            recorder.finish()
            yield from pending.rest()
        except Exception:
            recorder.lose("cut")
            yield from pending.rest()
            raise
        except BaseException:
            abandon(recorder)
            raise

    def close(self) -> None:
        """Release the connection; what was not read is recorded as abandoned."""
        abandon(self._recorder)
        self._inner.close()


_HELD_AT_MOST: Final = 1024**2
"""How many bytes may follow where all may have come, until they go on: usage and an end are short."""


class PendingChunks:
    """The chunks that are not handed on yet, because all may have come with them.

    The end of a body that does not say it is known only when nothing follows. What came since the
    last time that all may have come is held; what came before goes on. So does all of it where it is
    more than any end is.
    """

    __slots__ = ("_chunks", "_endings", "_size")

    def __init__(self) -> None:
        """Hold nothing."""
        self._chunks: list[bytes] = []
        self._endings = self._size = 0

    def take(self, chunk: bytes, endings: int) -> list[bytes]:
        """Take a chunk, and how often all may have come by now; return the chunks that go on."""
        is_new, self._endings = endings != self._endings, endings
        if not endings:
            return [*self.rest(), chunk]
        if self._size + len(chunk) > _HELD_AT_MOST and not is_new:
            return [*self.rest(), chunk]
        ready = self.rest() if is_new else []
        self._chunks.append(chunk)
        self._size += len(chunk)
        return ready

    def rest(self) -> list[bytes]:
        """Return all that was held: nothing follows, or what is there is recorded."""
        chunks, self._chunks, self._size = self._chunks, [], 0
        return chunks


def keep_open(recorder: AnswerRecorder) -> None:
    """Take note of a recorder whose body somebody reads."""
    _OPEN[recorder] = os.getpid()


def abandon(recorder: AnswerRecorder) -> None:
    """Record what was not read of a response as abandoned, if it has not ended.

    On a thread of its own: the garbage collector may be calling, amid an append.
    """
    if recorder.is_closed or sys.is_finalizing():
        return  # A thread that is started at the end of the interpreter may never run.
    worker = threading.Thread(target=recorder.lose, args=("abandoned",))
    try:
        worker.start()
    except RuntimeError:  # There is no thread to be had.
        recorder.lose("abandoned")
    else:
        worker.join(_PATIENCE)


@atexit.register
def _abandon_all() -> None:
    """Record what is still open as abandoned, while the interpreter can: nobody will read on."""
    while _OPEN:
        recorder, process = _OPEN.popitem()
        if process == os.getpid():  # What was open before a fork is the parent's.
            recorder.lose("abandoned")


# The transports.

_PACKED: Final = "content-encoding"
_LENGTH: Final = "content-length"


@cache
def transports_of(package: str) -> tuple[type[Any], type[Any]]:
    """Return the transports that record for clients of `httpx2` or `httpx`: sync, and async."""
    from onrecord.adapters.wire.clients.recorded_async import AsyncRecordedBody

    kinds = import_module(package)
    body = type("RecordedStream", (RecordedBody, kinds.SyncByteStream), {})
    async_body = type("AsyncRecordedStream", (AsyncRecordedBody, kinds.AsyncByteStream), {})
    return (
        type("RecordedTransport", (_Recorded, kinds.BaseTransport), {"body": body}),
        type(
            "AsyncRecordedTransport",
            (_AsyncRecorded, kinds.AsyncBaseTransport),
            {"body": async_body},
        ),
    )


class _Wrapper:
    """Has requests recorded that go through another transport."""

    body: ClassVar[type[Any]]

    def __init__(self, inner: Any, origin: Any, exchanges: ExchangeRecorder) -> None:
        """Wrap a transport of a client, which is kept alive: its end would close the transport."""
        self.inner = inner
        self.origin = origin
        self.exchanges = exchanges

    def _begun(self, request: httpx2.Request) -> tuple[CallBinding, Sending] | None:
        """Return what binds a request, and the request; None where nothing is recorded of it."""
        if self.origin.is_closed:
            raise RuntimeError("Cannot send a request, as the client has been closed.")
        header = request.extensions.get(HEADER)
        bound = self.exchanges.binding.of(request.headers, header)
        sending = _sending(request)
        if _is_recorded(sending, request):
            return bound, sending
        unrecorded.say(sending.method, sending.path)
        return None


class _Recorded(_Wrapper):
    """Sends requests through another transport and records what crosses it."""

    inner: httpx2.BaseTransport

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Record the request, send it, and return a response that is recorded as it is read."""
        recorded = self._begun(request)
        if recorded is None:
            return self.inner.handle_request(request)
        bound, sending = recorded
        own_body = request.read()
        body = self.exchanges.spliced(bound, sending, own_body)
        recorder = self.exchanges.attempt(bound, sending, body)
        request = request if body is own_body else _with_body(request, body)
        if recorder is None:
            return self.inner.handle_request(request)
        try:
            response = self.inner.handle_request(request)
        except BaseException as exc:
            recorder.fail(exc)
            raise
        loaded = _loaded(response)
        if loaded is not None:
            _read_whole(recorder, response, loaded)
        else:
            recorder.answered(response.status_code, response.headers)
            response.stream = self.body(cast("ChunkStream", response.stream), recorder)
        return response

    def close(self) -> None:
        """Close the client that the transport belongs to, as closing any client that shares it."""
        self.origin.close()


class _AsyncRecorded(_Wrapper):
    """Sends requests through another transport and records what crosses it."""

    inner: httpx2.AsyncBaseTransport

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Record the request, send it, and return a response that is recorded as it is read."""
        from onrecord.adapters.wire.clients import recorded_async

        recorded = self._begun(request)
        if recorded is None:
            return await self.inner.handle_async_request(request)
        bound, sending = recorded
        own_body = await request.aread()
        body = own_body
        if self.exchanges.binding.splice:
            body = await recorded_async.result_of(
                partial(self.exchanges.spliced, bound, sending, own_body)
            )
        recorder = await recorded_async.opened(
            partial(self.exchanges.attempt, bound, sending, body)
        )
        request = request if body is own_body else _with_body(request, body)
        if recorder is None:
            return await self.inner.handle_async_request(request)
        try:
            response = await self.inner.handle_async_request(request)
        except BaseException as exc:
            await recorded_async.done(partial(recorder.fail, exc))
            raise
        loaded = _loaded(response)
        if loaded is not None:
            await recorded_async.done(partial(_read_whole, recorder, response, loaded))
        else:
            recorder.answered(response.status_code, response.headers)
            response.stream = self.body(cast("AsyncChunkStream", response.stream), recorder)
        return response

    async def aclose(self) -> None:
        """Close the client that the transport belongs to, as closing any client that shares it."""
        await self.origin.aclose()


def building_without_binding(
    build: Callable[..., httpx2.Request],
) -> Callable[..., httpx2.Request]:
    """Return what builds requests and takes our header out of them, before anybody signs them."""

    @wraps(build)
    def built(*args: Any, **kwargs: Any) -> httpx2.Request:
        request = build(*args, **kwargs)
        header = request.headers.pop(HEADER, None)
        if header is not None:
            request.extensions = {**request.extensions, HEADER: header}
        return request

    return built


def _sending(request: httpx2.Request) -> Sending:
    target = request.url.raw_path.decode("ascii")
    extensions = extensions_of_call(request.extensions)
    # Once for all: each look at a header of httpx goes through all of them.
    return Sending(request.method, target, dict(request.headers.items()), extensions)


def _is_recorded(sending: Sending, request: httpx2.Request) -> bool:
    """Whether something is recorded of a request; of uploads it has to be looked at, unread."""
    if sending.kind == "upload":
        if is_passing(request.headers, request.stream):
            unrecorded.say_passing_upload()
        return is_of_batch(request.headers, request.stream)
    return sending.is_recorded


def _with_body(request: httpx2.Request, body: bytes) -> httpx2.Request:
    """Return a request with another body, which says its own length."""
    headers = [(k, v) for k, v in request.headers.multi_items() if k.lower() != _LENGTH]
    return type(request)(
        request.method, request.url, headers=headers, content=body, extensions=request.extensions
    )


def _loaded(response: httpx2.Response) -> bytes | None:
    """Return a body that a transport (a cache, a stand-in) made whole; None where it is to come."""
    try:
        return response.content
    except RuntimeError:  # ResponseNotRead, of httpx2 or of httpx.
        return None


def _read_whole(recorder: AnswerRecorder, response: httpx2.Response, body: bytes) -> None:
    """Read a body that is unpacked already."""
    headers = {name: value for name, value in response.headers.items() if name != _PACKED}
    recorder.answered(response.status_code, headers)
    recorder.feed(body)
    recorder.finish()
