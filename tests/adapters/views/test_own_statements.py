"""Statements of a projection of one's own that the server refuses, or that spoil a connection."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from onrecord import ProjectionTransaction, Store
from tests.adapters.views.own_projections import Heard, asked, heard, opened

_CONFLICT = "DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40001'; END $$"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setenv("ONRECORD_ACTOR", "ann")
    yield from opened("postgres", tmp_path)


def _closing(transaction: ProjectionTransaction) -> None:
    transaction.connection.close()


def _executing(statement: str) -> Callable[[ProjectionTransaction], object]:
    return lambda transaction: transaction.execute(statement)


def _of_the_driver(statement: str) -> Callable[[ProjectionTransaction], object]:
    return lambda transaction: transaction.connection.execute(statement)


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


def test_what_the_server_refuses_once_is_written_when_it_is_tried_again(store: Store) -> None:
    conflicts = [_CONFLICT]

    def at_first(transaction: ProjectionTransaction) -> None:
        if conflicts:
            transaction.execute(conflicts.pop())

    asked(store, "a", 2)
    assert store.run(Heard(after=at_first)).parked == 0
    assert heard(store) == [("a", 2), ("a", 3)]
