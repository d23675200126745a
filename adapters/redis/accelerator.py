"""What a store has of a Redis: tails, and what an erasure takes out of them."""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Final
from uuid import UUID

from onrecord.adapters.redis.connection import BACK_OFF, FAILURES, PATIENT_SECONDS, Connection
from onrecord.adapters.redis.relay import KEPT_SECONDS, Relay
from onrecord.adapters.redis.tails import Followed, Tail, TailSubscription, tail_key
from onrecord.adapters.storage.subscription import HintSender
from onrecord.domain.log import Cursor, Subscription

logger = logging.getLogger("onrecord")


class Accelerator:
    """A Redis beside a log. Safe to share between threads."""

    def __init__(self, connection: Connection, backend: Followed) -> None:
        """Put a Redis beside a backend."""
        self._connection = connection
        self._backend = backend

    def relay(self) -> Relay:
        """Return a relay of the log, which is to be run."""
        return Relay(self._connection, self._backend)

    def subscribe(self, after: Cursor, tenant: UUID | None) -> Subscription:
        """Return a tenant's events after a cursor, those to come included; StaleCursor as the log.

        Tails hold the events of all tenants: a role that is bound to one follows the log itself.
        """
        prove = self._backend.prover(None)
        if prove is None:
            return self._backend.subscribe(after, tenant)
        self._backend.read_log(after, 1)
        tail = Tail(self._connection, prove, after.incarnation, after.shard)
        return TailSubscription(tail, self._backend, after, tenant)

    def forget(self, conversation_id: UUID) -> None:
        """Delete the tail of the shard that a conversation is in, which the log has forgotten.

        Readers take the same from the log, and there it is erased.
        """
        first = next(self._backend.read(conversation_id, limit=1), None)
        if first is None:
            return
        tail = tail_key(self._backend.incarnation(), first.shard)
        answers = self._connection.ask(("XTRIM", tail, "MAXLEN", 0), insists=True)
        if answers is None:
            logger.warning(
                "Redis at %s could not be told of an erasure: what it keeps of the conversation "
                "goes within %d minutes; FLUSHALL takes it away at once",
                self._connection.shown,
                KEPT_SECONDS // 60,
            )

    def close(self) -> None:
        """Let go of the connections, once the backend has told its last hints."""
        self._connection.close()


# Hints by Redis's PUBLISH, in a channel of the log's: who misses one finds out by polling.

_IN_TIME: Final = 1.0
"""Seconds in which who listens has ended, but for a network that holds it up."""


class RedisHints(HintSender):
    """Hints between the processes that use one log and one Redis."""

    def __init__(self, connection: Connection, incarnation: Callable[[], UUID]) -> None:
        """Tell and listen at a Redis; `incarnation` is the log's, asked for when it is needed."""
        super().__init__(self._publish)
        self._connection = connection
        self._incarnation = incarnation
        # Which hints are this process's own: it has no need to hear them.
        self._name = secrets.token_hex(8).encode()

    @contextmanager
    def listen(self, heard: Callable[[], None]) -> Generator[None]:
        """Call `heard` for each hint of others while the scope lasts."""
        ended = threading.Event()
        ear = threading.Thread(
            target=self._listen, args=(heard, ended), name="onrecord-listen", daemon=True
        )
        ear.start()
        try:
            yield
        finally:
            ended.set()
            # It may be looking for the server by its name; then it ends by itself when that is over.
            ear.join(_IN_TIME)

    def _publish(self) -> bool:
        answers = self._connection.ask(("PUBLISH", self._channel(), self._name))
        return answers is not None and bool(answers[0])

    def _listen(self, heard: Callable[[], None], ended: threading.Event) -> None:
        while not ended.is_set():
            try:
                with self._connection.listening() as ear:
                    self._hear(ear, heard, ended)
            except FAILURES as error:
                self._connection.breaker.failed(error)
                ended.wait(BACK_OFF)

    def _hear(self, ear: Any, heard: Callable[[], None], ended: threading.Event) -> None:
        channel = self._channel()
        ear.subscribe(channel)
        # A log that was restored has another incarnation, hence another channel.
        while not ended.is_set() and channel == self._channel():
            message = ear.get_message(timeout=PATIENT_SECONDS)
            match message:
                case {"type": "subscribe"}:
                    heard()
                case {"type": "message", "data": bytes() as name} if name != self._name:
                    heard()
                case _:
                    pass

    def _channel(self) -> str:
        return f"onrecord:{self._incarnation()}:appended"
