"""Statements of a projection of one's own that the server refuses, or that spoil a connection."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from psycopg.abc import Query
from psycopg.sql import SQL

from onrecord import ProjectionTransaction, Store, ViewStopped
from tests.adapters.views.own_projections import Heard, asked, heard, opened
from tests.patience import until

_CONFLICT = "DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40001'; END $$"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setenv("ONRECORD_ACTOR", "ann")
    yield from opened("postgres", tmp_path)


def _closing(transaction: ProjectionTransaction) -> None:
    transaction.connection.close()


def _executing(statement: str) -> Callable[[ProjectionTransaction], object]:
    return lambda transaction: transaction.execute(statement)


def _of_the_driver(statement: Query) -> Callable[[ProjectionTransaction], object]:
    return lambda transaction: transaction.connection.execute(statement)


def _many_times(transaction: ProjectionTransaction) -> None:
    transaction.connection.cursor().executemany("COMMIT", [()])


@pytest.mark.parametrize(
    ("after", "kind"),
    [
        (_executing("RELEASE SAVEPOINT nope"), "InvalidSavepointSpecification"),
        (_executing(_CONFLICT), "SerializationFailure"),
        (_executing("COPY pg_class TO STDOUT"), "InvalidInput"),
        (_executing("COPY pg_class TO STDOUT;"), "InvalidInput"),
        (_of_the_driver("COPY pg_class TO STDOUT"), "ProgrammingError"),
        (_of_the_driver("COPY heard FROM STDIN"), "ProgrammingError"),
        (_closing, "InvalidInput"),
    ],
)
def test_what_the_server_always_refuses_is_parked_and_others_go_on(
    store: Store, after: Callable[[ProjectionTransaction], object], kind: str
) -> None:
    def in_one(transaction: ProjectionTransaction) -> None:
        rows = transaction.execute("SELECT count(*) FROM heard WHERE version = 3")
        if rows != [(0,)]:
            after(transaction)

    asked(store, "bad", 2)
    asked(store, "good")
    with store.follow(Heard(after=in_one)) as following:
        assert following.wait(20)
    (parked,) = store.views.keeper.parked("heard")
    assert (parked.key, parked.version, parked.kind) == ("bad", 3, kind)
    assert heard(store) == [("bad", 2), ("good", 2)]


@pytest.mark.parametrize(
    "after",
    [
        _executing("-- x\rCOMMIT"),
        _executing("/* a /* b */ c */ COMMIT"),
        _of_the_driver("COMMIT"),
        _of_the_driver(b"COMMIT"),
        _of_the_driver(SQL("ROLLBACK")),
        _many_times,
    ],
)
def test_a_projection_ends_its_transaction_by_no_way_of_the_driver(
    store: Store, after: Callable[[ProjectionTransaction], object]
) -> None:
    asked(store, "a")
    assert store.run(Heard(after=after)).parked == 1
    (parked,) = store.views.keeper.parked("heard")
    assert "not yours to end" in parked.error
    assert heard(store) == []


@pytest.mark.parametrize(
    "statements",
    [b"COMMIT", b"ROLLBACK", b"COMMIT; BEGIN", b"SELECT 1; COMMIT", b"COMMIT; BEGIN; SELECT 1/0"],
)
def test_a_projection_that_ends_its_transaction_past_the_driver_is_stopped(
    store: Store, statements: bytes
) -> None:
    calls = list[int]()

    def ending(transaction: ProjectionTransaction) -> None:
        calls.append(1)
        transaction.connection.pgconn.exec_(statements)

    projection = Heard(after=ending)
    asked(store, "a", 2)
    with store.follow(projection) as following:
        until(lambda: following.status.stopped)
    with pytest.raises(ViewStopped, match="it ended the transaction"):
        store.run(projection)
    assert len(calls) == 1
    projection.after = lambda _: None
    store.views.keeper.resume("heard")
    store.views.keeper.rebuild("heard")
    assert heard(store) == [("a", 2), ("a", 3)]


def test_a_rebuild_whose_transaction_is_ended_leaves_the_rows_that_are_read(store: Store) -> None:
    projection = Heard()
    asked(store, "a", 2)
    store.run(projection)

    def ending(transaction: ProjectionTransaction) -> None:
        transaction.connection.pgconn.exec_(b"COMMIT")

    projection.after = ending
    with pytest.raises(ViewStopped, match="it ended the transaction"):
        store.views.keeper.rebuild("heard")
    assert heard(store) == [("a", 2), ("a", 3)]
    projection.after = lambda _: None
    store.views.keeper.rebuild("heard")
    assert heard(store) == [("a", 2), ("a", 3)]


def test_what_the_server_refuses_once_is_written_when_it_is_tried_again(store: Store) -> None:
    conflicts = [_CONFLICT]

    def at_first(transaction: ProjectionTransaction) -> None:
        if conflicts:
            transaction.execute(conflicts.pop())

    asked(store, "a", 2)
    assert store.run(Heard(after=at_first)).parked == 0
    assert heard(store) == [("a", 2), ("a", 3)]
