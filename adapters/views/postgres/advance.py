"""One step of views on PostgreSQL: events are read, folded and committed with their checkpoints.

It is one transaction: the checkpoints move first, which locks them and shows whether this worker is
still the one; then the events are read, under the lock that erasures wait for; then each build's
rows are written. Statements go out together wherever no answer is waited for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Final
from uuid import UUID

from psycopg import Cursor, Rollback
from psycopg.rows import TupleRow

from onrecord.adapters.storage.postgres.connections import Connections, LogConnection, sent
from onrecord.adapters.views.ports import Reading
from onrecord.adapters.views.postgres.builds import Lease
from onrecord.adapters.views.postgres.rows import OF_A_VALUE, PostgresRows, SwiftRows
from onrecord.adapters.views.postgres.tables import STALLED, limit
from onrecord.domain.errors import OnrecordError
from onrecord.domain.log import RecordedEvent
from onrecord.projections.views.own_views import Deliveries, OwnSink, OwnTables, is_own
from onrecord.projections.views.planning import Batch, Part, Segment, size_of
from onrecord.projections.views.step import (
    Failure,
    Lookup,
    ask,
    by_conversation,
    circuit_opens,
    event_batches,
    finish,
    part_of,
    retry_after,
    step,
    taken,
    why_the_circuit_opened,
)
from onrecord.projections.views.view import EventBatch, Feed

_BEHIND: Final = 1000
"""How many events of a parked conversation are tried at once."""

_LONGEST: Final = "60000"
"""Milliseconds that a piped batch may take in all: far longer than any does."""


class LeaseLost(Exception):
    """Another worker has moved the checkpoints, holds them, or has the part: look again."""


class StrictViewStopped(Exception):
    """A strict view cannot fold an event; nothing of the batch was written."""

    def __init__(self, feed: Feed, failure: Failure) -> None:
        """Say which view, and at which event."""
        super().__init__(feed.view.name)
        self.feed, self.failure = feed, failure


@dataclass(frozen=True, slots=True)
class Folded:
    """What a batch came to: events and their bytes, what was parked, and builds that stopped."""

    events: int = 0
    size: int = 0
    parked: tuple[tuple[Feed, Failure], ...] = ()
    stopped: frozenset[Feed] = frozenset()


class PostgresAdvance:
    """Folds batches into views. Safe for threads; each batch is a connection for its time."""

    def __init__(self, connections: Connections, reading: Reading = list) -> None:
        """Use connections of a worker, one a thread; `reading` decrypts events."""
        self._connections, self._reading = connections, reading
        self._parts = int(connections.ask("parts_of_a_shard")[0][0])

    def advance(self, batch: Batch, lease: Lease | None) -> Folded:
        """Fold a batch, all or nothing. Without a lease, the locks of its checkpoints are enough.

        Raises LeaseLost and StrictViewStopped, and StorageError where the database itself fails.
        """
        if any(isinstance(feed.view, OwnSink) for feed in batch.feeds):
            return self._delivered(batch, lease)
        if any(isinstance(feed.view, OwnTables) for feed in batch.feeds):
            return self._folded(batch, lease, is_swift=False)
        try:
            return self._folded(batch, lease, is_swift=True)
        except OnrecordError as error:
            if not isinstance(error.__cause__, OF_A_VALUE):
                raise
        return self._folded(batch, lease, is_swift=False)

    def retry(self, feed: Feed, place: Part, at: int, conversation: UUID, lease: Lease) -> Folded:
        """Try a parked event again, and what its conversation said since, up to `at`.

        That is the checkpoint of its part. Raises as `advance` does.
        """
        unmoved = Batch((feed,), (Segment(place, at, at),))
        delivered = None
        if isinstance(feed.view, OwnSink):
            delivered = self._delivered_again(feed, place, at, conversation)
        with self._connections.transaction() as connection:
            sent(connection, "batch_begun", STALLED)
            _must_have_moved(_send_move(connection, unmoved, lease), unmoved)
            unparked = self._unparked(connection, feed, place, at, conversation)
            if unparked is None:
                return Folded()
            (version, attempts, kind, error, since), events, batches = unparked
            failures = delivered
            if failures is None:
                failures = step(feed, batches, PostgresRows(connection, *place))
            for failure in failures:
                if failure.event.version == version:
                    wait = retry_after(attempts + 1)
                    self._park(connection, feed, failure, attempts + 1, wait, since)
                else:
                    self._park(connection, feed, failure, 1, retry_after(1))
            if len(events) == _BEHIND and not failures:
                # The rest is for the next time, which is now.
                rest = events[-1]._replace(version=events[-1].version + 1)
                failure = Failure(batches[-1].tenant, rest, kind, error)
                self._park(connection, feed, failure, attempts, 0, since)
        return Folded(len(events), parked=tuple((feed, failure) for failure in failures))

    def _folded(self, batch: Batch, lease: Lease | None, *, is_swift: bool) -> Folded:
        with self._connections.transaction(is_piped=is_swift) as connection:
            if any(is_own(feed.view) for feed in batch.feeds):
                limit(connection)
            else:
                sent(connection, "batch_begun", STALLED)
            if is_swift:
                sent(connection, "piped_batch_limited", _LONGEST)
            moved = _send_move(connection, batch, lease)
            reading, waiting = _send_questions(connection, batch)
            _must_have_moved(moved, batch)
            events, parked = self._events(reading.fetchall()), _by_feed(waiting.fetchall())
            batches = by_conversation(events, partial(_owner, connection))
            place = batch.segments[0].place
            steps = _swift_steps if is_swift else _careful_steps
            failed = [*steps(connection, place, parked, _takes(batch, batches))]
            stopped = self._parked(connection, failed)
            return Folded(len(events), size_of(events), tuple(failed), stopped)

    def _delivered(self, batch: Batch, lease: Lease | None) -> Folded:
        """Deliver what a batch has, then move the checkpoints: nothing is locked while a sink works."""
        with self._connections.transaction() as connection:
            reading, waiting = _send_questions(connection, batch)
            events, parked = self._events(reading.fetchall()), _by_feed(waiting.fetchall())
            batches = by_conversation(events, partial(_owner, connection))
        failed: list[_Failed] = []
        for feed, taken_events in _takes(batch, batches):
            deliveries = Deliveries(parked.get((feed.view.name, feed.generation), ()))
            failed += [(feed, failure) for failure in step(feed, taken_events, deliveries)]
        with self._connections.transaction() as connection:
            sent(connection, "batch_begun", STALLED)
            _must_have_moved(_send_move(connection, batch, lease), batch)
            stopped = self._parked(connection, failed)
        return Folded(len(events), size_of(events), tuple(failed), stopped)

    def _delivered_again(
        self, feed: Feed, place: Part, at: int, conversation: UUID
    ) -> list[Failure]:
        """Deliver a parked event again, and what its conversation said since."""
        batches: list[EventBatch] = []
        with self._connections.transaction() as connection:
            sent(connection, "stalls_limited", STALLED)
            unparked = self._unparked(connection, feed, place, at, conversation)
            if unparked is not None:
                batches = unparked[2]
            raise Rollback  # It stays parked until it was delivered.
        return step(feed, batches, Deliveries(()))

    def _parked(
        self, connection: LogConnection, failed: Sequence[tuple[Feed, Failure]]
    ) -> frozenset[Feed]:
        """Park what failed; return the builds that stop, since too much of them fails alike."""
        for feed, failure in failed:
            if feed.view.strict:
                raise StrictViewStopped(feed, failure)
            self._park(connection, feed, failure, 1, retry_after(1))
        stopped: set[Feed] = set()
        for feed in {feed for feed, _ in failed}:
            for kind, count in _asked(connection, "parked_alike", feed.view.name, feed.generation):
                if circuit_opens(count):
                    why = why_the_circuit_opened(kind, count)
                    sent(connection, "view_stopped", feed.view.name, feed.generation, why)
                    stopped.add(feed)
        return frozenset(stopped)

    def _park(
        self,
        connection: LogConnection,
        feed: Feed,
        failure: Failure,
        attempts: int,
        wait: int | None,
        since: int | None = None,
    ) -> None:
        event = failure.event
        part = part_of(event.conversation_id, self._parts)
        sent(
            connection,
            "park",
            *(feed.view.name, feed.generation, event.conversation_id, failure.tenant),
            *(event.shard, part, event.position, event.version, event.type),
            *(failure.kind, failure.error, attempts, wait, since),
        )

    def _unparked(
        self, connection: LogConnection, feed: Feed, place: Part, at: int, conversation: UUID
    ) -> _Unparked | None:
        """Take a conversation out of those that wait: how it was parked, and its events up to `at`."""
        parked = _asked(connection, "unpark", feed.view.name, feed.generation, conversation)
        if not parked:
            return None
        version = parked[0][0]
        behind = (place.shard, conversation, version, at, _BEHIND, list(feed.view.types))
        events = self._events(_asked(connection, "events_behind", *behind))
        return parked[0], events, event_batches(events, feed.view, partial(_owner, connection))

    def _events(self, rows: Iterable[TupleRow]) -> list[RecordedEvent]:
        return self._reading(sorted(map(RecordedEvent._make, rows), key=itemgetter(0, 1)))


_Unparked = tuple[TupleRow, list[RecordedEvent], list[EventBatch]]


def _send_questions(
    connection: LogConnection, batch: Batch
) -> tuple[Cursor[TupleRow], Cursor[TupleRow]]:
    """Ask for the events of a batch, and for the conversations that wait there."""
    feeds, places = _feeds(batch.feeds), _places(batch.segments)
    types = list(batch.types())
    reading = sent(connection, "events_of_parts", *places, *_spans(batch.segments), types)
    return reading, sent(connection, "parked_in_parts", *feeds, *places)


_Failed = tuple[Feed, Failure]
_Parked = Mapping[tuple[str, int], Collection[UUID]]
_Taken = Sequence[tuple[Feed, list[EventBatch]]]


def _takes(batch: Batch, batches: Sequence[EventBatch]) -> _Taken:
    return [(feed, taken(batches, feed.view)) for feed in batch.feeds]


def _swift_steps(
    connection: LogConnection, place: Part, parked: _Parked, by_feed: _Taken
) -> Iterator[_Failed]:
    """Ask for all rows that the views have to know at once; then the server writes as we fold."""
    begun: list[tuple[Feed, Lookup, SwiftRows]] = []
    for feed, batches in by_feed:
        waiting = parked.get((feed.view.name, feed.generation), ())
        rows = SwiftRows(connection, *place, waiting)
        lookup = ask(feed, batches, rows)
        if lookup.keys:
            rows.ask(feed, lookup.keys)
        begun.append((feed, lookup, rows))
    for feed, lookup, rows in begun:
        for failure in finish(feed, lookup, rows):
            yield feed, failure


def _careful_steps(
    connection: LogConnection, place: Part, parked: _Parked, by_feed: _Taken
) -> Iterator[_Failed]:
    del parked
    for feed, batches in by_feed:
        for failure in step(feed, batches, PostgresRows(connection, *place)):
            yield feed, failure


def _send_move(connection: LogConnection, batch: Batch, lease: Lease | None) -> Cursor[TupleRow]:
    moves = [(feed, at) for feed in batch.feeds for at in batch.segments]
    return sent(
        connection,
        "checkpoints_moved",
        *([feed.view.name for feed, _ in moves], [feed.generation for feed, _ in moves]),
        *([at.place.shard for _, at in moves], [at.place.part for _, at in moves]),
        *([at.after for _, at in moves], [at.until for _, at in moves]),
        lease.owner if lease else None,
        [lease.epochs.get(at.place) if lease else None for _, at in moves],
        lease.view if lease else None,
    )


def _must_have_moved(moved: Cursor[TupleRow], batch: Batch) -> None:
    [(count,)] = moved.fetchall()
    if count != len(batch.feeds) * len(batch.segments):
        raise LeaseLost


def _owner(connection: LogConnection, conversation: UUID) -> UUID | None:
    rows = _asked(connection, "owner", conversation)
    return rows[0][0] if rows else None


def _by_feed(rows: Iterable[TupleRow]) -> dict[tuple[str, int], set[UUID]]:
    conversations: dict[tuple[str, int], set[UUID]] = {}
    for view, generation, conversation in rows:
        conversations.setdefault((view, generation), set()).add(conversation)
    return conversations


def _feeds(feeds: Sequence[Feed]) -> tuple[list[str], list[int]]:
    return [feed.view.name for feed in feeds], [feed.generation for feed in feeds]


def _places(segments: Sequence[Segment]) -> tuple[list[int], list[int]]:
    return [at.place.shard for at in segments], [at.place.part for at in segments]


def _spans(segments: Sequence[Segment]) -> tuple[list[int], list[int]]:
    return [at.after for at in segments], [at.until for at in segments]


def _asked(connection: LogConnection, name: str, *parameters: object) -> list[TupleRow]:
    return sent(connection, name, *parameters).fetchall()
