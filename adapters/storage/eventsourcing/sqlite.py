"""`eventsourcing` on the SQLite log: PERSISTENCE_MODULE=onrecord.adapters.storage.eventsourcing.sqlite.

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
from typing import TypeVar, cast
from uuid import UUID

from eventsourcing.persistence import (
    AggregateRecorder,
    ApplicationRecorder,
    InfrastructureFactory,
    Notification,
    ProcessRecorder,
    StoredEvent,
    Tracking,
)
from eventsourcing.utils import Environment, EnvType

from onrecord.adapters.storage.eventsourcing.appends import conversation_of
from onrecord.adapters.storage.eventsourcing.recorders import (
    LogAggregateRecorder,
    LogApplicationRecorder,
    LogProcessRecorder,
    LogSnapshotRecorder,
    LogTrackingRecorder,
)
from onrecord.adapters.storage.eventsourcing.store import (
    Appender,
    Within,
    named_class,
    named_tenant,
    named_url,
)
from onrecord.adapters.storage.sqlite.append import append_all, must_take
from onrecord.adapters.storage.sqlite.connection import Row, Session, Value
from onrecord.adapters.storage.sqlite.sqlite import Sqlite, open_sqlite
from onrecord.adapters.storage.sqlite.url import path_of
from onrecord.adapters.storage.subscription import Wakeups
from onrecord.domain.log import Append, Verdict

T = TypeVar("T", bound=LogTrackingRecorder[Session])


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

    @contextmanager
    def appending(self) -> Generator[tuple[Session, Appender]]:
        with self._file.appending() as (session, end):
            yield session, partial(append_all, session, self._file.digest_key, end)

    def writing(self) -> AbstractContextManager[Session]:
        return self._file.writing()

    def keep_snapshot(self, transaction: Session, tenant: UUID, snapshot: StoredEvent) -> bool:
        place = conversation_of(snapshot.originator_id)
        must_take(transaction, tenant, place)
        kept = (snapshot.originator_version, snapshot.topic, snapshot.state)
        return transaction.one("insert_snapshot", place.bytes, *kept) is not None

    def keep_tracking(self, transaction: Session, name: str, tracking: Tracking) -> bool:
        reached = (tracking.application_name, tracking.notification_id)
        return transaction.one("track", self._tenant.bytes, name, *reached) is not None

    def stored_events(self, conversation_id: UUID, within: Within, *, desc: bool) -> list[Row]:
        query = "last_stored_events" if desc else "stored_events"
        return self._rows(query, conversation_id.bytes, *within)

    def snapshots(
        self, tenant: UUID, conversation_id: UUID, within: Within, *, desc: bool
    ) -> list[Row]:
        # Not by tenant: no two have the same conversation.
        query = "last_snapshots" if desc else "snapshots"
        return self._rows(query, conversation_id.bytes, *within)

    def notifications(
        self, tenant: UUID, within: Within, topics: Sequence[str]
    ) -> list[Notification]:
        after, until, limit = within
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


class SqliteFactory(InfrastructureFactory[LogTrackingRecorder[Session]]):
    """Recorders on the log that the environment names."""

    def __init__(self, env: Environment | EnvType | None) -> None:
        """Open the log: ONRECORD_URL, ONRECORD_TENANT."""
        super().__init__(env)
        self.log = open_sqlite(path_of(named_url(self.env, "name the file, sqlite:///talks.db")))
        self.tenant = named_tenant(self.env)
        self._store = _SqliteStore(self.log, self.tenant)

    def aggregate_recorder(self, purpose: str = "events") -> AggregateRecorder:
        """Return a recorder of events, or of snapshots."""
        if purpose == "events":
            return LogAggregateRecorder(self._store, self.tenant)
        return LogSnapshotRecorder(self._store, self.tenant)

    def application_recorder(self) -> ApplicationRecorder:
        """Return a recorder of events with notifications."""
        ours = LogApplicationRecorder[Session]
        kind = named_class(self.env, self.APPLICATION_RECORDER_TOPIC, ours)
        return kind(self._store, self.tenant)

    def tracking_recorder(self, tracking_recorder_class: type[T] | None = None) -> T:
        """Return a recorder of tracking: of the class given, named or ours."""
        ours = cast("type[T]", LogTrackingRecorder)
        kind = tracking_recorder_class or named_class(self.env, self.TRACKING_RECORDER_TOPIC, ours)
        return kind(self._store, self.env.name)

    def process_recorder(self) -> ProcessRecorder:
        """Return a recorder of events and tracking."""
        kind = named_class(self.env, self.PROCESS_RECORDER_TOPIC, LogProcessRecorder[Session])
        return kind(self._store, self.tenant, self.env.name)

    def close(self) -> None:
        """Close the log."""
        self.log.close()
