"""Workers in processes that are killed, stalled and replaced, and what every view must come to."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Any, Final, TypeAlias
from uuid import UUID

import psycopg

from onrecord.adapters.storage.postgres.connections import (
    Connections,
    LogConnection,
    address_of,
    connected,
)
from onrecord.adapters.storage.postgres.postgres import migrate, open_postgres
from onrecord.adapters.views.postgres.builds import PostgresBuilds
from onrecord.adapters.views.postgres.rows import PostgresRows
from onrecord.adapters.views.postgres.worker import Worker
from onrecord.domain.log import RecordedEvent
from onrecord.projections.views.registry import VIEWS
from onrecord.projections.views.step import event_batches, part_of, step
from onrecord.projections.views.view import Changes, EventBatch, Feed, Row, View
from tests.adapters.views.row_stores import everything
from tests.adapters.views.workers import asked, caught_up
from tests.patience import PATIENCE, join_process
from tests.postgres_server import Server

POISON: Final = 0xFF
"""The first byte of the ids of conversations whose third event cannot be folded."""

PARTS: Final = 4

EACH_ROW: Final = """
SELECT to_jsonb(v) - 'generation' FROM onrecord.view_{name} AS v
JOIN onrecord.generation AS g ON g.number = v.generation AND g.status = 'live' AND g.view = %s
"""
# What is kept by part is summed when it is read; in which part does not matter.
ROWS: Final = {
    "usage": """
SELECT (v.tenant, v.day, v.api, v.model, v.request, v.conversation_id, sum(v.responses),
    sum(v.input_tokens), sum(v.output_tokens), sum(v.cached_tokens), sum(v.cache_write_tokens),
    sum(v.reasoning_tokens))::text
FROM onrecord.view_usage AS v
JOIN onrecord.generation AS g ON g.number = v.generation AND g.status = 'live' AND g.view = %s
GROUP BY v.tenant, v.day, v.api, v.model, v.request, v.conversation_id
"""
}

Contents: TypeAlias = dict[str, Counter[str]]
"""How often each row is in each view, and `parked`: which events wait."""


class Unfoldable(Exception):
    """What a view raises on purpose."""


@dataclass(frozen=True, slots=True)
class Poisoned:
    """A view that cannot fold some events."""

    view: View

    @property
    def name(self) -> str:
        return self.view.name

    @property
    def revision(self) -> int:
        return self.view.revision

    @property
    def strict(self) -> bool:
        return self.view.strict

    @property
    def types(self) -> frozenset[str]:
        return self.view.types

    @property
    def texts(self) -> frozenset[str]:
        return self.view.texts

    def wanted(self, batch: EventBatch) -> list[Row]:
        return self.view.wanted(batch)

    def fold(self, batch: EventBatch, known: Sequence[Row]) -> Changes:
        is_poisoned = batch.conversation_id.bytes[0] == POISON
        if is_poisoned and any(event.version == 3 for event in batch.events):
            raise Unfoldable
        return self.view.fold(batch, known)


POISONED: Final[Mapping[str, View]] = {
    # A strict view would stand still, and all of it would wait.
    name: view if view.strict else Poisoned(view)
    for name, view in VIEWS.items()
}


def work(url: str, told: Connection) -> None:
    """Keep all views up to date until killed; tell the worker's name first."""
    logging.disable()
    worker = Worker(url, POISONED, threads=2)
    told.send(worker.name)
    worker.run()


class Crew(AbstractContextManager["Crew"]):
    """Worker processes, by name; all are gone at the end of the scope."""

    def __init__(self, url: str, size: int) -> None:
        self.url = url
        self._processes = multiprocessing.get_context("forkserver")
        self._processes.set_forkserver_preload(["tests.faults.workers"])
        self._working: dict[str, BaseProcess] = {}
        for _ in range(size):
            self.start()

    def start(self) -> str:
        heard, told = self._processes.Pipe(duplex=False)
        process = self._processes.Process(target=work, args=(self.url, told), daemon=True)
        process.start()
        told.close()
        assert heard.poll(PATIENCE), "the worker did not come up"
        name: str = heard.recv()
        heard.close()
        self._working[name] = process
        return name

    @property
    def names(self) -> list[str]:
        return list(self._working)

    def kill(self, name: str) -> None:
        process = self._working.pop(name)
        process.kill()
        join_process(process)
        assert process.exitcode == -signal.SIGKILL, "the worker ended before it was killed"

    def send(self, name: str, sign: signal.Signals) -> None:
        pid = self._working[name].pid
        assert pid is not None
        os.kill(pid, sign)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for process in self._working.values():
            process.kill()
            join_process(process)


def lapse(url: str, name: str = "%") -> None:
    """Let the leases of a worker run out, as they do by themselves when it says nothing for long."""
    asked(url, "UPDATE onrecord.part SET leased_until = 0 WHERE owner LIKE %s", name)
    asked(url, "DELETE FROM onrecord.worker WHERE name LIKE %s", name)


def finish(url: str) -> None:
    """Bring all views to the end of the log by a worker that nothing happens to."""
    lapse(url)
    caught_up(url, POISONED)


def contents(url: str) -> Contents:
    """The rows of all live views, and what is parked."""
    found = {
        name: Counter(
            str(row) for (row,) in _asked(url, ROWS.get(name, EACH_ROW).format(name=name), name)
        )
        for name in POISONED
    }
    waiting = _asked(url, "SELECT view, conversation_id, version FROM onrecord.parked")
    return found | {"parked": Counter(map(str, waiting))}


def contents_from_scratch(url: str, server: Server) -> Contents:
    """What views come to if each folds all events of the log at once, in a database of its own."""
    log = open_postgres(url)
    by_place: dict[tuple[int, int], list[RecordedEvent]] = defaultdict(list)
    for event in everything(log):
        by_place[event.shard, part_of(event.conversation_id, PARTS)].append(event)
    log.close()
    scratch = server.create("log", migrate)
    connections = Connections(address_of(scratch), most=1, wait=10.0, prepared=True)
    PostgresBuilds(connections, POISONED).begin()
    connections.close()
    parked: list[tuple[str, UUID, int]] = []
    with connected(address_of(scratch)) as connection:
        for place, events in by_place.items():
            parked += _stepped(connection, place, events)
    found = contents(scratch)
    server.drop(scratch)
    return found | {"parked": Counter(map(str, parked))}


def _stepped(
    connection: LogConnection,
    place: tuple[int, int],
    events: Sequence[RecordedEvent],
) -> list[tuple[str, UUID, int]]:
    return [
        (view.name, failure.event.conversation_id, failure.event.version)
        for view in POISONED.values()
        for failure in step(
            Feed(view, 1), event_batches(events, view), PostgresRows(connection, *place)
        )
    ]


def _asked(url: str, query: str, *parameters: object) -> list[tuple[Any, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute(query.encode(), parameters).fetchall()
