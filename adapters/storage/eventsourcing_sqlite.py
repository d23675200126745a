"""`eventsourcing` on the SQLite log: PERSISTENCE_MODULE=hansard.adapters.storage.eventsourcing_sqlite.

The environment names the file (`HANSARD_URL`, sqlite:///talks.db) and, if it is not the only one,
the tenant (`HANSARD_TENANT`, a UUID): an application is a tenant of the log. Events go into the
log's own table, so what the library records can be read, audited and erased like everything else;
a notification's id is the event's position. Snapshots and tracking have tables of their own.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar, cast
from uuid import UUID

from eventsourcing.persistence import (
    AggregateRecorder,
    ApplicationRecorder,
    InfrastructureFactory,
    IntegrityError,
    Notification,
    OperationalError,
    ProcessRecorder,
    StoredEvent,
    Subscription,
    Tracking,
    TrackingRecorder,
)
from eventsourcing.utils import Environment, EnvType, resolve_topic

from hansard.adapters.storage.eventsourcing_recorders import (
    NotificationSubscription,
    appends_of,
    conversation_of,
    must_be_recorded,
)
from hansard.adapters.storage.sqlite import Sqlite, open_sqlite
from hansard.adapters.storage.sqlite_append import append_all, must_take
from hansard.adapters.storage.sqlite_connection import Session
from hansard.adapters.storage.sqlite_file import Tail
from hansard.adapters.storage.sqlite_rows import HIGHEST
from hansard.adapters.storage.sqlite_url import path_of
from hansard.domain.errors import ConversationForgotten, StorageError

_FIRST: Final = -1
_ONLY_TENANT: Final = UUID(int=0)

T = TypeVar("T", bound="SqliteTrackingRecorder")


@contextmanager
def _in_their_words() -> Generator[None]:
    try:
        yield
    except ConversationForgotten as error:
        raise IntegrityError(str(error)) from error
    except StorageError as error:
        raise OperationalError(str(error)) from error


class SqliteAggregateRecorder(AggregateRecorder):
    """Events of aggregates, each aggregate a conversation."""

    def __init__(self, log: Sqlite, tenant: UUID) -> None:
        """Record for one tenant of a log."""
        self.log = log
        self.tenant = tenant

    def insert_events(
        self, stored_events: Sequence[StoredEvent], **kwargs: Any
    ) -> Sequence[int] | None:
        """Record events, all or none; IntegrityError where a version is taken."""
        with _in_their_words(), self.log.file.appending() as (session, tail):
            self.insert(session, tail, stored_events)
        self.log.wakeups.appended()
        return None

    def insert(
        self, session: Session, tail: Tail, stored_events: Sequence[StoredEvent]
    ) -> list[int]:
        """Record events in a transaction and return their positions."""
        appends = appends_of(self.tenant, stored_events)
        return must_be_recorded(append_all(session, self.log.file.digest_key, tail, appends))

    def select_events(
        self,
        originator_id: UUID | str,
        *,
        gt: int | None = None,
        lte: int | None = None,
        desc: bool = False,
        limit: int | None = None,
    ) -> Sequence[StoredEvent]:
        """Return the events of an aggregate, in order of version or the last first."""
        query = "last_stored_events" if desc else "stored_events"
        return _selected(self.log, query, originator_id, gt, lte, limit)


class SqliteSnapshotRecorder(AggregateRecorder):
    """Snapshots of aggregates: no facts, in a table of their own, gone with the conversation."""

    def __init__(self, log: Sqlite, tenant: UUID) -> None:
        """Record for one tenant of a log."""
        self.log = log
        self.tenant = tenant

    def insert_events(
        self, stored_events: Sequence[StoredEvent], **kwargs: Any
    ) -> Sequence[int] | None:
        """Keep snapshots, all or none; IntegrityError where there is one of that version."""
        with _in_their_words(), self.log.file.writing() as session:
            for stored in stored_events:
                originator, version = (
                    conversation_of(stored.originator_id),
                    stored.originator_version,
                )
                must_take(session, self.tenant, originator)
                kept = (originator.bytes, version, stored.topic, stored.state)
                if not session.one("insert_snapshot", *kept):
                    raise IntegrityError("there is a snapshot of that version already")
        return None

    def select_events(
        self,
        originator_id: UUID | str,
        *,
        gt: int | None = None,
        lte: int | None = None,
        desc: bool = False,
        limit: int | None = None,
    ) -> Sequence[StoredEvent]:
        """Return the snapshots of an aggregate, in order of version or the last first."""
        query = "last_snapshots" if desc else "snapshots"
        return _selected(self.log, query, originator_id, gt, lte, limit)


class SqliteApplicationRecorder(SqliteAggregateRecorder, ApplicationRecorder):
    """Events of aggregates, and all of them in the order of the log."""

    def insert_events(
        self, stored_events: Sequence[StoredEvent], **kwargs: Any
    ) -> Sequence[int] | None:
        """Record events, all or none, and return their positions."""
        with _in_their_words(), self.log.file.appending() as (session, tail):
            positions = self.insert(session, tail, stored_events)
        self.log.wakeups.appended()
        return positions

    def select_notifications(
        self,
        start: int | None,
        limit: int,
        stop: int | None = None,
        topics: Sequence[str] = (),
        *,
        inclusive_of_start: bool = True,
    ) -> Sequence[Notification]:
        """Return the tenant's events from a position on, in order."""
        after = 0 if start is None else start - inclusive_of_start
        until = HIGHEST if stop is None else stop
        named = json.dumps(list(topics))
        with _in_their_words(), self.log.file.connections.borrowed() as session:
            rows = session.all("notifications", self.tenant.bytes, after, until, named, limit)
        return [
            Notification(UUID(bytes=originator_id), version, topic, state, id=position)
            for position, originator_id, version, topic, state in rows
        ]

    def max_notification_id(self) -> int | None:
        """Return the position of the tenant's last event."""
        with _in_their_words(), self.log.file.connections.borrowed() as session:
            row = session.one("last_notification", self.tenant.bytes)
        return None if row is None else row[0]

    def subscribe(
        self, gt: int | None = None, topics: Sequence[str] = ()
    ) -> Subscription[ApplicationRecorder]:
        """Return the tenant's events after a position, those to come included."""
        return NotificationSubscription(self, self.log.wakeups, gt, topics)


