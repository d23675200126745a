"""Projections of one's own on PostgreSQL that leave settings behind, or raise where no event is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import psycopg
import pytest

import onrecord
from onrecord import ProjectionTransaction, Store, ViewStatus
from onrecord.adapters.storage.postgres.postgres import migrate
from onrecord.adapters.views.own_projections import register_projection
from onrecord.adapters.views.postgres.worker import Worker
from onrecord.projections.views.registry import VIEWS
from onrecord.projections.views.view import View
from tests.adapters.views.own_projections import Heard, Unwritable, asked, heard
from tests.adapters.views.workers import asked as queried
from tests.adapters.views.workers import working
from tests.patience import until
from tests.postgres_server import VERSIONS, server

SETTINGS = (
    "SET search_path TO nowhere",
    "SET statement_timeout TO 1",
    "SET default_transaction_read_only TO on",
    "SET ROLE pg_monitor",
    "SET SESSION AUTHORIZATION onrecord_passer_by",
    "SET DateStyle TO 'SQL, DMY'",
)


@pytest.fixture
def store() -> Iterator[Store]:
    running = server(VERSIONS[-1])
    url = running.create("log", migrate)
    running.execute("CREATE ROLE {} LOGIN", "onrecord_passer_by")
    with onrecord.connect(url) as connected:
        yield connected
    running.drop(url)
    running.execute("DROP ROLE {}", "onrecord_passer_by")


def status(store: Store, name: str = "heard") -> ViewStatus:
    return next(one for one in store.views.keeper.status() if one.view == name)


def stopped(store: Store) -> str | None:
    """Why the projection stands still; None before a worker has begun it too."""
    return next((one.stopped for one in store.views.keeper.status() if one.view == "heard"), None)


def beside_audit(projection: Heard) -> Mapping[str, View]:
    views: dict[str, View] = {"audit": VIEWS["audit"]}
    register_projection(projection, views)
    return views


def caught_up(worker: Worker) -> None:
    until(lambda: worker.has_come_to(worker.ends()), "the end of the log")


@pytest.mark.parametrize("setting", SETTINGS)
def test_what_a_projection_sets_is_gone_after_its_events(store: Store, setting: str) -> None:
    seen = list[tuple[object, ...]]()

    def set_it(transaction: ProjectionTransaction) -> None:
        shown = "SELECT current_user, session_user, current_setting('search_path'), "
        seen.extend(transaction.execute(shown + "current_setting('DateStyle')"))
        transaction.execute(setting)

    projection = Heard(after=set_it, poison={3})
    with store.follow(projection) as following:
        for key in "abc":
            asked(store, key, 2)
            assert following.wait(60)
    assert len(set(seen)) == 1
    assert status(store).parked == 3  # They are written to our table by our role.
    assert heard(store, projection) == [("a", 2), ("b", 2), ("c", 2)]


def test_what_a_reader_of_the_tables_sets_is_gone_after_it(store: Store) -> None:
    projection = Heard()
    store.run(projection)
    for _ in range(3):
        with store.views.read(projection) as tables:
            assert tables.execute("SHOW DateStyle") == [("ISO, MDY",)]
            tables.execute("SET DateStyle TO 'SQL, DMY'")


@dataclass(eq=False)
class Torn(Heard):
    """Some of its methods raise."""

    torn: frozenset[str] = frozenset()

    def create_tables(self, transaction: ProjectionTransaction) -> None:
        if "create_tables" in self.torn:
            transaction.execute("SELECT * FROM no_such_table")
        super().create_tables(transaction)

    def delete_generation(self, transaction: ProjectionTransaction) -> None:
        super().delete_generation(transaction)
        if "delete_generation" in self.torn:
            raise Unwritable


def test_a_projection_that_makes_no_tables_is_stopped_and_the_others_go_on(store: Store) -> None:
    projection = Torn(torn=frozenset({"create_tables"}))
    asked(store, "a")
    with working(store.url, beside_audit(projection)) as worker:
        until(lambda: stopped(store))
        assert "`create_tables` of heard failed: UndefinedTable" in str(status(store).stopped)
        asked(store, "b")
        until(lambda: not status(store, "audit").behind)
        projection.torn = frozenset()
        store.views.keeper.resume("heard")
        until(lambda: not status(store).behind)
        caught_up(worker)
    assert heard(store, projection) == [("a", 2), ("b", 2)]


def test_a_projection_that_cannot_delete_old_rows_is_stopped_and_the_others_go_on(
    store: Store,
) -> None:
    asked(store, "a")
    store.run(Heard())
    queried(
        store.url,
        "INSERT INTO onrecord.generation (view, number, revision, status) "
        "VALUES ('heard', 2, 2, 'building')",
    )
    projection = Torn(revision=2, torn=frozenset({"delete_generation"}))
    with working(store.url, beside_audit(projection)):
        until(lambda: stopped(store))
        assert "`delete_generation` of heard failed: Unwritable" in str(status(store).stopped)
        asked(store, "b")
        until(lambda: not status(store, "audit").behind)
        assert status(store).generation == 2
        assert rows_of(store.url) == {(1, "a"), (2, "a")}  # None of what it deleted is gone.
        projection.torn = frozenset()
        store.views.keeper.resume("heard")
        until(lambda: rows_of(store.url) == {(2, "a"), (2, "b")})
        assert status(store).stopped is None


def rows_of(url: str) -> set[tuple[int, str]]:
    """The generations that there are rows of, and the keys of their conversations."""
    with onrecord.connect(url) as store:
        keys = {str(one.conversation_id): one.key or "" for one in store.conversations()}
    with psycopg.connect(url) as connection:
        rows = connection.execute("SELECT generation, conversation FROM heard").fetchall()
    return {(generation, keys[conversation]) for generation, conversation in rows}


def test_who_rebuilds_is_told_what_deleting_the_old_rows_raised(store: Store) -> None:
    projection = Torn(torn=frozenset({"delete_generation"}))
    asked(store, "a")
    store.run(projection)
    with pytest.raises(onrecord.InvalidInput, match=r"delete_generation.*Unwritable"):
        store.views.keeper.rebuild("heard")
    assert heard(store, projection) == [("a", 2)]
