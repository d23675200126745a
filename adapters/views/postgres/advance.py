"""One step of views on PostgreSQL: events are read, folded and committed with their checkpoints.

It is one transaction: the checkpoints move first, which locks them and shows whether this worker is
still the one; then the events are read, under the lock that erasures wait for; then each build's
rows are written. Statements go out together wherever no answer is waited for.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Final
from uuid import UUID

import psycopg
from psycopg import Cursor, errors
from psycopg.rows import TupleRow

from onrecord.adapters.storage.postgres.connections import Connections, LogConnection, fetched, sent
from onrecord.adapters.storage.postgres.errors import translated
from onrecord.adapters.views.postgres.builds import LEASE_SECONDS, Lease
from onrecord.domain.errors import OnrecordError
from onrecord.domain.log import RecordedEvent
from onrecord.projections.views.planning import Batch, Part, Segment, size_of
from onrecord.projections.views.step import (
    Failure,
    Lookup,
    Refused,
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
from onrecord.projections.views.view import Changes, EventBatch, Feed, Row, rows_json

_OF_A_VALUE: Final = (errors.DataError, errors.IntegrityError, errors.ProgramLimitExceeded)


class PostgresRows:
    """What a step reads and writes; `connection` is in a transaction, of one part of a shard."""

    def __init__(self, connection: LogConnection, shard: int, part: int) -> None:
        """Use a connection that nobody else uses until its transaction ends."""
        self._connection = connection
        self._place = (shard, part)

    def blocked(self, feed: Feed, conversations: Sequence[UUID]) -> Collection[UUID]:
        """Return those of these conversations that wait behind a parked event."""
        place = (feed.view.name, feed.generation, list(conversations))
        return {waiting for (waiting,) in fetched(self._connection, "blocked", place)}

    def known(self, feed: Feed, keys: Sequence[Row]) -> list[Row]:
        """Return the rows of these keys that are there; Refused where a key is not taken."""
        name, wanted = f"{feed.view.name}_known", (feed.generation, rows_json(keys))
        with self._taken_back():
            return [row for (row,) in fetched(self._connection, name, wanted)]

    def write(self, feed: Feed, changes: Changes) -> None:
        """Write changes, all or none; Refused where the database refuses a value."""
        with self._taken_back():
            if changes.drop:
                drop = (feed.generation, rows_json(changes.drop))
                fetched(self._connection, f"{feed.view.name}_drop", drop)
            if changes.put:
                put = (feed.generation, rows_json(changes.put), *self._place)
                fetched(self._connection, f"{feed.view.name}_put", put)

    @contextmanager
    def _taken_back(self) -> Generator[None]:
        """Take back what is done within, where a value is refused, and go on before it."""
        try:
            with self._connection.transaction():
                yield
        except _OF_A_VALUE as exc:
            raise Refused(type(exc).__name__) from exc
        except psycopg.Error as exc:
            raise translated(exc) from exc


# The rows of views on PostgreSQL where nothing is expected to fail: writes are sent, not awaited.
#
# A value that the database refuses shows only when an answer is awaited, and spoils the
# transaction: then all of it is done again with PostgresRows, which can tell which conversation
# it was.


class SwiftRows:
    """What a step reads and writes; `connection` is in a transaction, and in pipeline mode."""

    def __init__(
        self, connection: LogConnection, shard: int, part: int, parked: Collection[UUID]
    ) -> None:
        """Use a connection of one batch; `parked` are the conversations that wait in its view."""
        self._connection = connection
        self._place = (shard, part)
        self._parked = parked
        self._asked: tuple[Sequence[Row], Cursor[TupleRow]] | None = None

    def blocked(self, feed: Feed, conversations: Sequence[UUID]) -> Collection[UUID]:
        """Return those of these conversations that wait behind a parked event, and others."""
        del feed, conversations
        return self._parked

    def ask(self, feed: Feed, keys: Sequence[Row]) -> None:
        """Send the question that `known` will be asked with these very keys."""
        self._asked = (keys, self._send(feed, "known", rows_json(keys)))

    def known(self, feed: Feed, keys: Sequence[Row]) -> list[Row]:
        """Return the rows of these keys that are there, each with its `conversation_id`."""
        if self._asked is None or self._asked[0] is not keys:
            self.ask(feed, keys)
        assert self._asked is not None
        (_, cursor), self._asked = self._asked, None
        try:
            return [row for (row,) in cursor.fetchall()]
        except psycopg.Error as exc:
            raise translated(exc) from exc

    def write(self, feed: Feed, changes: Changes) -> None:
        """Send changes; whether they were written shows later."""
        if changes.drop:
            self._send(feed, "drop", rows_json(changes.drop))
        if changes.put:
            self._send(feed, "put", rows_json(changes.put), *self._place)

    def _send(self, feed: Feed, verb: str, *parameters: object) -> Cursor[TupleRow]:
        name = f"{feed.view.name}_{verb}"
        try:
            return sent(self._connection, name, feed.generation, *parameters)
        except psycopg.Error as exc:
            raise translated(exc) from exc


_STALLED: Final = str(LEASE_SECONDS * 1000)

_BEHIND: Final = 1000
"""How many events of a parked conversation are tried at once."""


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

    def __init__(self, connections: Connections) -> None:
        """Use connections of a worker, one a thread."""
        self._connections = connections
        self._parts = int(connections.ask("parts_of_a_shard")[0][0])

    def advance(self, batch: Batch, lease: Lease | None) -> Folded:
        """Fold a batch, all or nothing. Without a lease, the locks of its checkpoints are enough.

        Raises LeaseLost and StrictViewStopped, and StorageError where the database itself fails.
        """
        try:
            return self._folded(batch, lease, is_swift=True)
        except OnrecordError as error:
            if not isinstance(error.__cause__, _OF_A_VALUE):
                raise
        return self._folded(batch, lease, is_swift=False)

    def retry(self, feed: Feed, place: Part, at: int, conversation: UUID, lease: Lease) -> Folded:
        """Try a parked event again, and what its conversation said since, up to `at`.

        That is the checkpoint of its part. Raises as `advance` does.
        """
        unmoved = Batch((feed,), (Segment(place, at, at),))
        with self._connections.transaction() as connection:
            sent(connection, "batch_begun", _STALLED)
            _must_have_moved(_send_move(connection, unmoved, lease), unmoved)
            parked = _asked(connection, "unpark", feed.view.name, feed.generation, conversation)
            if not parked:
                return Folded()
            [(version, attempts, kind, error, since)] = parked
            behind = (place.shard, conversation, version, at, _BEHIND, list(feed.view.types))
            events = _events(_asked(connection, "events_behind", *behind))
            batches = event_batches(events, feed.view, partial(_owner, connection))
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
            sent(connection, "batch_begun", _STALLED)
            moved = _send_move(connection, batch, lease)
            feeds, places = _feeds(batch.feeds), _places(batch.segments)
            reading = sent(
                connection, "events_of_parts", *places, *_spans(batch.segments), list(batch.types())
            )
            waiting = sent(connection, "parked_in_parts", *feeds, *places)
            _must_have_moved(moved, batch)
            events, parked = _events(reading.fetchall()), _by_feed(waiting.fetchall())
            batches = by_conversation(events, partial(_owner, connection))
            place = batch.segments[0].place
            steps = _swift_steps if is_swift else _careful_steps
            failed = [*steps(connection, place, parked, _takes(batch, batches))]
            for feed, failure in failed:
                if feed.view.strict:
                    raise StrictViewStopped(feed, failure)
            stopped = self._parked(connection, failed)
            return Folded(len(events), size_of(events), tuple(failed), stopped)

    def _parked(
        self, connection: LogConnection, failed: Sequence[tuple[Feed, Failure]]
    ) -> frozenset[Feed]:
        """Park what failed; return the builds that stop, since too much of them fails alike."""
        for feed, failure in failed:
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
    )


def _must_have_moved(moved: Cursor[TupleRow], batch: Batch) -> None:
    [(count,)] = moved.fetchall()
    if count != len(batch.feeds) * len(batch.segments):
        raise LeaseLost


def _events(rows: Iterable[TupleRow]) -> list[RecordedEvent]:
    return sorted(map(RecordedEvent._make, rows), key=itemgetter(0, 1))


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
