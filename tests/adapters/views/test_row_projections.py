"""Pure folds of one's own: rows by name, kept by the store, on each database."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onrecord
from onrecord import EventBatch, Store
from onrecord.domain.errors import InvalidInput
from tests.adapters.views.own_projections import STORES, Heard, Lengths, asked, opened
from tests.patience import until


@pytest.fixture(params=STORES)
def store(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Store]:
    monkeypatch.setenv("ONRECORD_ACTOR", "ann")
    yield from opened(request.param, tmp_path)


def rows(store: Store, **filters: Any) -> list[tuple[str | None, str, int]]:
    page = store.views.rows("lengths", limit=1_000, **filters)
    return [(row.key, row.name, row.value["length"]) for row in page]


def said(store: Store, key: str, *texts: str) -> None:
    for text in texts:
        store.conversation(key).user(text)


def test_rows_are_folded_by_their_names_and_given_by_name_and_conversation(store: Store) -> None:
    said(store, "a", "mine", "yours", "my")
    said(store, "b", "me")
    store.run(Lengths())
    assert sorted(rows(store)) == [("a", "m", 6), ("a", "y", 5), ("b", "m", 2)]
    assert [name for _, name, _ in rows(store)] == ["m", "m", "y"]
    assert rows(store, conversation="a", prefix="m") == [("a", "m", 6)]


def test_a_row_goes_where_the_fold_says_so(store: Store) -> None:
    projection = Lengths()
    said(store, "a", "mine", "yours")
    store.run(projection)
    said(store, "a", "move away")
    store.run(projection)
    assert rows(store) == [("a", "y", 5)]


def test_pages_go_on_where_the_last_one_ended(store: Store) -> None:
    said(store, "a", *(f"{letter}!" for letter in "edcba"))
    store.run(Lengths())
    names: list[str] = []
    after = None
    while True:
        page = store.views.rows("lengths", limit=2, after=after)
        names += [row.name for row in page]
        if (after := page.after) is None:
            break
    assert names == ["a", "b", "c", "d", "e"]
    with pytest.raises(InvalidInput, match="`after`"):
        store.views.rows("lengths", after="nonsense")


def test_an_event_that_a_fold_refuses_parks_its_conversation_alone(store: Store) -> None:
    projection = Lengths(poison={3})
    said(store, "bad", "one", "two", "three")
    said(store, "good", "four")
    assert store.run(projection).parked == 1
    assert sorted(rows(store)) == [("bad", "o", 3), ("good", "f", 4)]
    projection.poison = set()
    store.views.keeper.retry("lengths")
    with store.follow(projection) as following:
        until(lambda: following.status.parked == 0)
    assert rows(store, conversation="bad") == [("bad", "o", 3), ("bad", "t", 8)]


@pytest.mark.parametrize(
    ("result", "why"),
    [
        (None, "JSON objects"),
        (["a"], "JSON objects"),
        ({"a": 3}, "JSON objects"),
        ({"": {}}, "name of a row"),
        ({"a" * 501: {}}, "name of a row"),
        ({3: {}}, "name of a row"),
        ({"a\0": {}}, "a NUL or half a surrogate pair"),
        ({"\ud800": None}, "a NUL or half a surrogate pair"),
        ({"never asked for": {}}, "`wanted` did not ask for"),
        ({"never asked for": None}, "`wanted` did not ask for"),
    ],
)
def test_a_fold_that_gives_nonsense_is_told_so(store: Store, result: Any, why: str) -> None:
    class Odd(Lengths):
        def fold(self, batch: EventBatch, rows: Any) -> Any:
            return result

    said(store, "a", "one")
    store.run(Odd())
    (parked,) = store.views.keeper.parked("lengths")
    assert why in parked.error


def _circular() -> dict[str, Any]:
    row: dict[str, Any] = {}
    row["row"] = row
    return row


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(json.loads("[" * 600 + "]" * 600), id="nested too deeply"),
        pytest.param(json.loads("[" * 200 + "]" * 200), id="nested deeper than is read"),
        pytest.param(_circular(), id="circular"),
        pytest.param(float("nan"), id="not a number"),
        pytest.param([float("inf")], id="infinite"),
        pytest.param(object(), id="an object"),
        pytest.param(b"\xff", id="bytes"),
        pytest.param(b"text", id="bytes that are text"),
        pytest.param((1, 2), id="a tuple"),
        pytest.param([(1, "\0")], id="a tuple beside a NUL"),
        pytest.param({1}, id="a set"),
        pytest.param(datetime(2026, 11, 23, tzinfo=UTC), id="a date"),
        pytest.param(UUID(int=1), id="an id"),
        pytest.param(Decimal(1), id="a decimal"),
        pytest.param({1: "one"}, id="a member whose name is a number"),
        pytest.param({"a\0": 1, "a\ufffd": 2}, id="a member whose name has a NUL"),
        pytest.param({"a\ud800": 1}, id="a member whose name has half a pair"),
    ],
)
def test_a_row_that_is_no_json_is_parked_and_ends_nothing(store: Store, value: Any) -> None:
    class Odd(Lengths):
        def fold(self, batch: EventBatch, rows: Any) -> Any:
            good = super().fold(batch, rows)
            return good if "good" in self.texts(batch) else {"o": {"value": value}}

    said(store, "bad", "one")
    said(store, "good", "good")
    assert store.run(Odd()).parked == 1
    (parked,) = store.views.keeper.parked("lengths")
    assert (parked.key, parked.kind) == ("bad", "InvalidInput")
    assert "no JSON" in parked.error
    assert rows(store) == [("good", "g", 4)]


def test_a_row_as_deep_as_is_read_is_kept_and_known_again(store: Store) -> None:
    deepest = json.loads("[" * 199 + "]" * 199)

    class Deep(Lengths):
        def fold(self, batch: EventBatch, rows: Any) -> Any:
            assert not rows or rows["o"]["deep"] == deepest
            return {"o": {"deep": deepest, "length": len(rows)}}

    projection = Deep()
    said(store, "a", "one")
    store.run(projection)
    said(store, "a", "on")
    store.run(projection)
    assert rows(store) == [("a", "o", 1)]


@pytest.mark.parametrize("ending", [SystemExit, asyncio.CancelledError, GeneratorExit])
@pytest.mark.parametrize("method", ["fold", "wanted"])
def test_what_would_end_a_thread_parks_its_event_and_ends_nothing(
    store: Store, ending: type[BaseException], method: str
) -> None:
    class Ending(Lengths):
        def texts(self, batch: EventBatch) -> list[str]:
            texts = super().texts(batch)
            if "one" in texts:
                raise ending
            return texts

        def wanted(self, batch: EventBatch) -> list[str]:
            return super().wanted(batch) if method == "wanted" else ["o", "t"]

    said(store, "bad", "one")
    said(store, "good", "two")
    assert store.run(Ending()).parked == 1
    (parked,) = store.views.keeper.parked("lengths")
    assert (parked.key, parked.kind) == ("bad", "InvalidInput")
    assert f"`{method}` of a projection raised {ending.__name__}" in parked.error
    assert rows(store) == [("good", "t", 3)]


def test_a_text_that_no_database_stores_is_made_storable(store: Store) -> None:
    class Odd(Lengths):
        def fold(self, batch: EventBatch, rows: Any) -> Any:
            return {"o": {"length": 1, "texts": ["\0", {"text": "\ud800"}]}}

    said(store, "a", "one")
    assert store.run(Odd()).parked == 0
    (row,) = store.views.rows("lengths")
    assert row.value == {"length": 1, "texts": ["\ufffd", {"text": "?"}]}


class ByText(Lengths):
    """Adds up what is said by its whole text."""

    def wanted(self, batch: EventBatch) -> list[str]:
        return [word for text in self.texts(batch) for word in text.split()]

    def fold(self, batch: EventBatch, rows: Any) -> Any:
        changed = dict(rows)
        for word in self.wanted(batch):
            changed[word] = {"length": changed.get(word, {"length": 0})["length"] + 1}
        return changed


def test_names_that_no_database_stores_park_their_event_and_others_go_on(store: Store) -> None:
    said(store, "bad", "a\0 a\ufffd")
    said(store, "good", "two", "two")
    with store.follow(ByText()) as following:
        assert following.wait(20)
    (parked,) = store.views.keeper.parked("lengths")
    assert (parked.key, parked.kind) == ("bad", "InvalidInput")
    assert "the name of a row has a NUL" in parked.error
    assert rows(store) == [("good", "two", 2)]


@pytest.mark.parametrize(
    ("names", "why"),
    [
        ("o", "the names of rows"),
        (b"o", "the names of rows"),
        (None, "the names of rows"),
        ([3], "the name of a row"),
        (["o", "a\0"], "a NUL or half a surrogate pair"),
    ],
)
def test_nonsense_that_is_wanted_parks_the_event_and_nothing_is_folded(
    store: Store, names: Any, why: str
) -> None:
    class Odd(Lengths):
        def wanted(self, batch: EventBatch) -> Any:
            return names if "one" in self.texts(batch) else super().wanted(batch)

        def fold(self, batch: EventBatch, rows: Any) -> Any:
            return {} if "one" in self.texts(batch) else super().fold(batch, rows)

    said(store, "bad", "one")
    said(store, "good", "two")
    assert store.run(Odd()).parked == 1
    (parked,) = store.views.keeper.parked("lengths")
    assert (parked.key, parked.kind) == ("bad", "InvalidInput")
    assert why in parked.error
    assert rows(store) == [("good", "t", 3)]


def test_what_is_forgotten_leaves_the_rows_at_once(store: Store) -> None:
    said(store, "a", "one")
    said(store, "b", "two")
    store.run(Lengths())
    store.forget("a", reason="asked for")
    assert rows(store) == [("b", "t", 3)]


def test_a_rebuild_gives_the_same_rows_and_sweeps_the_old_ones(store: Store) -> None:
    said(store, "a", "one", "two")
    store.run(Lengths())
    before = rows(store)
    store.views.keeper.rebuild("lengths")
    assert rows(store) == before
    (status,) = [one for one in store.views.keeper.status() if one.view == "lengths"]
    assert status.generation == 2
    with store.views.read("lengths") as tables:
        numbers = tables.execute(
            f"SELECT DISTINCT generation FROM {_schema(tables.database)}view_own"
        )
    assert numbers == [(2,)]


def _schema(database: str) -> str:
    return "onrecord." if database == "postgresql" else ""


def test_two_projections_do_not_see_each_others_rows(store: Store) -> None:
    said(store, "a", "one")
    store.run(Lengths())
    store.run(Lengths(name="others"))
    store.views.keeper.rebuild("others")
    assert rows(store) == [("a", "o", 3)]
    assert len(store.views.rows("others")) == 1


def test_rows_are_those_of_a_row_projection_only(store: Store) -> None:
    asked(store, "a")
    store.run(Heard())
    with pytest.raises(InvalidInput, match="keeps its rows itself"):
        store.views.rows("heard")
    with pytest.raises(InvalidInput, match="maintained"):
        store.views.rows("audit")


TEXTS = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from(["x", "xy", "yy", "x away"])), max_size=12
)


@settings(max_examples=30, deadline=None)
@given(TEXTS, st.sets(st.integers(0, 12)))
def test_any_split_of_a_history_gives_the_rows_of_one_fold(
    texts: list[tuple[str, str]], runs: set[int]
) -> None:
    projection = Lengths()
    with onrecord.connect("memory://") as split, onrecord.connect("memory://") as whole:
        for place, (key, text) in enumerate(texts):
            if place in runs:
                split.run(projection)
            said(split, key, text)
            said(whole, key, text)
        split.run(projection)
        whole.run(projection)
        assert rows(split) == rows(whole)
