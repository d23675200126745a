"""Requests to a service, and their answers: pooled, waited for by threads, repeated where that is safe.

A coroutine's step waits for such a thread (`adapters/storage/steps.py`), so one transport serves
both faces.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from ssl import SSLCertVerificationError
from typing import IO, Any, Final, TypeVar
from urllib.parse import urlencode
from weakref import WeakSet

import urllib3
from pydantic import BaseModel, ValidationError
from urllib3.exceptions import HTTPError, SSLError
from urllib3.util import Timeout

from onrecord.adapters.storage.http.answers import Trouble, trouble_of, unreadable
from onrecord.adapters.storage.http.bounded_answers import (
    ANSWER_SECONDS,
    Allowance,
    allowing,
    bounded_pool,
)
from onrecord.adapters.storage.interrupts import begin_anew_in_children
from onrecord.adapters.storage.steps import CLOSED, is_driven, wait_for
from onrecord.domain.errors import StorageUnavailable

T = TypeVar("T")
FormT = TypeVar("FormT", bound=BaseModel)

THREADS: Final = 64
"""How many coroutines' requests are under way at once; those of threads need no other thread."""

_TAILS: Final = 1_000
"""How many coroutines' subscriptions wait at once: no other request waits behind them."""

PATIENCE_SECONDS: Final = 15.0
"""How long a request is repeated that got no answer."""

MOST_BYTES: Final = 128 << 20
"""Of an answer: the largest append that a service takes comes back in less."""

MOST_LISTED: Final = 1 << 30
"""Of an answer that grows with what a tenant has."""

_MOST_OF_PROBLEM: Final = 1 << 20

_CONNECT_SECONDS: Final = 5.0

_TOO_LARGE: Final = "what answers at this URL sends more than a service does: check the URL, and what stands between"
_UNTRUSTED: Final = (
    "the service's certificate is not trusted: check the host in the URL, or name the file of your "
    "own authority in SSL_CERT_FILE"
)

