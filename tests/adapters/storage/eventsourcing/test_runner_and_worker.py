"""The library's `ProjectionRunner` and ours fold the events of one application into the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from eventsourcing.dispatch import singledispatchmethod
from eventsourcing.domain import AggregateEvent
from eventsourcing.persistence import InfrastructureFactory, Tracking
from eventsourcing.postgres import PostgresTrackingRecorder
from eventsourcing.projection import Projection, ProjectionRunner
from eventsourcing.sqlite import SQLiteTrackingRecorder
from eventsourcing.utils import Environment
from psycopg.sql import SQL

from onrecord import Store
from onrecord.eventsourcing import save_together
from tests.adapters.storage.eventsourcing.refunds import Refund, Refunds, environment
from tests.adapters.storage.eventsourcing.test_projections import postgres_environment
from tests.adapters.views.own_projections import opened
from tests.patience import PATIENCE

SEED = 20_261_124
TABLE = "CREATE TABLE IF NOT EXISTS refund_step (refund text, version int, type text, cents int)"


class Step(NamedTuple):
    """A row: what became of a refund."""

    refund: str
    version: int
    type: str
    cents: int | None


class InSqlite(SQLiteTrackingRecorder):
    def construct_create_table_statements(self) -> list[str]:
        return [*super().construct_create_table_statements(), TABLE]

    def add(self, step: Step, tracking: Tracking) -> None:
        with self.datastore.transaction(commit=True) as cursor:
            self._insert_tracking(cursor, tracking)
            cursor.execute("INSERT INTO refund_step VALUES (?, ?, ?, ?)", step)

    def steps(self) -> list[Step]:
        with self.datastore.transaction(commit=False) as cursor:
            cursor.execute("SELECT * FROM refund_step")
            return [Step(*row) for row in cursor.fetchall()]


class InPostgres(PostgresTrackingRecorder):
    def __init__(self, datastore: Any, **kwargs: Any) -> None:
        super().__init__(datastore, **kwargs)
        self.sql_create_statements.append(SQL(TABLE).format())

    def add(self, step: Step, tracking: Tracking) -> None:
        with self.datastore.transaction(commit=True) as cursor:
            self._insert_tracking(cursor, tracking)
            cursor.execute("INSERT INTO refund_step VALUES (%s, %s, %s, %s)", step)

    def steps(self) -> list[Step]:
        with self.datastore.transaction() as cursor:
            rows = cursor.execute("SELECT * FROM refund_step").fetchall()
            return [Step(**row) for row in rows]


class Steps(Projection[Any]):
    """Keeps each step of each refund."""

    name = "steps"

    @singledispatchmethod
    def process_event(self, domain_event: Any, tracking: Tracking) -> None:
        pass

    @process_event.register
    def step(self, domain_event: AggregateEvent, tracking: Tracking) -> None:
        cents: int | None = getattr(domain_event, "cents", None)
        place = (str(domain_event.originator_id), domain_event.originator_version)
        self.view.add(Step(*place, type(domain_event).__name__, cents), tracking)


@pytest.fixture(params=["sqlite", "postgres"])
def store(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Store]:
    monkeypatch.setenv("ONRECORD_ACTOR", "ann")
    yield from opened(request.param, tmp_path)


def view_environment(store: Store, folder: Path, name: str) -> dict[str, str]:
    """Where a projection keeps its rows: in tables of the library's own, under a name."""
    if store.url.startswith("sqlite"):
        own = {"PERSISTENCE_MODULE": "eventsourcing.sqlite", "SQLITE_DBNAME": f"{folder}/{name}.db"}
    else:
        own = {"PERSISTENCE_MODULE": "eventsourcing.postgres"} | postgres_environment(store.url)
    return {f"{Steps.name.upper()}_{key}": value for key, value in own.items()}


def acted(application: Refunds, store: Store) -> None:
    """Request and grant refunds, some with a conversation, in an order that is mixed."""
    dice = Random(SEED)
    chat = store.conversation("support")
    waiting: list[UUID] = []
    for number in range(60):
        if waiting and dice.random() < 0.4:
            application.grant(waiting.pop(dice.randrange(len(waiting))), "ann", chat)
            continue
        refund = Refund(number)
        if dice.random() < 0.5:
            application.save(refund)
        else:
            save_together(application, [refund], chat.user, f"refund {number}")
        waiting.append(refund.id)


def by_runner(store: Store, folder: Path) -> list[Step]:
    """The rows that the library's own runner makes."""
    kind = InSqlite if store.url.startswith("sqlite") else InPostgres
    env = environment(store.url) | view_environment(store, folder, "runner")
    with ProjectionRunner(
        application_class=Refunds, projection_class=Steps, view_class=kind, env=env
    ) as runner:
        last = runner.app.recorder.max_notification_id()
        runner.wait(last, timeout=PATIENCE)
        steps: list[Step] = runner.projection.view.steps()
        return steps


def test_both_make_the_same_rows_each_refund_in_its_order(store: Store, tmp_path: Path) -> None:
    application = Refunds(env=environment(store.url))
    acted(application, store)
    expected = by_runner(store, tmp_path)
    kind = InSqlite if store.url.startswith("sqlite") else InPostgres
    own = view_environment(store, tmp_path, "worker")
    factory = InfrastructureFactory.construct(Environment(Steps.name, own))
    view: Any = factory.tracking_recorder(kind)
    before = len(view.steps())  # On PostgreSQL the runner's rows are in the same table.
    store.run(Steps(view))
    steps: list[Step] = view.steps()[before:]
    assert sorted(steps) == sorted(expected)
    assert len(expected) == 60
    for refund in {step.refund for step in steps}:
        versions = [step.version for step in steps if step.refund == refund]
        assert versions == list(range(1, len(versions) + 1))
    factory.close()
    application.close()
