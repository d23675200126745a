"""Projections of one's own beside the library's ProjectionRunner: the same sums, in one run.

The fold is a `TableProjection`, and a `RowProjection`; the library's is its own `Projection`, an event a
call, fed by a worker of ours. On PostgreSQL, workers with one thread.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from itertools import cycle
from time import perf_counter, sleep
from typing import Any, Final, cast
from uuid import UUID, uuid4

from eventsourcing.dispatch import singledispatchmethod
from eventsourcing.persistence import InfrastructureFactory, Tracking
from eventsourcing.projection import Projection
from eventsourcing.utils import Environment

import onrecord
from onrecord import EventBatch, ProjectionTransaction, RecordedEvent
from onrecord.adapters.storage.postgres.postgres import open_postgres
from onrecord.adapters.views.own_projections import register_projection
from onrecord.adapters.views.postgres.worker import Worker
from onrecord.domain.events import ResponseCompleted
from onrecord.eventsourcing import ConversationEvent
from onrecord.projections.views.projection import OwnProjection
from tests.bench import stock_projection
from tests.bench.measure import Aim, Figures, Measure, Rounds
from tests.bench.payload import batches, text
from tests.bench.workspace import Workspace
from tests.factories import TENANT, appending
from tests.patience import join

_ROUNDS: Final = 3
_MOST: Final = 20_000
_MOST_OF_THE_PEER: Final = 5_000
_DAY: Final = datetime(2026, 11, 23, tzinfo=UTC)
_GUARANTEE: Final = "rows and checkpoint in one transaction"

_TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS own_tokens (generation int, day date, model text, tokens bigint, "
    "PRIMARY KEY (generation, day, model))"
)
_ADDED: Final = (
    "INSERT INTO own_tokens AS t VALUES ($1, $2::text::date, $3, $4) ON CONFLICT (generation, day, model) "
    "DO UPDATE SET tokens = t.tokens + excluded.tokens"
)


class Sums(onrecord.TableProjection):
    """Sums by day and model, in a table of one's own."""

    name = "sums"
    types = (ResponseCompleted,)

    def create_tables(self, transaction: ProjectionTransaction) -> None:
        """Make the table."""
        transaction.execute(_TABLE)

    def write(self, transaction: ProjectionTransaction, events: Sequence[RecordedEvent]) -> None:
        """Add what a batch comes to."""
        sums = Counter[tuple[str, str]]()
        for recorded in events:
            answered = recorded.event()
            if isinstance(answered, ResponseCompleted):
                day = recorded.recorded_time.date().isoformat()
                sums[day, str(answered.model)] += _tokens(answered)
        for (day, model), tokens in sums.items():
            transaction.execute(_ADDED, transaction.generation, day, model, tokens)

    def delete_generation(self, transaction: ProjectionTransaction) -> None:
        """Delete the sums of a generation."""
        transaction.execute("DELETE FROM own_tokens WHERE generation = $1", transaction.generation)

    def forget(self, transaction: ProjectionTransaction, conversation_id: UUID) -> None:
        """Keep sums: they say nothing of what was said."""


class Rows(onrecord.RowProjection):
    """Sums by conversation, day and model, in rows that the store keeps."""

    name = "rows"
    types = (ResponseCompleted,)

    def wanted(self, batch: EventBatch) -> list[str]:
        """Return the names of the sums."""
        return [name for name, _ in self._answers(batch)]

    def fold(
        self, batch: EventBatch, rows: Mapping[str, dict[str, Any]]
    ) -> dict[str, dict[str, Any]]:
        """Add what a batch comes to."""
        sums = Counter({name: int(row["tokens"]) for name, row in rows.items()})
        for name, answered in self._answers(batch):
            sums[name] += _tokens(answered)
        return {name: {"tokens": tokens} for name, tokens in sums.items()}

    def _answers(self, batch: EventBatch) -> Iterator[tuple[str, ResponseCompleted]]:
        for recorded in batch.events:
            answered = recorded.event()
            if isinstance(answered, ResponseCompleted):
                yield f"{recorded.recorded_time.date()}/{answered.model}", answered


class LibrarySums(Projection[stock_projection.Sums]):
    """The library's own, an event a call, with the recorder that its runner has."""

    name = "librarysums"
    topics = ("response.completed",)

    @singledispatchmethod
    def process_event(self, domain_event: Any, tracking: Tracking) -> None:
        """Take an event."""
        if isinstance(domain_event, ConversationEvent) and isinstance(
            domain_event.event, ResponseCompleted
        ):
            answered = domain_event.event
            self.view.add(_DAY, str(answered.model), _tokens(answered), tracking)


def measures(workspace: Workspace) -> Iterator[Measure]:
    """Yield events a second of each, beside the library's runner in the same run."""
    count = min(workspace.scale.sizes[-1], _MOST)
    workspace.say(
        f"own projections: {count:,} responses, and {_MOST_OF_THE_PEER:,} at most of the library's"
    )
    peer_count = min(count, _MOST_OF_THE_PEER)
    folds: dict[str, Callable[[str], OwnProjection]] = {
        "tables": lambda _: Sums(),
        "rows": lambda _: Rows(),
        "library": _library,
    }
    ours: dict[str, Rounds] = {name: [] for name in folds}
    peers: Rounds = []
    for _ in range(_ROUNDS):
        url = workspace.database()
        _fill(url, count)
        for name, projection in folds.items():
            ours[name].append([_rate(url, projection(url), count)])
        if workspace.peers:
            stock = workspace.database()
            stock_projection.filled(stock, peer_count)
            peers.append([stock_projection.rate(stock)])
    theirs = f"ProjectionRunner, the same sums, {peer_count:,} events"
    for name, rounds in ours.items():
        yield Measure(
            f"own_projecting.{name}",
            "events/s",
            Figures(f"a worker, {name}, {count:,} events", _GUARANTEE, rounds),
            Figures(theirs, _GUARANTEE, peers) if peers else None,
            Aim(5 if name == "library" else 20, "at least") if peers else None,
        )


def _fill(url: str, count: int) -> None:
    conversations = cycle([uuid4() for _ in range(100)])
    appends = (appending(next(conversations), _answered(), tenant=TENANT) for _ in range(count))
    with closing(open_postgres(url)) as log:
        for group in batches(appends, 100):
            log.append(group)


def _rate(url: str, projection: OwnProjection, count: int) -> float:
    view = register_projection(projection, {})
    began = perf_counter()
    worker = Worker(url, {view.name: view})
    thread = threading.Thread(target=worker.run)
    thread.start()
    ends = worker.ends()
    while not worker.has_come_to(ends):
        sleep(0.005)
    taken = perf_counter() - began
    worker.stop()
    join(thread)
    return count / taken


def _library(url: str) -> LibrarySums:
    environment = Environment("librarysums", stock_projection.environment(url))
    factory = InfrastructureFactory.construct(environment)
    return LibrarySums(
        cast("stock_projection.Sums", factory.tracking_recorder(stock_projection.Sums))
    )


def _answered() -> ResponseCompleted:
    return ResponseCompleted(
        response=uuid4(),
        api="anthropic-messages",
        model="claude-sonnet-5",
        envelope={"usage": {"input_tokens": 100, "output_tokens": 10}, "said": text()},
        input_tokens=100,
        output_tokens=10,
    )


def _tokens(answered: ResponseCompleted) -> int:
    return (answered.input_tokens or 0) + (answered.output_tokens or 0)
