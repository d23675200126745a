"""`eventsourcing` on the PostgreSQL log: PERSISTENCE_MODULE=hansard.adapters.storage.eventsourcing_postgres.

The environment names the database (`HANSARD_URL`) and, if it is not the only one, the tenant
(`HANSARD_TENANT`, a UUID): an application is a tenant of the log. Events go into the log's own
table, so what the library records can be read, audited and erased like everything else; a
notification's id is the event's position. Snapshots and tracking have tables of their own.
"""

from __future__ import annotations

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
from psycopg import Connection
from psycopg.rows import TupleRow
from psycopg.types.numeric import Int8

from hansard.adapters.storage.eventsourcing_recorders import (
    NotificationSubscription,
    appends_of,
    conversation_of,
    must_be_recorded,
)
from hansard.adapters.storage.postgres import Postgres, open_postgres
from hansard.adapters.storage.postgres_batch import parameters_of, verdict_of
from hansard.adapters.storage.postgres_connections import fetched
from hansard.domain.errors import ConversationForgotten, StorageError

_FIRST: Final = -1
_LAST: Final = 2**63 - 1
_ONLY_TENANT: Final = UUID(int=0)

T = TypeVar("T", bound="PostgresTrackingRecorder")


@contextmanager
def _in_their_words() -> Generator[None]:
    try:
        yield
    except ConversationForgotten as error:
        raise IntegrityError(str(error)) from error
    except StorageError as error:
        raise OperationalError(str(error)) from error


class PostgresAggregateRecorder(AggregateRecorder):
    """Events of aggregates, each aggregate a conversation."""

    def __init__(self, log: Postgres, tenant: UUID) -> None:
        """Record for one tenant of a log."""
        self.log = log
        self.tenant = tenant

    def insert_events(
        self, stored_events: Sequence[StoredEvent], **kwargs: Any
    ) -> Sequence[int] | None:
        """Record events, all or none; IntegrityError where a version is taken."""
        with _in_their_words(), self.log.connections.transaction() as connection:
            self.insert(connection, stored_events)
        self.log.wakeups.appended()
        return None

    def insert(
        self, connection: Connection[TupleRow], stored_events: Sequence[StoredEvent]
    ) -> list[int]:
        """Record events in a transaction and return their positions."""
        if not stored_events:
            return []
        parameters = parameters_of(appends_of(self.tenant, stored_events), self.log.digest)
        return must_be_recorded(
            [verdict_of(row) for row in fetched(connection, "append", parameters)]
        )

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
        name = "last_stored_events" if desc else "stored_events"
        with _in_their_words():
            rows = self.log.connections.ask(
                name, (conversation_of(originator_id), *_bounds(gt, lte, limit))
            )
        return [StoredEvent(originator_id, *row) for row in rows]


class PostgresSnapshotRecorder(AggregateRecorder):
    """Snapshots of aggregates: no facts, in a table of their own, gone with the conversation."""

    def __init__(self, log: Postgres, tenant: UUID) -> None:
        """Record for one tenant of a log."""
        self.log = log
        self.tenant = tenant

    def insert_events(
        self, stored_events: Sequence[StoredEvent], **kwargs: Any
    ) -> Sequence[int] | None:
        """Keep snapshots, all or none; IntegrityError where there is one of that version."""
        with _in_their_words(), self.log.connections.transaction() as connection:
            for stored in stored_events:
                place = (self.tenant, conversation_of(stored.originator_id))
                fetched(connection, "must_take", place)
                kept = (Int8(stored.originator_version), stored.topic, stored.state)
                if not fetched(connection, "insert_snapshot", (*place, *kept)):
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
        name = "last_snapshots" if desc else "snapshots"
        place = (self.tenant, conversation_of(originator_id))
        with _in_their_words():
            rows = self.log.connections.ask(name, (*place, *_bounds(gt, lte, limit)))
        return [StoredEvent(originator_id, *row) for row in rows]


class PostgresApplicationRecorder(PostgresAggregateRecorder, ApplicationRecorder):
    """Events of aggregates, and all of them in the order of the log."""

    def insert_events(
        self, stored_events: Sequence[StoredEvent], **kwargs: Any
    ) -> Sequence[int] | None:
        """Record events, all or none, and return their positions."""
        with _in_their_words(), self.log.connections.transaction() as connection:
            positions = self.insert(connection, stored_events)
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
        until = _LAST if stop is None else stop
        with _in_their_words():
            rows = self.log.connections.ask(
                "notifications",
                (self.tenant, Int8(after), Int8(until), list(topics), Int8(limit)),
            )
        return [
            Notification(originator_id, version, topic, state, id=position)
            for position, originator_id, version, topic, state in rows
        ]

    def max_notification_id(self) -> int | None:
        """Return the position of the tenant's last event."""
        with _in_their_words():
            rows = self.log.connections.ask("last_notification", (self.tenant,))
        return int(rows[0][0]) if rows else None

    def subscribe(
        self, gt: int | None = None, topics: Sequence[str] = ()
    ) -> Subscription[ApplicationRecorder]:
        """Return the tenant's events after a position, those to come included."""
        return NotificationSubscription(self, self.log.wakeups, gt, topics)


