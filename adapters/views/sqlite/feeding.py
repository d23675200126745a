"""Feeding a generation of a view on SQLite: a page of the log, or a parked event, a transaction.

Whoever calls has the turn of the views' file. What was erased since it was read is not written: the
log counts its erasures, and a transaction goes back where the views have not done them all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final, NoReturn, cast
from uuid import UUID

import apsw
from pydantic_core import from_json

from onrecord.adapters.storage.sqlite.connection import Session
from onrecord.adapters.views.ports import Reading
from onrecord.adapters.views.sqlite.file import ViewsFile
from onrecord.adapters.views.sqlite.tables import write_own
from onrecord.domain.log import Backend, Cursor, RecordedEvent
from onrecord.projections.views.own_views import Deliveries, OwnSink, queries_of
from onrecord.projections.views.planning import Room, size_of
from onrecord.projections.views.step import (
    Failure,
    Refused,
    circuit_opens,
    event_batches,
    retry_after,
    step,
    why_the_circuit_opened,
)
from onrecord.projections.views.view import Changes, EventBatch, Feed, Row, View, rows_json


class SqliteRows:
    """What a step reads and writes; the session is in a write transaction."""

    def __init__(self, session: Session) -> None:
        """Use a session that nobody else uses until its transaction ends."""
        self._session = session

    def blocked(self, feed: Feed, conversations: Sequence[UUID]) -> Collection[UUID]:
        """Return those of these conversations that wait behind a parked event."""
        wanted = rows_json([str(conversation) for conversation in conversations])
        rows = self._session.all("blocked", feed.view.name, feed.generation, wanted)
        return {UUID(conversation) for (conversation,) in rows}

    def known(self, feed: Feed, keys: Sequence[Row]) -> list[Row]:
        """Return the rows of these keys that are there, each with its `conversation_id`."""
        wanted = (feed.generation, rows_json(keys))
        rows = self._session.all(f"{queries_of(feed.view)}_known", *wanted)
        return [cast("Row", from_json(text)) for (text,) in rows]

    def write(self, feed: Feed, changes: Changes) -> None:
        """Write changes, all or none; Refused where the database refuses a value."""
        if changes.events:
            write_own(self._session, feed, changes.events)
        try:
            with self._session.savepoint():
                if changes.drop:
                    dropped = rows_json(changes.drop)
                    self._session.run(f"{queries_of(feed.view)}_drop", feed.generation, dropped)
                if changes.put:
                    put = rows_json(changes.put)
                    self._session.run(f"{queries_of(feed.view)}_put", feed.generation, put, 0, 0)
        except (apsw.ConstraintError, apsw.MismatchError, apsw.TooBigError) as exc:
            raise Refused(type(exc).__name__) from exc


SHARD: Final = 0
PAGE: Final = 2_000
"""How many events one transaction folds at most: enough that its flush costs little of it, and few
enough that others have their turn some times a second; of large ones it folds fewer."""

FIRST_PAGE: Final = 64
"""How many it folds at first, for they may be large."""


class CheckpointMoved(Exception):
    """Something was erased, or folded by another, since it was read; nothing was written."""


class StrictViewStopped(Exception):
    """A strict view cannot fold an event; nothing was written."""

    def __init__(self, failure: Failure) -> None:
        """Keep the first failure."""
        self.failure = failure
        super().__init__(failure.error)


class Stopped(Exception):
    """The view was stopped just now; the message says why, in our own words."""


@dataclass(frozen=True, slots=True)
class Feeding:
    """A log and the file of its views, and `now`, in microseconds, by which retries are due.

    `room` is how much is folded at once; `clock` tells the seconds that it took; `reading` decrypts events.
    """

    log: Backend
    file: ViewsFile
    now: int
    room: Room
    clock: Callable[[], float]
    reading: Reading = list

    def page(self, position: int) -> list[RecordedEvent]:
        """Return the next events after a position."""
        after = Cursor(self.log.incarnation(), SHARD, position)
        return self.reading(self.log.read_log(after, self._page))

    def fold(self, feed: Feed, events: Sequence[RecordedEvent], position: int) -> list[Failure]:
        """Fold events that come after a position, move the checkpoint, and park what fails.

        Returns what failed. Raises CheckpointMoved, and StrictViewStopped where a strict view fails.
        """
        began = self.clock()
        batches = event_batches(events, feed.view, self.log.owner)
        delivered = self._delivered(feed, batches)
        with self.file.transaction() as session:
            self._must_be_as_read(session)
            failures = step(feed, batches, SqliteRows(session)) if delivered is None else delivered
            if failures and feed.view.strict:
                raise StrictViewStopped(min(failures, key=lambda failed: failed.event.position))
            last = events[-1].position
            session.run("move_checkpoint", feed.view.name, feed.generation, last, position)
            if not session.changed():
                # Whoever deletes a lock file gives the turn to two.
                raise CheckpointMoved
            for failure in failures:
                self._park(session, feed, failure, 1)
        self.room.took(len(events), size_of(events), self.clock() - began)
        return failures

    def stop(self, view: View, why: str) -> NoReturn:
        """Let a view stand still, and raise Stopped."""
        with self.file.transaction() as session:
            session.run("stop_view", view.name, why)
        raise Stopped(why)

    def stop_if_many(self, feed: Feed, failures: Sequence[Failure], since: int) -> None:
        """Stop a view, and raise Stopped, where many failed alike since it was resumed."""
        for kind in sorted({failure.kind for failure in failures}):
            with self.file.borrowed() as session:
                place = (feed.view.name, feed.generation, kind, since)
                (alike,) = session.one("parked_alike", *place) or (0,)
            if circuit_opens(alike):
                self.stop(feed.view, why_the_circuit_opened(kind, alike))

    def retry(self, feed: Feed, until: int) -> list[Failure] | None:
        """Try the parked event again that is due first; None if none is.

        With it go the events of its conversation behind it, up to position `until`: a page of them,
        and the rest is due at once.
        """
        with self.file.borrowed() as session:
            due = session.one("parked_due", feed.view.name, feed.generation, self.now)
        if due is None:
            return None
        conversation, tenant, version, attempts = due
        most = self._page
        page = self.reading([*self.log.read(UUID(conversation), after=version - 1, limit=most)])
        events = tuple(event for event in page if event.position <= until)
        batch = _batch_of(feed.view, UUID(tenant), UUID(conversation), events)
        batches = [batch] if batch.events else []
        delivered = self._delivered(feed, batches, is_retried=True)
        with self.file.transaction() as session:
            self._must_be_as_read(session)
            session.run("unpark", feed.view.name, feed.generation, conversation)
            failures = step(feed, batches, SqliteRows(session)) if delivered is None else delivered
            for failure in failures:
                again = attempts + 1 if failure.event.version == version else 1
                self._park(session, feed, failure, again)
            if not failures and len(events) == most:
                self._go_on(session, feed, batch, events[-1])
        return failures

    def _delivered(
        self, feed: Feed, batches: Sequence[EventBatch], *, is_retried: bool = False
    ) -> list[Failure] | None:
        """Deliver to a sink, before the transaction that moves its checkpoint; None of other views."""
        if not isinstance(feed.view, OwnSink):
            return None
        waiting: Collection[UUID] = ()
        if not is_retried:
            with self.file.borrowed() as session:
                conversations = [batch.conversation_id for batch in batches]
                waiting = SqliteRows(session).blocked(feed, conversations)
        return step(feed, batches, Deliveries(waiting))

    @property
    def _page(self) -> int:
        return min(self.room.positions, PAGE)

    def _go_on(self, session: Session, feed: Feed, batch: EventBatch, last: RecordedEvent) -> None:
        """Have a conversation wait behind the event that comes next, which is due at once."""
        place = (str(batch.conversation_id), str(batch.tenant), last.position + 1)
        behind = ("behind", "what comes behind a parked event is folded in steps", 0, self.now, 0)
        row = (*place, last.version + 1, last.type, *behind)
        session.run("park", feed.view.name, feed.generation, *row)

    def _park(self, session: Session, feed: Feed, failure: Failure, attempts: int) -> None:
        event, delay = failure.event, retry_after(attempts)
        place = (str(event.conversation_id), str(failure.tenant), event.position, event.version)
        due = None if delay is None else self.now + delay
        why = (event.type, failure.kind, failure.error, attempts, self.now, due)
        session.run("park", feed.view.name, feed.generation, *place, *why)

    def _must_be_as_read(self, session: Session) -> None:
        done, _ = session.one("erasing") or (0, 0)
        if self.log.erasures() != done:
            raise CheckpointMoved


def _batch_of(
    view: View, tenant: UUID, conversation: UUID, events: Sequence[RecordedEvent]
) -> EventBatch:
    batches = event_batches(events, view, lambda _: tenant)
    return batches[0] if batches else EventBatch(tenant, conversation, ())
