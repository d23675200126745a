"""What a store has of a Redis: hot windows, tails, and what an erasure takes out of both."""

from __future__ import annotations

import logging
from uuid import UUID

from onrecord.adapters.redis.connection import Connection
from onrecord.adapters.redis.hot_windows import KEPT_SECONDS, HotWindows, window_key
from onrecord.adapters.redis.relay import Relay
from onrecord.adapters.redis.tail_entries import tail_key
from onrecord.adapters.redis.tails import Followed, Tail, TailSubscription
from onrecord.domain.log import Cursor, Subscription

logger = logging.getLogger("onrecord")


class Accelerator:
    """A Redis beside a log. Safe to share between threads."""

    def __init__(self, connection: Connection, backend: Followed) -> None:
        """Put a Redis beside a backend."""
        self._connection = connection
        self._backend = backend

    def windows(self, tenant: UUID) -> HotWindows:
        """Return the hot windows of a tenant."""
        return HotWindows(self._connection, self._backend, tenant)

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
        """Delete what is kept of a conversation that the log has forgotten.

        Of its shard's tail all goes: readers take the same from the log, and there it is erased.
        """
        incarnation = self._backend.incarnation()
        first = next(self._backend.read(conversation_id, limit=1), None)
        tails = [] if first is None else [tail_key(incarnation, first.shard)]
        answers = self._connection.ask(
            ("UNLINK", window_key(incarnation, conversation_id)),
            *(("XTRIM", tail, "MAXLEN", 0) for tail in tails),
            insists=True,
        )
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
