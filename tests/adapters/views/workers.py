"""Workers for tests: views that fail on purpose, workers in threads, and what they came to."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, LiteralString
from uuid import UUID

import psycopg

from onrecord.adapters.storage.postgres.connections import Connections, address_of
from onrecord.adapters.storage.postgres.postgres import Postgres
from onrecord.adapters.views.ports import Reading
from onrecord.adapters.views.postgres.advance import PostgresAdvance
from onrecord.adapters.views.postgres.builds import Lease, Parts, PostgresBuilds
from onrecord.adapters.views.postgres.worker import Worker
from onrecord.adapters.views.postgres.worker_thread import Tally, WorkerThread
from onrecord.domain.log import RecordedEvent
from onrecord.projections.views.audit import AUDIT
from onrecord.projections.views.step import event_batches
from onrecord.projections.views.view import Changes, EventBatch, Row, View
from tests.factories import appending, prompt
from tests.patience import PATIENCE, join, until


class Unfoldable(Exception):
    """What a view raises on purpose."""


@dataclass(frozen=True, slots=True)
class Failing:
    """The view `audit`, but that it cannot fold the events of some conversations."""

    poison: set[UUID] = field(default_factory=set[UUID], hash=False)
    strict: bool = False
    revision: int = AUDIT.revision
    name: str = "audit"
    types: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()

    def wanted(self, batch: EventBatch) -> list[Row]:
        return AUDIT.wanted(batch)

    def fold(self, batch: EventBatch, known: Sequence[Row]) -> Changes:
        if batch.conversation_id in self.poison:
            raise Unfoldable
        return AUDIT.fold(batch, known)


@dataclass(frozen=True, slots=True)
class Changed:
    """The view `audit`, but that what it makes of a passage, and asks for, is the test's."""

    change: Callable[[EventBatch, Changes], Changes]
    strict: bool = False
    revision: int = AUDIT.revision
    name: str = "audit"
    types: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()
    asks: Callable[[EventBatch], list[Row]] = AUDIT.wanted

    def wanted(self, batch: EventBatch) -> list[Row]:
        return self.asks(batch)

    def fold(self, batch: EventBatch, known: Sequence[Row]) -> Changes:
        return self.change(batch, AUDIT.fold(batch, known))


@contextmanager
def working(
    url: str, views: Mapping[str, View], *, threads: int = 1, reading: Reading = list
) -> Generator[Worker]:
    """A worker at work in threads of this process, until the end of the scope."""
    worker = Worker(url, views, threads=threads, reading=reading)
    thread = threading.Thread(target=worker.run)
    thread.start()
    try:
        yield worker
    finally:
        worker.stop()
        join(thread)


def caught_up(url: str, views: Mapping[str, View], reading: Reading = list) -> None:
    """Let a worker bring views to the end of the log, and end."""
    with working(url, views, reading=reading) as worker:
        until(lambda: worker.has_come_to(worker.ends()), "the end of the log")


class Stepping:
    """A worker that does nothing by itself: each of its moves is the test's."""

    def __init__(self, url: str, views: Mapping[str, View], name: str = "stepping") -> None:
        self.now = 0.0
        self.connections = Connections(address_of(url), most=4, wait=10.0, prepared=True)
        self.builds = PostgresBuilds(self.connections, views)
        self.builds.begin()
        self.parts = Parts(self.connections, name)
        self.tally = Tally()
        self.advance = PostgresAdvance(self.connections)
        self.hand = WorkerThread(self.advance, self.builds, self.tally, lambda: self.now)

    def claim(self) -> Lease:
        """Take the parts that are free, and return the lease of all that are held."""
        self.parts.beat()
        return self.parts.lease()

    def turn(self, lease: Lease | None = None) -> bool:
        """One turn, a second after the one before."""
        self.now += 1.0
        feeds = self.builds.feeding().feeds
        return self.hand.turn(lease or self.parts.lease(), feeds)

    def finish(self) -> None:
        """Turns until there is nothing to do; a slow machine does not lose the parts meanwhile."""
        self.claim()
        while self.turn():
            self.claim()

    def close(self) -> None:
        self.connections.close()


def chat(log: Postgres, conversations: Collection[UUID], events: int = 1) -> None:
    """Append prompts to each of these conversations."""
    log.append([appending(one, *(prompt() for _ in range(events))) for one in conversations])


def asked(url: str, query: LiteralString, *parameters: object) -> list[tuple[Any, ...]]:
    """The rows of a query, committed; it fails where a lock is never let go."""
    patient = f"-c lock_timeout={PATIENCE:.0f}s"
    with psycopg.connect(url, autocommit=True, options=patient) as connection:
        cursor = connection.execute(query, parameters)
        return cursor.fetchall() if cursor.description else []


def folded(url: str) -> dict[UUID, list[int]]:
    """Versions that the live generation of `audit` has, by conversation, in order."""
    rows = asked(
        url,
        "SELECT v.conversation_id, array_agg(v.version ORDER BY v.version) "
        "FROM onrecord.view_audit AS v JOIN onrecord.generation AS g "
        "ON g.view = 'audit' AND g.number = v.generation AND g.status = 'live' GROUP BY 1",
    )
    return dict(rows)


def from_scratch(events: Collection[RecordedEvent]) -> dict[tuple[str, int], Row]:
    """The rows of `audit` as one fold of all events, by conversation and version."""
    rows = [row for batch in event_batches(events, AUDIT) for row in AUDIT.fold(batch, ()).put]
    return {(row["conversation_id"], row["version"]): row for row in rows}
