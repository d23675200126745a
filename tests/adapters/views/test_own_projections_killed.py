"""Exactly once, whoever is killed, blocks, or has an older log put under it."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

import onrecord
from onrecord import ProjectionTransaction, Store
from onrecord.adapters.storage.postgres.postgres import migrate
from onrecord.adapters.views.postgres.worker import Worker
from onrecord.domain.errors import StaleCursor, ViewStopped
from tests.adapters.views.own_projections import Heard, asked, heard, opened
from tests.adapters.views.workers import working
from tests.patience import kill, until
from tests.postgres_server import VERSIONS, server

ROOT = Path(__file__).parents[3]
SEED = 20_261_123
CONVERSATIONS = 30
PROMPTS = 10


@pytest.fixture
def url() -> Iterator[str]:
    database = server(VERSIONS[-1]).create("log", migrate)
    yield database
    server(VERSIONS[-1]).drop(database)


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    yield from opened(request.param, tmp_path)


def followed_and_killed(url: str, times: int) -> int:
    """Start a follower, kill it while it writes, start the next; return how many were killed."""
    dice, killed = random.Random(SEED), 0
    for _ in range(times):
        with subprocess.Popen(
            [sys.executable, "-m", "tests.adapters.views.own_projection_process", url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
        ) as follower:
            assert follower.stdout is not None
            assert follower.stdout.readline() == b"following\n"
            time.sleep(dice.uniform(0.01, 0.2))
            kill(follower)
            killed += follower.returncode != 0
    return killed


@pytest.mark.parametrize("times", [5, pytest.param(100, marks=pytest.mark.soak)])
def test_followers_that_are_killed_amid_a_batch_write_each_event_once(
    store: Store, times: int
) -> None:
    expected = [(f"talk {n:02}", 2 + m) for n in range(CONVERSATIONS) for m in range(PROMPTS)]
    for number in range(CONVERSATIONS):
        asked(store, f"talk {number:02}", PROMPTS)
    assert followed_and_killed(store.url, times) == times
    store.run(Heard())
    assert heard(store) == expected, f"seed {SEED}"
    assert store.views.keeper.parked() == []


def test_a_projection_that_blocks_holds_up_no_view(url: str) -> None:
    blocked, free = threading.Event(), threading.Event()

    def block(_: ProjectionTransaction) -> None:
        blocked.set()
        assert free.wait(60)

    with onrecord.connect(url) as store:
        store.views.register(Heard(after=block))
        views = store.views.own_projections.views(["audit"], ["heard"])
        with working(url, views):
            asked(store, "a")
            assert blocked.wait(60)
            asked(store, "b")
            until(lambda: store.views.audit().behind == 0)
            free.set()


def test_what_a_stalled_transaction_wrote_is_gone_and_it_is_stopped_in_the_end(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("advance", "tables"):
        monkeypatch.setattr(f"onrecord.adapters.views.postgres.{module}.STALLED", "50")
    monkeypatch.setattr("onrecord.adapters.views.postgres.worker_thread.LEASE_SECONDS", 0.1)
    monkeypatch.setattr("onrecord.adapters.views.postgres.worker._RECONNECT_SECONDS", 0.01)
    projection = Heard(after=lambda _: time.sleep(0.2))
    with onrecord.connect(url) as store:
        asked(store, "a", 2)
        with pytest.raises(ViewStopped, match="for one event"), store.follow(projection) as one:
            until(lambda: one.status.stopped)
            one.wait()
        assert heard(store) == []
        projection.after = lambda _: None
        store.views.keeper.resume("heard")
        store.run(projection)
        assert heard(store) == [("a", 2), ("a", 3)]


def test_a_statement_that_waits_for_a_lock_is_given_up_and_parks_nothing(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("advance", "tables"):
        monkeypatch.setattr(f"onrecord.adapters.views.postgres.{module}.STALLED", "200")
    with onrecord.connect(url) as store:
        projection = Heard()
        asked(store, "a")
        store.run(projection)
        with server_session(url) as session:
            session.execute("BEGIN")
            session.execute("LOCK TABLE heard")
            asked(store, "a")
            with store.follow(projection) as following:
                assert not following.wait(1.0)
                session.execute("ROLLBACK")
                assert following.wait()
        assert following.status.parked == 0
        assert heard(store) == [("a", 2), ("a", 3)]


def server_session(url: str) -> psycopg.Connection:
    return psycopg.connect(url, autocommit=True)


def test_parts_that_are_taken_over_amid_a_batch_have_each_event_once(url: str) -> None:
    in_the_middle, go_on = threading.Event(), threading.Event()

    def wait(_: ProjectionTransaction) -> None:
        in_the_middle.set()
        assert go_on.wait(60)

    with onrecord.connect(url) as store:
        asked(store, "a", 3)
        store.views.register(Heard(after=wait))
        views = store.views.own_projections.views([], ["heard"])
        with working(url, views):
            assert in_the_middle.wait(60)
            with psycopg.connect(url, autocommit=True) as session:
                session.execute("UPDATE onrecord.part SET owner = 'another', epoch = epoch + 1")
            go_on.set()
            until(lambda: len(heard(store)) == 3)
        assert heard(store) == [("a", 2), ("a", 3), ("a", 4)]


def test_tables_of_a_log_that_was_restored_are_filled_anew(tmp_path: Path) -> None:
    place, backup = tmp_path / "talks.db", tmp_path / "backup.db"
    with onrecord.connect(f"sqlite:///{place}") as store:
        asked(store, "a", 2)
        store.run(Heard())
    shutil.copy(place, backup)
    with onrecord.connect(f"sqlite:///{place}") as store:
        asked(store, "a", 3)
        store.run(Heard())
        (end,) = store.cursors()
    shutil.copy(backup, place)
    with onrecord.connect(f"sqlite:///{place}") as store:
        asked(store, "b")
        store.run(Heard())
        assert heard(store) == [("a", 2), ("a", 3), ("b", 2)]
        with pytest.raises(StaleCursor), store.subscribe(end) as events:
            next(events)


def test_a_worker_has_a_thread_for_each_projection_and_ends_with_it(url: str) -> None:
    with onrecord.connect(url) as store:
        store.views.register(Heard())
        worker = Worker(url, store.views.own_projections.views(None, []))
        thread = threading.Thread(target=worker.run)
        thread.start()
        asked(store, "a")
        until(lambda: worker.has_come_to(worker.ends()))
        worker.stop()
        thread.join(60)
        assert not thread.is_alive()
        assert heard(store) == [("a", 2)]
