"""A projection of the library, fed by a store: its own trackings, each event once."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qs, unquote, urlsplit
from uuid import UUID

import pytest
from eventsourcing.dispatch import singledispatchmethod
from eventsourcing.persistence import InfrastructureFactory, Tracking, TrackingRecorder
from eventsourcing.popo import POPOTrackingRecorder
from eventsourcing.postgres import PostgresTrackingRecorder
from eventsourcing.projection import Projection
from eventsourcing.sqlite import SQLiteTrackingRecorder
from eventsourcing.utils import Environment
from psycopg.sql import SQL

import onrecord
from onrecord import Store
from onrecord.adapters.storage.postgres.postgres import migrate
from onrecord.domain.errors import ViewStopped
from onrecord.domain.events import MessageRecorded
from onrecord.eventsourcing import ConversationEvent, ProjectionSink
from tests.adapters.views.own_projections import STORES, Unwritable, asked, opened
from tests.patience import PATIENCE, kill, until
from tests.postgres_server import VERSIONS, server

ROOT = Path(__file__).parents[4]
SEED = 20_261_123


class Prompts(Projection[Any]):
    """Counts the prompts that it is handed, in its recorder."""

    name = "Prompts"

    def __init__(self, view: Any) -> None:
        super().__init__(view)
        self.poison: set[int] = set()
        self.handed: list[tuple[UUID, int]] = []

    @singledispatchmethod
    def process_event(self, domain_event: Any, tracking: Tracking) -> None:
        pass

    @process_event.register
    def prompt(self, domain_event: ConversationEvent, tracking: Tracking) -> None:
        if isinstance(domain_event.event, MessageRecorded):
            if domain_event.originator_version in self.poison:
                raise Unwritable
            self.handed.append((domain_event.originator_id, domain_event.originator_version))
            self.view.add(tracking)


class InMemory(POPOTrackingRecorder):
    def __init__(self) -> None:
        super().__init__()
        self._prompts = 0

    def add(self, tracking: Tracking) -> None:
        with self._database_lock:
            self._assert_tracking_uniqueness(tracking)
            self._insert_tracking(tracking)
            self._prompts += 1

    def prompts(self) -> int:
        return self._prompts


class InSqlite(SQLiteTrackingRecorder):
    def construct_create_table_statements(self) -> list[str]:
        return [*super().construct_create_table_statements(), "CREATE TABLE prompt (n INTEGER)"]

    def add(self, tracking: Tracking) -> None:
        with self.datastore.transaction(commit=True) as cursor:
            self._insert_tracking(cursor, tracking)
            cursor.execute("INSERT INTO prompt VALUES (1)")

    def prompts(self) -> int:
        with self.datastore.transaction(commit=False) as cursor:
            cursor.execute("SELECT count(*) FROM prompt")
            return int(cursor.fetchone()[0])


class InPostgres(PostgresTrackingRecorder):
    def __init__(self, datastore: Any, **kwargs: Any) -> None:
        super().__init__(datastore, **kwargs)
        self.sql_create_statements.append(SQL("CREATE TABLE IF NOT EXISTS prompt (n int)").format())

    def add(self, tracking: Tracking) -> None:
        with self.datastore.transaction(commit=True) as cursor:
            self._insert_tracking(cursor, tracking)
            cursor.execute("INSERT INTO prompt VALUES (1)")

    def prompts(self) -> int:
        with self.datastore.transaction() as cursor:
            row = cursor.execute("SELECT count(*) AS n FROM prompt").fetchone()
            return int(cast("dict[str, Any]", row)["n"])


@pytest.fixture(params=STORES)
def store(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Store]:
    monkeypatch.setenv("ONRECORD_ACTOR", "ann")
    yield from opened(request.param, tmp_path)


@pytest.fixture
def view(store: Store, tmp_path: Path) -> Iterator[Any]:
    """The tracking recorder of the library for each database; PostgreSQL's is in the log's own."""
    if store.url.startswith("memory"):
        yield InMemory()
        return
    kinds: dict[str, tuple[type[TrackingRecorder], dict[str, str]]] = {
        "sqlite": (InSqlite, {"SQLITE_DBNAME": str(tmp_path / "prompts.db")}),
        "postgresql": (InPostgres, postgres_environment(store.url)),
    }
    kind, environment = kinds[store.url.partition(":")[0]]
    module = {"PERSISTENCE_MODULE": f"eventsourcing.{'sqlite' if kind is InSqlite else 'postgres'}"}
    factory = InfrastructureFactory.construct(Environment("prompts", module | environment))
    yield factory.tracking_recorder(kind)
    factory.close()


def postgres_environment(url: str) -> dict[str, str]:
    parts = urlsplit(url)
    return {
        "POSTGRES_DBNAME": parts.path.lstrip("/"),
        "POSTGRES_HOST": parse_qs(parts.query).get("host", [parts.hostname or ""])[0],
        "POSTGRES_PORT": str(parts.port or 5432),
        "POSTGRES_USER": unquote(parts.username or ""),
        "POSTGRES_PASSWORD": unquote(parts.password or ""),
    }


def test_a_projection_of_the_library_has_each_event_once_in_its_order(
    store: Store, view: Any
) -> None:
    projection = Prompts(view)
    for key in "abc":
        asked(store, key, 3)
    store.run(projection)
    store.run(projection)
    asked(store, "a")
    assert store.run(projection).behind == 0
    assert view.prompts() == 10
    for one in store.conversations():
        versions = [version for id_, version in projection.handed if id_ == one.conversation_id]
        assert versions == list(range(2, 2 + len(versions)))


def test_what_was_processed_is_known_by_its_own_trackings(store: Store, view: Any) -> None:
    asked(store, "a", 4)
    store.run(Prompts(view))
    store.views.keeper.rebuild("prompts")  # All of it is delivered again.
    assert view.prompts() == 4


def test_an_event_that_fails_is_parked_and_only_its_conversation_waits(
    store: Store, view: Any
) -> None:
    projection = Prompts(view)
    projection.poison = {4}
    asked(store, "bad", 4)
    asked(store, "good", 1)
    status = store.run(projection)
    assert (status.parked, status.stopped, status.behind) == (1, None, 0)
    asked(store, "bad", 1)
    asked(store, "good", 1)
    store.run(projection)
    (parked,) = store.views.keeper.parked("prompts")
    assert (parked.key, parked.version, parked.error.partition(" at ")[0]) == (
        *("bad", 4),
        "Unwritable",
    )
    bad = store.get("bad").conversation_id
    handed = [version for id_, version in projection.handed if id_ == bad]
    assert set(handed) == {2, 3}
    assert view.prompts() == 4


def test_a_parked_event_is_processed_once_it_can_be_and_what_waited_behind_it_in_order(
    store: Store, view: Any
) -> None:
    projection = Prompts(view)
    projection.poison = {4}
    asked(store, "bad", 4)
    asked(store, "good", 2)
    store.run(projection)
    projection.poison, projection.handed = set(), []
    assert store.views.keeper.retry("prompts") == 1
    with store.follow(projection) as following:
        until(lambda: not following.status.parked)
    bad = store.get("bad").conversation_id
    assert projection.handed == [(bad, 4), (bad, 5)]
    asked(store, "bad", 1)
    store.run(projection)
    assert view.prompts() == 7


def test_each_failure_of_a_batch_costs_its_own_conversation_only(store: Store, view: Any) -> None:
    projection = Prompts(view)
    projection.poison = {3}
    for key in "abcd":
        asked(store, key, 2 if key in "ac" else 1)
    status = store.run(projection)
    assert (status.parked, view.prompts()) == (2, 4)
    store.views.keeper.rebuild("prompts")
    assert view.prompts() == 4


def test_a_projection_whose_events_all_fail_alike_is_stopped(store: Store, view: Any) -> None:
    projection = Prompts(view)
    projection.poison = {2}
    for number in range(25):
        asked(store, str(number))
    why = "by errors of one kind, Unwritable"
    with pytest.raises(ViewStopped, match=why), store.follow(projection) as following:
        following.wait()
    projection.poison = set()
    store.views.keeper.resume("prompts")
    store.views.keeper.retry("prompts")
    with store.follow(projection) as following:
        until(lambda: not following.status.parked)
    assert view.prompts() == 25


def test_a_tracking_that_cannot_be_kept_costs_no_event(store: Store, view: Any) -> None:
    """What fails outside of `process_event` is laid to no event that can be processed alone."""
    projection = Prompts(view)
    asked(store, "a", 2)
    asked(store, "b")
    failing, reached = [True, True], view.max_tracking_id

    def unreachable(name: str) -> Any:
        if failing:
            failing.pop()
            raise Unwritable
        return reached(name)

    view.max_tracking_id = unreachable
    store.run(projection)
    with store.follow(projection) as following:
        until(lambda: not following.status.parked)
    assert view.prompts() == 3


def test_two_processes_that_feed_one_recorder_count_each_event_once() -> None:
    """Each has its own recorder and its own store; both are in one database."""
    url = server(VERSIONS[-1]).create("log", migrate)
    try:
        factories = [
            InfrastructureFactory.construct(
                Environment(
                    "prompts",
                    {"PERSISTENCE_MODULE": "eventsourcing.postgres", **postgres_environment(url)},
                )
            )
            for _ in range(2)
        ]
        views = [cast("Any", factory.tracking_recorder(InPostgres)) for factory in factories]
        with onrecord.connect(url) as one, onrecord.connect(url) as two:
            with one.follow(Prompts(views[0])) as first, two.follow(Prompts(views[1])) as second:
                for number in range(30):
                    asked(one, str(number), 2)
                assert first.wait()
                assert second.wait()
            assert (first.status.stopped, views[0].prompts()) == (None, 60)
        for factory in factories:
            factory.close()
    finally:
        server(VERSIONS[-1]).drop(url)


def test_processes_that_are_killed_amid_a_batch_count_each_event_once() -> None:
    url = server(VERSIONS[-1]).create("log", migrate)
    dice = random.Random(SEED)
    with onrecord.connect(url) as store:
        for number in range(30):
            asked(store, str(number), 10)
        for _ in range(2):
            with subprocess.Popen(
                [sys.executable, "-m", f"{__package__}.projection_process", url],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                cwd=ROOT,
            ) as follower:
                assert follower.stdout is not None
                assert follower.stdout.readline() == b"following\n"
                time.sleep(dice.uniform(0.05, 0.4))
                kill(follower)
        module = {"PERSISTENCE_MODULE": "eventsourcing.postgres"}
        environment = Environment("prompts", module | postgres_environment(url))
        with InfrastructureFactory.construct(environment) as factory:
            view: Any = factory.tracking_recorder(InPostgres)
            store.run(Prompts(view))
            assert view.prompts() == 300, f"seed {SEED}"
    server(VERSIONS[-1]).drop(url)


def test_what_was_erased_is_left_out(store: Store, view: Any) -> None:
    asked(store, "a", 2)
    asked(store, "b")
    store.forget("a", reason="asked for")
    store.run(Prompts(view))
    assert view.prompts() == 1


def test_two_stores_that_feed_one_projection_do_so_one_after_the_other() -> None:
    both, met = threading.Barrier(2), list[str]()

    class Meeting(Projection[Any]):
        name = "Meeting"

        @singledispatchmethod
        def process_event(self, domain_event: Any, tracking: Tracking) -> None:
            with suppress(threading.BrokenBarrierError):
                both.wait(0.5)
                met.append("inside")

    projection = Meeting(InMemory())
    with onrecord.connect("memory://") as one, onrecord.connect("memory://") as other:
        asked(one, "a")
        asked(other, "a")
        threads = [threading.Thread(target=store.run, args=(projection,)) for store in (one, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
    assert not met


def test_two_sinks_of_one_projection_are_the_same() -> None:
    projection = Prompts(InMemory())
    assert ProjectionSink(projection) == ProjectionSink(projection)
    assert ProjectionSink(projection) != ProjectionSink(Prompts(InMemory()))
