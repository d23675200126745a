"""`eventsourcing` on the SQLite log: PERSISTENCE_MODULE=onrecord.eventsourcing.sqlite.

The environment names the file (`ONRECORD_URL`, sqlite:///talks.db) and, if it is not the only one,
the tenant (`ONRECORD_TENANT`, a UUID): an application is a tenant of the log. Events go into the
log's own table, so what the library records can be read, audited and erased like everything else;
a notification's id is the event's position. Snapshots and tracking have tables of their own.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from uuid import UUID

from eventsourcing.persistence import Notification, StoredEvent, Tracking
from eventsourcing.utils import Environment, EnvType

from onrecord.adapters.storage.eventsourcing.factory import LogFactory
from onrecord.adapters.storage.eventsourcing.recorders import Appender, Span
from onrecord.adapters.storage.eventsourcing.stored_events import conversation_of
from onrecord.adapters.storage.sqlite.append import append_all, must_take
from onrecord.adapters.storage.sqlite.connection import Row, Session, Value
from onrecord.adapters.storage.sqlite.sqlite import Sqlite, open_sqlite
from onrecord.adapters.storage.sqlite.url import path_of
from onrecord.adapters.storage.subscription import Wakeups
from onrecord.domain.log import Append, Verdict


class _SqliteStore:
    """A log in a file, as the recorders ask for it; a transaction is a Session."""

    def __init__(self, log: Sqlite, tenant: UUID) -> None:
        self._log = log
        self._tenant = tenant
        self._file = log.file
        self.wakeups: Wakeups = log.wakeups

    def append(self, append: Append) -> Verdict:
        (verdict,) = self._log.append((append,))
        return verdict

    def digest(self, text: str) -> bytes:
        return self._log.digest(text)

    @contextmanager
    def appending(self) -> Generator[tuple[Session, Appender]]:
        with self._file.appending() as (session, end):
            yield session, partial(append_all, session, self._file.digest_key, end)

    def writing(self) -> AbstractContextManager[Session]:
        return self._file.writing()

    def keep_snapshot(self, transaction: Session, tenant: UUID, snapshot: StoredEvent) -> bool:
        place = conversation_of(snapshot.originator_id)
        must_take(transaction, tenant, place)
        row = (snapshot.originator_version, snapshot.topic, snapshot.state)
        return transaction.one("insert_snapshot", place.bytes, *row) is not None

    def keep_tracking(self, transaction: Session, name: str, tracking: Tracking) -> bool:
        reached = (tracking.application_name, tracking.notification_id)
        return transaction.one("track", self._tenant.bytes, name, *reached) is not None

    def stored_events(self, conversation_id: UUID, span: Span, *, desc: bool) -> list[Row]:
        query = "last_stored_events" if desc else "stored_events"
        return self._rows(query, conversation_id.bytes, *span)

    def snapshots(
        self, tenant: UUID, conversation_id: UUID, span: Span, *, desc: bool
    ) -> list[Row]:
        # Not by tenant: no two have the same conversation.
        query = "last_snapshots" if desc else "snapshots"
        return self._rows(query, conversation_id.bytes, *span)

    def notifications(self, tenant: UUID, span: Span, topics: Sequence[str]) -> list[Notification]:
        after, until, limit = span
        named = json.dumps(list(topics))
        rows = self._rows("notifications", tenant.bytes, after, until, named, limit)
        return [
            Notification(UUID(bytes=originator_id), version, topic, state, id=position)
            for position, originator_id, version, topic, state in rows
        ]

    def last_notification(self, tenant: UUID) -> int | None:
        rows = self._rows("last_notification", tenant.bytes)
        return rows[0][0] if rows else None

    def tracked(self, name: str, application_name: str) -> int | None:
        rows = self._rows("tracked", self._tenant.bytes, name, application_name)
        return rows[0][0] if rows else None

    def _rows(self, query: str, *values: Value) -> list[Row]:
        with self._file.connections.borrowed() as session:
            return session.all(query, *values)


class SqliteFactory(LogFactory[Session]):
    """Recorders on the log that the environment names."""

    def __init__(self, env: Environment | EnvType | None) -> None:
        """Open the log: ONRECORD_URL, ONRECORD_TENANT."""
        super().__init__(env)
        self.log = open_sqlite(path_of(self.url("name the file, sqlite:///talks.db")))
        self.store = _SqliteStore(self.log, self.tenant)

    def close(self) -> None:
        """Close the log."""
        self.log.close()
