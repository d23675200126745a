"""A Redis that may be slow, full, flushed or gone: it is asked briefly, and nobody depends on it."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, TypeAlias, cast
from weakref import WeakSet

import redis
import redis.connection
from redis.backoff import NoBackoff
from redis.retry import Retry

from onrecord.adapters.storage.interrupts import begin_anew_in_children
from onrecord.adapters.storage.steps import beside_loop
from onrecord.domain.errors import InvalidInput

# Whether a Redis that failed is to be asked again: not by everyone, and not at once.

logger = logging.getLogger("onrecord")

BACK_OFF: Final = 5.0
"""Seconds for which a Redis that failed is left alone: what asking it may cost is then rare.

And for which it has to answer until it is said to be back: one that is full, or may only be read,
does some of what it is asked."""


class Breaker:
    """Lets nobody ask a Redis that failed, but one caller every BACK_OFF seconds, to see.

    Where that one is answered, the others may ask again. Safe to share between threads. Says so in
    the log once when it fails, once when it is back.
    """

    def __init__(self, shown: str) -> None:
        """Guard the Redis of that URL, which is shown."""
        self._shown = shown
        self._lock = threading.Lock()
        self._has_failed = False
        self._rests_until = 0.0
        self._answers_since: float | None = None
        _breakers.add(self)

    def lets_ask(self) -> bool:
        """Whether the caller may ask; then it is to say what became of it."""
        if not self._has_failed or self._answers_since is not None:
            return True
        with self._lock:
            now = time.monotonic()
            if now < self._rests_until:
                return False
            self._rests_until = now + BACK_OFF
            return True

    def answered(self) -> None:
        """Take note that it answered."""
        if self._has_failed and self._is_back():
            logger.warning("Redis at %s answers again", self._shown)

    def failed(self, error: Exception) -> None:
        """Take note that it did not do what it was asked."""
        if self._fails_first():
            logger.warning(
                "Redis at %s is of no use now (%s: %s): going on without it",
                *(self._shown, type(error).__name__, error),
            )

    def begin_anew(self) -> None:
        """Forget the parent's threads, one of which may have held the lock."""
        self._lock = threading.Lock()

    def _is_back(self) -> bool:
        with self._lock:
            now = time.monotonic()
            since = self._answers_since = self._answers_since or now
            is_back = self._has_failed and now - since >= BACK_OFF
            self._has_failed = self._has_failed and not is_back
            return is_back

    def _fails_first(self) -> bool:
        with self._lock:
            was_well, self._has_failed = not self._has_failed, True
            self._answers_since = None
            self._rests_until = time.monotonic() + BACK_OFF
            return was_well


_breakers: Final[WeakSet[Breaker]] = WeakSet()
begin_anew_in_children(_breakers)


Command: TypeAlias = tuple[str | bytes | int, ...]
"""A command of Redis, word by word."""

CONNECT_SECONDS: Final = 0.2
"""How long a connection may take; within a data centre it takes a millisecond."""

ANSWER_SECONDS: Final = 0.2
"""How long an answer may take; where rendering or the log itself is quicker, Redis is of no use."""

PATIENT_SECONDS: Final = 0.25
"""How long a patient question may wait at the server for something to happen."""

_TAKEN: Final = frozenset({"host", "port", "path", "db", "username", "password", "client_name"})
"""What a URL says of where a Redis is and who asks; how it is asked is said here alone."""

_AMBIGUOUS: Final = re.compile(r"[^#]*#|rediss?://[^/?]*[/?].*@|unix://[^/?]+[/?].*@")
"""A URL of which the driver may take a part of the password for the host, the port or the path."""

_UNCOUNTED: Final = 1 << 31

FAILURES: Final = (
    *(redis.RedisError, OSError),
    *(ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError),
)
"""What a Redis does that is of no use: refuses, is silent, breaks off, is full, is another's.

The second line is what the driver raises where something else answers than a Redis."""