class SqliteTrackingRecorder(TrackingRecorder):
    """How far a projection got, by the applications that it follows.

    A subclass writes its view in `log.file.writing()`, and calls `track` in it.
    """

    def __init__(self, log: Sqlite, name: str) -> None:
        """Track for the projection of that name."""
        self.log = log
        self.name = name

    def insert_tracking(self, tracking: Tracking) -> None:
        """Record how far an application was followed; IntegrityError unless it is further."""
        with _in_their_words(), self.log.file.writing() as session:
            self.track(session, tracking)

    def track(self, session: Session, tracking: Tracking) -> None:
        """Record it in a transaction."""
        place = self.name, tracking.application_name
        if not session.one("track", *place, tracking.notification_id):
            raise IntegrityError("that position, or a later one, was tracked already")

    def max_tracking_id(self, application_name: str) -> int | None:
        """Return how far an application was followed."""
        with _in_their_words(), self.log.file.connections.borrowed() as session:
            row = session.one("tracked", self.name, application_name)
        return None if row is None else row[0]


class SqliteProcessRecorder(SqliteTrackingRecorder, SqliteApplicationRecorder, ProcessRecorder):
    """Events and tracking, in one transaction."""

    def __init__(self, log: Sqlite, tenant: UUID, name: str) -> None:
        """Record for one tenant of a log, and track under a name."""
        SqliteApplicationRecorder.__init__(self, log, tenant)
        SqliteTrackingRecorder.__init__(self, log, name)

    def insert_events(
        self, stored_events: Sequence[StoredEvent], **kwargs: Any
    ) -> Sequence[int] | None:
        """Record events and, with `tracking=`, what they came from: all or none."""
        tracking: Tracking | None = kwargs.get("tracking")
        with _in_their_words(), self.log.file.appending() as (session, tail):
            if tracking is not None:
                self.track(session, tracking)
            positions = self.insert(session, tail, stored_events)
        self.log.wakeups.appended()
        return positions


class SqliteFactory(InfrastructureFactory[SqliteTrackingRecorder]):
    """Recorders on the log that the environment names."""

    def __init__(self, env: Environment | EnvType | None) -> None:
        """Open the log: HANSARD_URL, HANSARD_TENANT."""
        super().__init__(env)
        url = self.env.get("HANSARD_URL")
        if not url:
            raise OSError("HANSARD_URL is not set: name the file, sqlite:///talks.db")
        self.log = open_sqlite(path_of(url))
        self.tenant = UUID(self.env.get("HANSARD_TENANT") or str(_ONLY_TENANT))

    def aggregate_recorder(self, purpose: str = "events") -> AggregateRecorder:
        """Return a recorder of events, or of snapshots."""
        kind = SqliteAggregateRecorder if purpose == "events" else SqliteSnapshotRecorder
        return kind(self.log, self.tenant)

    def application_recorder(self) -> ApplicationRecorder:
        """Return a recorder of events with notifications."""
        topic = self.env.get(self.APPLICATION_RECORDER_TOPIC)
        kind: type[SqliteApplicationRecorder] = (
            resolve_topic(topic) if topic else SqliteApplicationRecorder
        )
        return kind(self.log, self.tenant)

    def tracking_recorder(self, tracking_recorder_class: type[T] | None = None) -> T:
        """Return a recorder of tracking: of the class given, named or ours."""
        topic = self.env.get(self.TRACKING_RECORDER_TOPIC)
        named = resolve_topic(topic) if topic else SqliteTrackingRecorder
        kind = tracking_recorder_class or cast("type[T]", named)
        return kind(self.log, self.env.name)

    def process_recorder(self) -> ProcessRecorder:
        """Return a recorder of events and tracking."""
        topic = self.env.get(self.PROCESS_RECORDER_TOPIC)
        kind: type[SqliteProcessRecorder] = resolve_topic(topic) if topic else SqliteProcessRecorder
        return kind(self.log, self.tenant, self.env.name)

    def close(self) -> None:
        """Close the log."""
        self.log.close()


def _selected(
    log: Sqlite,
    query: str,
    originator_id: UUID | str,
    gt: int | None,
    lte: int | None,
    limit: int | None,
) -> list[StoredEvent]:
    bounds = (
        _FIRST if gt is None else gt,
        HIGHEST if lte is None else lte,
        HIGHEST if limit is None else limit,
    )
    with _in_their_words(), log.file.connections.borrowed() as session:
        rows = session.all(query, conversation_of(originator_id).bytes, *bounds)
    return [StoredEvent(originator_id, *row) for row in rows]
