"""`eventsourcing` on the PostgreSQL log: PERSISTENCE_MODULE=onrecord.eventsourcing.postgres.

The environment names the database (`ONRECORD_URL`) and, if it is not the only one, the tenant
(`ONRECORD_TENANT`, a UUID): an application is a tenant of the log. Events go into the log's own
table, so what the library records can be read, audited and erased like everything else; a
notification's id is the event's position. Snapshots and tracking have tables of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from uuid import UUID

from eventsourcing.persistence import (
    Notification,
    ProgrammingError,
    StoredEvent,
    Tracking,
    TrackingRecorder,
)
from eventsourcing.utils import Environment, EnvType
from psycopg.rows import TupleRow
from psycopg.types.numeric import Int8

from onrecord.adapters.storage.eventsourcing.factory import ONLY_TENANT, LogFactory
from onrecord.adapters.storage.eventsourcing.recorders import Appender, Span
from onrecord.adapters.storage.eventsourcing.stored_events import conversation_of
from onrecord.adapters.storage.postgres.batch import packed, parameters_of, verdict_of
from onrecord.adapters.storage.postgres.connections import LogConnection, fetched, sent
from onrecord.adapters.storage.postgres.postgres import Postgres, open_postgres
from onrecord.adapters.storage.subscription import Wakeups
from onrecord.domain.log import Append, Duplicate, Recorded, Verdict

_Connection = LogConnection


class _PostgresStore:
    """A log in a database, as the recorders ask for it; a transaction is a Connection in one."""

    def __init__(self, log: Postgres, tenant: UUID) -> None:
        self._log = log
        self._tenant = tenant

    @property
    def wakeups(self) -> Wakeups:
        # Asked for each time: a forked child has its own.
        return self._log.wakeups

    def append(self, append: Append) -> Verdict:
        (verdict,) = self._log.append((append,))
        return self._recorded_before(append, verdict) if isinstance(verdict, Duplicate) else verdict

    def _recorded_before(self, append: Append, verdict: Duplicate) -> Verdict:
        known = list(
            self._log.read(append.conversation_id, after=verdict.first - 1, until=verdict.last)
        )
        if [event.event_id for event in known] != [event.event_id for event in append.events]:
            return verdict  # Others, that bear a name which a conversation holds only once.
        return Recorded(verdict.first, verdict.last, known[-1].position)

    def digest(self, text: str) -> bytes:
        return self._log.digest(text)

    @contextmanager
    def appending(self) -> Generator[tuple[_Connection, Appender]]:
        with self._log.connections.transaction() as connection:
            # A process may be stopped between the append and the end: the server gives its lock back.
            sent(connection, "joint_append_limits")
            yield connection, partial(_append, connection, self._log.digest)

    def writing(self) -> AbstractContextManager[_Connection]:
        return self._log.connections.transaction()

    def keep_snapshot(self, transaction: _Connection, tenant: UUID, snapshot: StoredEvent) -> bool:
        place = (tenant, conversation_of(snapshot.originator_id))
        row = (Int8(snapshot.originator_version), snapshot.topic, snapshot.state)
        return bool(fetched(transaction, "insert_snapshot", (*place, *row)))

    def keep_tracking(self, transaction: _Connection, name: str, tracking: Tracking) -> bool:
        reached = (tracking.application_name, Int8(tracking.notification_id))
        return bool(fetched(transaction, "track", (self._tenant, name, *reached)))

    def stored_events(self, conversation_id: UUID, span: Span, *, desc: bool) -> list[TupleRow]:
        name = "last_stored_events" if desc else "stored_events"
        return self._log.connections.ask(name, (conversation_id, *map(Int8, span)))

    def snapshots(
        self, tenant: UUID, conversation_id: UUID, span: Span, *, desc: bool
    ) -> list[TupleRow]:
        name = "last_snapshots" if desc else "snapshots"
        return self._log.connections.ask(name, (tenant, conversation_id, *map(Int8, span)))

    def notifications(self, tenant: UUID, span: Span, topics: Sequence[str]) -> list[Notification]:
        after, until, limit = map(Int8, span)
        parameters = (tenant, after, until, list(topics), limit)
        rows = self._log.connections.ask("notifications", parameters)
        return [
            Notification(originator_id, version, topic, state, id=position)
            for position, originator_id, version, topic, state in rows
        ]

    def last_notification(self, tenant: UUID) -> int | None:
        rows = self._log.connections.ask("last_notification", (tenant,))
        return int(rows[0][0]) if rows else None

    def tracked(self, name: str, application_name: str) -> int | None:
        rows = self._log.connections.ask("tracked", (self._tenant, name, application_name))
        return int(rows[0][0]) if rows else None


class PostgresFactory(LogFactory[_Connection]):
    """Recorders on the log that the environment names."""

    def __init__(self, env: Environment | EnvType | None) -> None:
        """Open the log: ONRECORD_URL, ONRECORD_TENANT."""
        super().__init__(env)
        self.log = open_postgres(self.url("name the database, postgresql://…"))
        self.store = _PostgresStore(self.log, self.tenant)

    def close(self) -> None:
        """Close the log."""
        self.log.close()


def _append(
    connection: _Connection, digest: Callable[[str], bytes], appends: Sequence[Append]
) -> list[Verdict]:
    if not appends:
        return []
    rows = fetched(connection, "append", parameters_of(packed(appends, digest)))
    return [verdict_of(row) for row in rows]


# Our views in the `eventsourcing` library's terms: how far a view has come, and waiting for it.
#
# A program that records by the library's application waits for a view of ours with the verbs that
# it has for its own: `tracking.wait("usage", recording.notification.id)`.


class PostgresViewTracking(TrackingRecorder):
    """Tells how far the views of a database are, as the library's trackings are asked.

    The name of the application is a view's; ids are those of a tenant's notifications, which are
    positions of its shard. `wait` raises TimeoutError and WaitInterruptedError as the library says.
    """

    def __init__(self, log: Postgres, tenant: UUID = ONLY_TENANT) -> None:
        """Ask for the views of a tenant."""
        self._log, self._tenant = log, tenant

    def max_tracking_id(self, application_name: str) -> int | None:
        """Return the position up to which a view has every event of the tenant; None before any."""
        parameters = (application_name, self._tenant)
        [(position,)] = self._log.connections.ask("view_reached", parameters)
        return position or None

    def insert_tracking(self, tracking: Tracking) -> None:
        """Refuse: workers move a view's checkpoint, with its rows."""
        raise ProgrammingError("a view is moved by `onrecord worker`, in one step with its rows")
