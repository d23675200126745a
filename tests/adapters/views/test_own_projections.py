"""Projections of one's own: exactly once into the caller's tables, on each database."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import apsw
import psycopg
import pytest

import onrecord
from onrecord import ProjectionTransaction, RecordedEvent, Store
from onrecord.domain.errors import InvalidInput, ViewStopped
from tests.adapters.views.own_projections import (
    STORES,
    Heard,
    Mailbox,
    Unwritable,
    asked,
    generations,
    heard,
    opened,
)
from tests.patience import until


@pytest.fixture(params=STORES)
def store(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Store]:
    monkeypatch.setenv("ONRECORD_ACTOR", "ann")
    yield from opened(request.param, tmp_path)


def test_what_the_log_has_is_written_once_however_often_it_is_run(store: Store) -> None:
    projection = Heard()
    asked(store, "a", 3)
    asked(store, "b")
    store.run(projection)
    store.run(projection)
    assert heard(store) == [("a", 2), ("a", 3), ("a", 4), ("b", 2)]


def test_what_is_new_is_written_while_a_projection_is_followed(store: Store) -> None:
    with store.follow(Heard()) as following:
        asked(store, "a")
        assert following.wait()
        assert heard(store) == [("a", 2)]
        asked(store, "a")
        assert following.wait()
        assert heard(store) == [("a", 2), ("a", 3)]
    asked(store, "a")
    assert following.status.behind == 1


def test_two_who_follow_write_each_event_once(store: Store) -> None:
    projection = Heard()
    with store.follow(projection) as one, store.follow(projection) as two:
        for number in range(20):
            asked(store, str(number), 2)
        assert one.wait()
        assert two.wait()
    assert len(heard(store)) == len(set(heard(store))) == 40


def test_only_the_conversation_of_an_event_that_fails_waits_and_none_of_its_writing_stays(
    store: Store,
) -> None:
    projection = Heard(poison={3})
    asked(store, "bad", 4)
    asked(store, "good")
    assert store.run(projection).parked == 1
    assert heard(store) == [("bad", 2), ("good", 2)]
    (parked,) = store.views.keeper.parked("heard")
    assert (parked.key, parked.version, parked.kind) == ("bad", 3, "Unwritable")
    projection.poison.clear()
    assert store.views.keeper.retry("heard") == 1
    with store.follow(projection) as following:
        assert following.wait()
        until(lambda: following.status.parked == 0)
    assert heard(store) == [("bad", 2), ("bad", 3), ("bad", 4), ("bad", 5), ("good", 2)]


def test_a_strict_projection_stands_still_at_what_it_cannot_write(store: Store) -> None:
    projection = Heard(strict=True, poison={3})
    asked(store, "bad", 3)
    with pytest.raises(ViewStopped, match="cannot fold event 3"), store.follow(projection) as one:
        until(lambda: one.status.stopped)
        one.wait()
    projection.poison.clear()
    store.views.keeper.resume("heard")
    store.run(projection)
    assert heard(store) == [("bad", 2), ("bad", 3), ("bad", 4)]


@pytest.mark.parametrize("statement", ["COMMIT", "ROLLBACK", " /* x */ commit;", "BEGIN", "; END"])
def test_a_projection_cannot_end_its_transaction(store: Store, statement: str) -> None:
    projection = Heard(after=lambda transaction: transaction.execute(statement))
    asked(store, "a")
    assert store.run(projection).parked == 1
    (parked,) = store.views.keeper.parked("heard")
    assert parked.kind == "InvalidInput"
    assert "not yours to end" in parked.error
    assert heard(store) == []


def test_a_projection_cannot_close_the_connection_and_the_store_goes_on(store: Store) -> None:
    projection = Heard(after=lambda transaction: transaction.connection.close())
    asked(store, "a")
    assert store.run(projection).parked == 1
    (parked,) = store.views.keeper.parked("heard")
    assert (parked.kind, "not yours to close" in parked.error) == ("InvalidInput", True)
    projection.after = lambda _: None
    asked(store, "b")
    assert store.run(projection).parked == 1
    assert heard(store) == [("b", 2)]


def test_who_reads_the_tables_cannot_end_the_transaction(store: Store) -> None:
    store.run(Heard())
    with (
        pytest.raises(InvalidInput, match="not yours to end"),
        store.views.read("heard") as tables,
    ):
        tables.execute("COMMIT")


def test_who_reads_the_tables_cannot_end_the_transaction_behind_another_statement(
    store: Store,
) -> None:
    asked(store, "a")
    store.run(Heard())
    with (
        pytest.raises((InvalidInput, psycopg.errors.SyntaxError)),
        store.views.read("heard") as tables,
    ):
        tables.execute("SELECT 1; COMMIT; DELETE FROM heard")
    assert heard(store) == [("a", 2)]


@pytest.mark.parametrize("second", ["DELETE FROM heard", "COMMIT", "/* x */ COMMIT; -- y"])
def test_several_statements_at_once_are_refused_and_none_of_them_is_run(
    store: Store, second: str
) -> None:
    def write_and(transaction: ProjectionTransaction) -> None:
        transaction.execute(f"INSERT INTO heard VALUES (1, 'x', 1); {second}")

    projection = Heard(after=write_and)
    asked(store, "a")
    assert store.run(projection).parked == 1
    (parked,) = store.views.keeper.parked("heard")
    assert parked.kind in ("InvalidInput", "SyntaxError")
    assert heard(store) == []


@pytest.mark.parametrize("end", [";", " ; ", "; -- a remark", ";; /* a\nremark */"])
def test_what_comes_behind_a_statement_may_be_a_remark(store: Store, end: str) -> None:
    rows = list[object]()
    projection = Heard(after=lambda transaction: rows.extend(transaction.execute(f"SELECT 7{end}")))
    asked(store, "a")
    assert store.run(projection).parked == 0
    assert rows == [(7,)]
    assert heard(store) == [("a", 2)]


def test_an_error_of_the_database_that_is_swallowed_parks_too(store: Store) -> None:
    def swallowing(transaction: ProjectionTransaction) -> None:
        with suppress(apsw.SQLError, psycopg.errors.UndefinedTable):
            transaction.execute("SELECT * FROM nowhere")

    asked(store, "a")
    status = store.run(Heard(after=swallowing))
    written = {"sqlite": 1, "memory": 1, "postgresql": 0}[_kind(store)]
    assert (len(heard(store)), status.parked) == (written, 1 - written)


def _kind(store: Store) -> str:
    return store.url.partition(":")[0]


def test_a_method_that_yields_or_waits_is_told_to_be_a_plain_one(store: Store) -> None:
    class Lazy(Heard):
        def write(self, transaction: Any, events: Any) -> Any:
            yield from ()

    asked(store, "a")
    store.run(Lazy())
    (parked,) = store.views.keeper.parked("heard")
    assert "write a plain method" in parked.error


def test_a_method_that_ends_the_process_parks_its_event_and_ends_nothing(store: Store) -> None:
    asked(store, "a")
    store.run(Heard(after=lambda _: sys.exit(3)))
    (parked,) = store.views.keeper.parked("heard")
    assert "ends the process" in parked.error
    assert heard(store) == []


def test_what_cannot_be_written_since_the_table_is_gone_is_written_when_it_is_back(
    store: Store,
) -> None:
    def drop(transaction: ProjectionTransaction) -> None:
        transaction.execute("DROP TABLE heard")

    projection = Heard(after=drop)
    asked(store, "a")
    store.run(projection)
    projection.after = lambda _: None
    asked(store, "b")
    assert store.run(projection).parked == 1
    store.views.keeper.rebuild("heard")
    assert heard(store) == [("a", 2), ("b", 2)]
    assert store.views.keeper.parked("heard") == []


def test_a_rebuild_makes_new_rows_beside_those_that_are_read(store: Store) -> None:
    projection, seen = Heard(), list[tuple[list[int], int]]()
    asked(store, "a", 2)
    store.run(projection)

    def look(transaction: ProjectionTransaction) -> None:
        rows = transaction.execute("SELECT DISTINCT generation FROM heard ORDER BY 1")
        seen.append(([number for (number,) in rows], transaction.generation))

    projection.after = look
    store.views.keeper.rebuild("heard")
    assert seen[-1] == ([1, 2], 2)
    assert heard(store) == [("a", 2), ("a", 3)]
    assert generations(store) == {2}


def test_rows_of_another_revision_stay_until_a_rebuild_has_made_new_ones(store: Store) -> None:
    asked(store, "a")
    store.run(Heard())
    url = store.url
    changed = Heard(revision=2)
    with pytest.raises(InvalidInput, match="already"):
        store.views.register(changed)
    if _kind(store) == "memory":
        return
    with onrecord.connect(url) as other:
        other.views.register(changed)
        other.views.keeper.rebuild("heard")
        assert heard(other) == [("a", 2)]
        assert generations(other) == {2}


def test_rows_of_a_later_revision_say_which_one_is_here(store: Store) -> None:
    if _kind(store) == "memory":
        pytest.skip("a store in memory has one program")
    asked(store, "a")
    store.run(Heard(revision=3))
    with onrecord.connect(store.url) as other:
        other.views.register(Heard(revision=2))
        asked(other, "b")
        with pytest.raises(ViewStopped, match=r"revision|another"):
            other.run("heard")
        (status,) = [one for one in other.views.keeper.status() if one.view == "heard"]
        assert "Onrecord" not in str(status.stopped)


def test_what_is_told_of_an_error_is_the_line_of_the_projection(store: Store) -> None:
    def wrong(transaction: ProjectionTransaction) -> None:
        transaction.execute("SELECT * FROM nowhere WHERE n = $1", 3)

    asked(store, "a")
    store.run(Heard(after=wrong))
    (parked,) = store.views.keeper.parked("heard")
    assert f" at {Path(__file__).name}:{wrong.__code__.co_firstlineno + 1}" in parked.error
    assert "nowhere" not in parked.error


def test_a_paused_projection_takes_nothing_until_it_is_resumed(store: Store) -> None:
    projection, keeper = Heard(), store.views.keeper
    asked(store, "a")
    store.run(projection)
    keeper.pause("heard")
    asked(store, "a")
    with pytest.raises(ViewStopped, match="paused"):
        store.run(projection)
    assert heard(store) == [("a", 2)]
    keeper.resume("heard")
    store.run(projection)
    assert heard(store) == [("a", 2), ("a", 3)]


def test_what_is_forgotten_leaves_the_tables(store: Store) -> None:
    projection = Heard()
    asked(store, "a")
    asked(store, "b")
    store.run(projection)
    store.forget("a", reason="asked for")
    store.run(projection)
    assert heard(store) == [("b", 2)]


def test_who_reads_the_tables_writes_nothing(store: Store) -> None:
    asked(store, "a")
    store.run(Heard())
    with (
        pytest.raises((apsw.ReadOnlyError, psycopg.errors.ReadOnlySqlTransaction)),
        store.views.read("heard") as tables,
    ):
        tables.execute("DELETE FROM heard")
    assert heard(store) == [("a", 2)]


@pytest.mark.parametrize(
    ("projection", "why"),
    [
        (Heard(name="Heard"), "small letters"),
        (Heard(name="audit"), "already"),
        (Heard(revision=0), "from 1 on"),
        (Heard(types="message.recorded"), "several"),
        (Heard(types=cast("Any", {3})), "a class such as"),
        (object(), "TableProjection or an EventSink"),
        (onrecord.TableProjection, "cannot be made"),
    ],
)
def test_what_is_no_projection_is_refused(projection: Any, why: str) -> None:
    with onrecord.connect("memory://") as store, pytest.raises(InvalidInput, match=why):
        store.run(projection)


def test_a_maintained_view_has_pages_and_no_tables_of_ones_own(store: Store) -> None:
    with pytest.raises(InvalidInput, match="maintained"):
        store.views.read("audit")
    with pytest.raises(InvalidInput, match="no view of that name"):
        store.run("refund")


def test_tables_that_cannot_be_made_are_told(store: Store) -> None:
    class Torn(Heard):
        def create_tables(self, transaction: ProjectionTransaction) -> None:
            raise Unwritable

    with pytest.raises(InvalidInput, match="create_tables"), store.follow(Torn()) as following:
        following.wait()


def test_a_sink_has_each_event_once_where_nothing_fails(store: Store) -> None:
    sink = Mailbox()
    asked(store, "a", 2)
    store.run(sink)
    asked(store, "a")
    store.run(sink)
    assert [version for _, version in sink.mail] == [2, 3, 4]


def test_what_a_sink_refuses_is_parked_and_comes_again(store: Store) -> None:
    sink = Mailbox(poison={3})
    asked(store, "bad", 3)
    asked(store, "good")
    assert store.run(sink).parked == 1
    assert {version for _, version in sink.mail} == {2, 3, 4}
    sink.poison.clear()
    before = len(sink.mail)
    store.views.keeper.retry("mailbox")
    with store.follow(sink) as following:
        until(lambda: following.status.parked == 0)
    assert sorted(version for _, version in sink.mail[before:]) == [3, 4]


@pytest.mark.parametrize("ending", [SystemExit, asyncio.CancelledError])
def test_a_sink_that_would_end_a_thread_parks_its_event_and_ends_nothing(
    store: Store, ending: type[BaseException]
) -> None:
    class Ending(Mailbox):
        def deliver(self, events: Sequence[RecordedEvent]) -> None:
            if any(event.version == 3 for event in events):
                raise ending
            super().deliver(events)

    sink = Ending()
    asked(store, "bad", 3)
    asked(store, "good")
    assert store.run(sink).parked == 1
    (parked,) = store.views.keeper.parked("mailbox")
    assert (parked.key, parked.version, parked.kind) == ("bad", 3, "InvalidInput")
    assert [version for _, version in sink.mail] == [2, 2]


def test_a_rebuild_delivers_everything_again(store: Store) -> None:
    sink = Mailbox()
    asked(store, "a", 2)
    store.run(sink)
    store.views.keeper.rebuild("mailbox")
    assert [version for _, version in sink.mail] == [2, 3, 2, 3]