class Connection:
    """The connections of one process to a Redis. Safe for threads; a forked child has its own.

    `shown` is its URL without a password.
    """

    def __init__(self, url: str) -> None:
        """Connect when it is first asked; InvalidInput where the URL is none of a Redis."""
        self._url = url
        self.closed = False
        self._inherited: list[object] = []
        self._begin()
        self.shown = _shown(url, self._quick)
        self.breaker = Breaker(self.shown)
        _all.add(self)

    def ask(
        self,
        *commands: Command,
        insists: bool = False,
        is_patient: bool = False,
        may_be_refused: bool = False,
    ) -> list[Any] | None:
        """Return the answers to commands, done all or none; None if the Redis is of no use now.

        It never raises for what the Redis does. One that failed is left alone for a while, unless
        the caller `insists`. A patient command waits at the server, up to PATIENT_SECONDS; others
        before it are done by then. A command that the Redis refuses is a failure, or an answer where it `may_be_refused`.
        """
        if self.closed or not (insists or self.breaker.lets_ask()):
            return None
        return beside_loop(
            partial(self._ask, commands, is_patient=is_patient, may_be_refused=may_be_refused)
        )

    def _ask(
        self, commands: tuple[Command, ...], *, is_patient: bool, may_be_refused: bool
    ) -> list[Any] | None:
        client = self._patient if is_patient else self._quick
        try:
            answers = _answers(
                client, commands, is_patient=is_patient, may_be_refused=may_be_refused
            )
        except FAILURES as error:
            if not self.closed:
                self.breaker.failed(error)
            return None
        finally:
            # `close` left to its user what was in use: it lies in the pool only now.
            if self.closed:
                self._disconnect()
        self.breaker.answered()
        return answers

    @contextmanager
    def listening(self) -> Generator[Any]:
        """Yield what subscribes to channels, on a connection of its own; its errors are FAILURES."""
        client = client_of(self._url, PATIENT_SECONDS + 4 * ANSWER_SECONDS)
        with client.connection_pool, client.pubsub() as ear:
            yield ear

    def close(self) -> None:
        """Let go of the connections; from then on nothing is asked."""
        self.closed = True
        self._disconnect()

    def begin_anew(self) -> None:
        """Leave the connections to the process that opened them: what a forked child does first.

        The driver would see to it, but waits for locks that a thread of the parent may have held.
        """
        self._inherited += (self._quick, self._patient)
        self._begin()

    def _disconnect(self) -> None:
        """Close the connections that nobody uses at the moment."""
        for client in (self._quick, self._patient):
            client.connection_pool.disconnect(inuse_connections=False)

    def _begin(self) -> None:
        self._quick = client_of(self._url, ANSWER_SECONDS)
        # Longer by as much as an answer may take, and some: it answers late, not never.
        self._patient = client_of(self._url, PATIENT_SECONDS + 4 * ANSWER_SECONDS)


_all: Final[WeakSet[Connection]] = WeakSet()
begin_anew_in_children(_all)


def client_of(url: str, seconds: float) -> Any:
    """Return a client that waits so long for an answer; its own type hints leave most unknown.

    Of the URL it takes where the Redis is, who asks, and what TLS needs. InvalidInput where the URL
    is none of a Redis.
    """
    if _AMBIGUOUS.match(url):
        raise InvalidInput(
            "the URL of the Redis is ambiguous: write %23 for a #, %2F for a /, %3F for a ? and %40 "
            "for an @ in a user's name, a password or an option"
        )
    try:
        place = _place(url)
        pool = redis.ConnectionPool(
            **place,
            socket_connect_timeout=CONNECT_SECONDS,
            socket_timeout=seconds,
            # The driver would try ten times, and wait in between.
            retry=Retry(NoBackoff(), 0),
            # Each thread has one at most: where the driver would count them, one too many fails.
            max_connections=_UNCOUNTED,
            # The driver gives answers of the other one another shape.
            protocol=2,
        )
        # It connects to nothing, but finds out whether it could.
        cast("Any", pool).connection_class(**cast("Any", pool).connection_kwargs)
    except (ValueError, TypeError, redis.RedisError):
        # Not chained: the driver may repeat the part that it did not understand.
        raise InvalidInput(
            "the URL of the Redis is not understood: write redis://user:password@host:6379/0, "
            "rediss:// for TLS, or unix:///path/to/redis.sock, of one server: neither Sentinel nor "
            "Cluster is supported"
        ) from None
    return redis.Redis(connection_pool=pool)


def _place(url: str) -> dict[str, Any]:
    """Return what the driver takes of a URL; ValueError for what names no host."""
    if not url.isprintable():
        raise ValueError("no name of a host")
    parsed: dict[str, Any] = cast("Any", redis.connection).parse_url(url)
    parsed.get("host", "").encode("idna")
    kind = parsed.get("connection_class")
    taken = {name: parsed[name] for name in parsed if name in _TAKEN or name.startswith("ssl_")}
    return taken | ({"connection_class": kind} if isinstance(kind, type) else {})


def _answers(
    client: Any, commands: tuple[Command, ...], *, is_patient: bool, may_be_refused: bool
) -> list[Any]:
    # All or none: what is kept always has its time to go. In a transaction nothing can wait.
    with client.pipeline(transaction=len(commands) > 1 and not is_patient) as pipeline:
        for command in commands:
            pipeline.execute_command(*command)
        return cast("list[Any]", pipeline.execute(raise_on_error=not may_be_refused))


def _shown(url: str, client: Any) -> str:
    place = client.connection_pool.connection_kwargs
    scheme = url.partition(":")[0]
    if scheme == "unix":
        return f"unix://{place.get('path', '')}"
    return f"{scheme}://{place.get('host', 'localhost')}:{place.get('port', 6379)}/{place.get('db', 0)}"