_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 2.0
_CHUNK: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Ask:
    """A request: `body` is a form, or a file that is read from its beginning.

    `is_tail` says that the service waits with its answer until something follows. `most` are the bytes
    that its answer may have.
    """

    method: str
    path: str
    query: Mapping[str, Any] | None = None
    body: BaseModel | IO[bytes] | None = None
    tenant: str | None = None
    is_tail: bool = False
    most: int = MOST_BYTES

    def target(self) -> str:
        """Return the path with its query; what is None is left out."""
        given = {name: value for name, value in (self.query or {}).items() if value is not None}
        return self.path + ("?" + urlencode(given) if given else "")


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer: its body, and whether the request may have been carried out before as well."""

    data: bytes
    is_repeated: bool


class Transport:
    """The way to one service. Safe for threads; a forked child has connections of its own."""

    def __init__(self, base: str, key: str | None, patience: float = PATIENCE_SECONDS) -> None:
        """Ask the service at an URL, with a key."""
        self.base: Final = base
        self._patience = patience
        self._headers = {"accept-encoding": "identity", "user-agent": "onrecord"}
        if key is not None:
            self._headers["authorization"] = f"Bearer {key}"
        self._closed = False
        self.begin_anew()
        _ALL.add(self)

    def __repr__(self) -> str:
        """Say where the service is; the key is not shown."""
        return f"Transport({self.base!r})"

    def begin_anew(self) -> None:
        """Leave connections and threads to the parent: what a forked child does first."""
        self._pool = bounded_pool(THREADS + _TAILS)
        self._lock = threading.Lock()
        self._threads: dict[int, ThreadPoolExecutor] = {}

    def close(self) -> None:
        """Let go of the connections; asking afterwards is an error."""
        with self._lock:
            self._closed = True
            pools = tuple(self._threads.values())
        for threads in pools:
            threads.shutdown(wait=False)
        self._pool.clear()

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self._closed

    def must_be_open(self) -> None:
        """Raise StorageUnavailable once it was closed."""
        if self._closed:
            raise StorageUnavailable(CLOSED)

    def form(self, ask: Ask, kind: type[FormT]) -> FormT:
        """Return the form that is answered; a request is repeated where its answer does not come."""
        return self.read(self.answer(ask), kind)

    def read(self, answer: Answer, kind: type[FormT]) -> FormT:
        """Return the form that an answer holds."""
        try:
            return kind.model_validate_json(answer.data)
        except ValidationError:
            raise unreadable() from None

    def answer(self, ask: Ask, *, repeats: bool = True) -> Answer:
        """Return an answer, or raise the error that the service told.

        Where the connection is cut or the service has no room, it is asked again with pauses,
        unless not to be repeated; what is asked has to mean the same when it is asked twice.
        """
        most = _TAILS if ask.is_tail else THREADS
        return self.waited(partial(self._answer, ask, repeats=repeats), most)

    def stream(self, ask: Ask) -> Iterator[bytes]:
        """Yield the bytes that are answered, piece by piece; asked again, only what is missing.

        Patience begins anew where more came: a long download is not given up at its second cut.
        """
        given, counted, repeating = 0, 0, _Repeating(self._patience)
        while True:
            self.must_be_open()
            try:
                for piece in self._pieces(ask, given):
                    given += len(piece)
                    yield piece
            except Trouble as trouble:
                if given - counted >= _CHUNK:
                    counted, repeating = given, _Repeating(self._patience)
                self.waited(partial(repeating.pause, trouble))
            else:
                return

    def waited(self, work: Callable[[], T], most: int = THREADS) -> T:
        """Do work that blocks: where a loop drives the step, in one of `most` threads."""
        if not is_driven():
            return work()
        from asyncio import wrap_future

        run: Callable[[], T] = partial(copy_context().run, work)
        return wait_for(wrap_future(self._executor(most).submit(run)))

    def _executor(self, most: int) -> ThreadPoolExecutor:
        with self._lock:
            self.must_be_open()
            if most not in self._threads:
                self._threads[most] = ThreadPoolExecutor(most, "onrecord-http")
            return self._threads[most]

    def _answer(self, ask: Ask, *, repeats: bool) -> Answer:
        repeating, is_repeated = _Repeating(self._patience if repeats else 0), False
        while True:
            self.must_be_open()
            try:
                return Answer(self._once(ask), is_repeated)
            except Trouble as trouble:
                repeating.pause(trouble)
                is_repeated = is_repeated or trouble.may_be_done

    def _once(self, ask: Ask) -> bytes:
        return self._sent(ask).whole()

    def _pieces(self, ask: Ask, given: int) -> Iterator[bytes]:
        answered = self.waited(partial(self._sent, ask))
        try:
            while piece := self.waited(answered.piece):
                skipped, given = piece[given:], max(0, given - len(piece))
                if skipped:
                    yield skipped
        finally:
            answered.response.close()

    def _sent(self, ask: Ask) -> _Answered:
        """Return the answer of success that begins; Trouble where it is none."""
        with allowing(ask.most) as allowance:
            try:
                answered = _Answered(self._send(ask), allowance)
            except HTTPError as error:
                raise _cut(error, allowance) from None
        answered.must_be_told()
        return answered

    def _send(self, ask: Ask) -> urllib3.BaseHTTPResponse:
        headers, body = dict(self._headers), ask.body
        if ask.tenant is not None:
            headers["onrecord-tenant"] = ask.tenant
        data: bytes | IO[bytes] | None = None
        if isinstance(body, BaseModel):
            headers["content-type"] = "application/json"
            data = body.__pydantic_serializer__.to_json(body)
        elif body is not None:
            headers["content-type"] = "application/octet-stream"
            headers["content-length"] = str(body.seek(0, 2))
            body.seek(0)
            data = body
        return self._pool.request(
            ask.method,
            self.base + ask.target(),
            body=data,
            headers=headers,
            redirect=False,
            preload_content=False,
            decode_content=False,
            timeout=Timeout(connect=_CONNECT_SECONDS, read=ANSWER_SECONDS),
        )


class _Answered:
    """An answer whose head came, and whose body comes within an allowance."""

    def __init__(self, response: urllib3.BaseHTTPResponse, allowance: Allowance) -> None:
        self.response = response
        self._allowance = allowance

    def must_be_told(self) -> None:
        """Raise Trouble where the answer is none of success, or cannot be read."""
        if not _tells_its_end(self.response):
            self.response.close()
            raise Trouble(unreadable(), pause=0.0, may_be_done=True)
        if self.response.headers.get("content-encoding", "identity").lower() != "identity":
            # No coding was asked for.
            self.response.close()
            raise Trouble(unreadable(), pause=None, may_be_done=True)
        if self.response.status >= 300:
            raise trouble_of(self.response.status, self.response.headers, self._problem())

    def whole(self) -> bytes:
        """Return the body."""
        return b"".join(iter(self.piece, b""))

    def piece(self) -> bytes:
        """Return what comes next of the body; nothing at its end."""
        try:
            return self.response.read(_CHUNK)
        except HTTPError as error:
            raise _cut(error, self._allowance) from None
        except ValueError:
            # A chunk of a length below zero.
            self.response.close()
            raise Trouble(unreadable(), pause=None, may_be_done=True) from None

    def _problem(self) -> bytes:
        """Return the body; nothing where it is larger than that of any problem."""
        body = b""
        while piece := self.piece():
            body += piece
            if len(body) > _MOST_OF_PROBLEM:
                self.response.close()
                return b""
        return body


def _tells_its_end(response: urllib3.BaseHTTPResponse) -> bool:
    """Whether a body that is cut can be told from a whole one.

    Python takes headers that are cut for whole ones, a length without digits too, and then a body of
    any length is one.
    """
    coding = response.headers.get("transfer-encoding", "")
    return response.headers.get("content-length", "").isdecimal() or coding.lower() == "chunked"


def _cut(error: HTTPError, allowance: Allowance) -> Trouble:
    """Return the trouble of a connection; what was not sent was not done either."""
    if allowance.is_exceeded:
        return Trouble(StorageUnavailable(_TOO_LARGE), pause=None, may_be_done=True)
    if isinstance(error, SSLError) and isinstance(error.args[0], SSLCertVerificationError):
        return Trouble(StorageUnavailable(_UNTRUSTED), pause=None, may_be_done=False)
    is_unsent = isinstance(
        error, urllib3.exceptions.NewConnectionError | urllib3.exceptions.ConnectTimeoutError
    )
    # The message of the error holds the URL, and an address: its kind is enough.
    why = f"the service cannot be reached ({type(error).__name__}): check the URL and that it is up"
    return Trouble(StorageUnavailable(why), pause=0.0, may_be_done=not is_unsent)


class _Repeating:
    """The pauses between the repetitions of one request, until patience ends.

    It begins with the first trouble: an answer that was waited for in vain is asked for again.
    """

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._ends: float | None = None
        self._next = _FIRST_PAUSE

    def pause(self, trouble: Trouble) -> None:
        """Wait before it is asked again; raise the error where it is not."""
        if trouble.pause is None or not self._patience:
            raise trouble.error
        if self._ends is None:
            self._ends = time.monotonic() + self._patience
        # At random, so that many clients of a service that comes back do not come at once.
        seconds = max(trouble.pause, self._next * random.uniform(0.5, 1.0))
        if time.monotonic() + seconds > self._ends:
            raise trouble.error
        self._next = min(2 * self._next, _LONGEST_PAUSE)
        time.sleep(seconds)


_ALL: Final[WeakSet[Transport]] = WeakSet()
begin_anew_in_children(_ALL)