class PostgresTrackingRecorder(TrackingRecorder):
    """How far a projection got, by the applications that it follows.

    A subclass writes its view in `log.connections.transaction()`, and calls `track` in it.
    """

    def __init__(self, log: Postgres, name: str) -> None:
        """Track for the projection of that name."""
        self.log = log
        self.name = name

    def insert_tracking(self, tracking: Tracking) -> None:
        """Record how far an application was followed; IntegrityError unless it is further."""
        with _in_their_words(), self.log.connections.transaction() as connection:
            self.track(connection, tracking)

    def track(self, connection: Connection[TupleRow], tracking: Tracking) -> None:
        """Record it in a transaction."""
        place = (self.name, tracking.application_name, Int8(tracking.notification_id))
        if not fetched(connection, "track", place):
            raise IntegrityError("that position, or a later one, was tracked already")

    def max_tracking_id(self, application_name: str) -> int | None:
        """Return how far an application was followed."""
        with _in_their_words():
            rows = self.log.connections.ask("tracked", (self.name, application_name))
        return int(rows[0][0]) if rows else None


class PostgresProcessRecorder(
    PostgresTrackingRecorder, PostgresApplicationRecorder, ProcessRecorder
):
    """Events and tracking, in one transaction."""

    def __init__(self, log: Postgres, tenant: UUID, name: str) -> None:
        """Record for one tenant of a log, and track under a name."""
        PostgresApplicationRecorder.__init__(self, log, tenant)
        PostgresTrackingRecorder.__init__(self, log, name)

    def insert_events(
        self, stored_events: Sequence[StoredEvent], **kwargs: Any
    ) -> Sequence[int] | None:
        """Record events and, with `tracking=`, what they came from: all or none."""
        tracking: Tracking | None = kwargs.get("tracking")
        with _in_their_words(), self.log.connections.transaction() as connection:
            if tracking is not None:
                self.track(connection, tracking)
            positions = self.insert(connection, stored_events)
        self.log.wakeups.appended()
        return positions


class PostgresFactory(InfrastructureFactory[PostgresTrackingRecorder]):
    """Recorders on the log that the environment names."""

    def __init__(self, env: Environment | EnvType | None) -> None:
        """Open the log: HANSARD_URL, HANSARD_TENANT."""
        super().__init__(env)
        url = self.env.get("HANSARD_URL")
        if not url:
            raise OSError("HANSARD_URL is not set: name the database, postgresql://…")
        self.log = open_postgres(url)
        self.tenant = UUID(self.env.get("HANSARD_TENANT") or str(_ONLY_TENANT))

    def aggregate_recorder(self, purpose: str = "events") -> AggregateRecorder:
        """Return a recorder of events, or of snapshots."""
        kind = PostgresAggregateRecorder if purpose == "events" else PostgresSnapshotRecorder
        return kind(self.log, self.tenant)

    def application_recorder(self) -> ApplicationRecorder:
        """Return a recorder of events with notifications."""
        topic = self.env.get(self.APPLICATION_RECORDER_TOPIC)
        kind: type[PostgresApplicationRecorder] = (
            resolve_topic(topic) if topic else PostgresApplicationRecorder
        )
        return kind(self.log, self.tenant)

    def tracking_recorder(self, tracking_recorder_class: type[T] | None = None) -> T:
        """Return a recorder of tracking: of the class given, named or ours."""
        topic = self.env.get(self.TRACKING_RECORDER_TOPIC)
        named = resolve_topic(topic) if topic else PostgresTrackingRecorder
        kind = tracking_recorder_class or cast("type[T]", named)
        return kind(self.log, self.env.name)

    def process_recorder(self) -> ProcessRecorder:
        """Return a recorder of events and tracking."""
        topic = self.env.get(self.PROCESS_RECORDER_TOPIC)
        kind: type[PostgresProcessRecorder] = (
            resolve_topic(topic) if topic else PostgresProcessRecorder
        )
        return kind(self.log, self.tenant, self.env.name)

    def close(self) -> None:
        """Close the log."""
        self.log.close()


def _bounds(gt: int | None, lte: int | None, limit: int | None) -> tuple[Int8, Int8, Int8]:
    return (
        Int8(_FIRST if gt is None else gt),
        Int8(_LAST if lte is None else lte),
        Int8(_LAST if limit is None else limit),
    )
