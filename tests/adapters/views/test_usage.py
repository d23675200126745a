"""The view of usage: tokens by day, API and model, summed over what is kept by part."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from onrecord.adapters.storage.memory.memory import Memory
from onrecord.adapters.views.postgres.rows import PostgresRows
from onrecord.domain import events
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import RecordedEvent
from onrecord.projections.views.step import event_batches, step
from onrecord.projections.views.usage import USAGE, ModelUsage, model_usage
from onrecord.projections.views.view import Feed, Row
from tests.adapters.views.histories import Happening, check_steps, histories, pieces, recorded
from tests.adapters.views.row_stores import PostgresStore, RowStore, everything, in_pieces
from tests.adapters.views.sqlite_places import opened
from tests.adapters.views.used import ended, shown, totals
from tests.factories import TENANT, appending, started
from tests.search import examples
from tests.sqlite_by_hand import ByHand

GENERATIONS = count(10)
DAY = 86_400_000_000
ANTHROPIC: JsonObject = {
    "usage": {
        "cache_read_input_tokens": 20,
        "cache_creation_input_tokens": 3,
        "output_tokens_details": {"thinking_tokens": 4},
    }
}


def test_tokens_are_summed_by_day_api_and_model(rows: RowStore) -> None:
    history = recorded(
        [
            Happening(0, ended(), None, 0),
            Happening(1, ended(taken=1), None, DAY),
            Happening(0, ended(taken=2), None, 0),
            Happening(0, ended("gpt-6", 3, api="openai-chat"), None, 0),
        ]
    )
    assert rows.step(USAGE, history) == []
    assert shown(rows) == [
        ("2026-11-19", "anthropic-messages", "claude-sonnet-5", 2, 3),
        ("2026-11-19", "openai-chat", "gpt-6", 1, 3),
        ("2026-11-18", "anthropic-messages", "claude-sonnet-5", 1, 100),
    ]


def test_what_an_api_says_besides_is_counted_too(rows: RowStore) -> None:
    rows.step(USAGE, recorded([Happening(0, ended(envelope=ANTHROPIC), None, 0)]))
    (row,) = rows.page(USAGE, TENANT)
    assert model_usage(row) == ModelUsage(
        day=date(2026, 11, 18),
        api="anthropic-messages",
        model="claude-sonnet-5",
        responses=1,
        input_tokens=100,
        output_tokens=10,
        cached_tokens=20,
        cache_write_tokens=3,
        reasoning_tokens=4,
    )


def test_rows_of_the_release_that_read_no_spelled_counts_are_made_anew(tmp_path: Path) -> None:
    store = opened(tmp_path)
    spelled = ended(api="openai-chat", envelope={"usage": {"cached_tokens": "12"}})
    store.log.append([appending(uuid4(), started(), spelled)])
    assert [row["cached_tokens"] for row in store.page(USAGE).rows] == [12]
    by_hand = ByHand.open(tmp_path / "log.db-views")
    by_hand.run("UPDATE view_usage SET cached_tokens = 0")
    by_hand.run("UPDATE generation SET revision = 1 WHERE view = 'usage'")
    by_hand.close()
    assert [row["cached_tokens"] for row in store.page(USAGE).rows] == [12]
    store.close()


def test_side_lines_and_interrupted_responses_were_paid_for(rows: RowStore) -> None:
    cut = events.ResponseInterrupted(
        response=uuid4(), api="gemini", model="g", reason="cut", input_tokens=5
    )
    aside = ended("g", 6, api="gemini", line=UUID(int=7))
    history = recorded([Happening(0, cut, None, 0), Happening(0, aside, None, 0)])
    assert rows.step(USAGE, history) == []
    assert shown(rows) == [("2026-11-18", "gemini", "g", 2, 11)]


def test_a_response_that_tells_nothing_is_not_counted(rows: RowStore) -> None:
    rows.step(USAGE, recorded([Happening(0, ended(None, None, None), None, 0)]))
    assert shown(rows) == []


def test_a_model_that_nobody_named_is_told_as_none(rows: RowStore) -> None:
    rows.step(USAGE, recorded([Happening(0, ended(None, 5), None, 0)]))
    assert [model_usage(row).model for row in rows.page(USAGE, TENANT)] == [None]


def test_what_is_erased_is_not_counted_by_a_rebuild(rows: RowStore) -> None:
    log, conversation = Memory(), uuid4()
    log.append([appending(conversation, started(), ended())])
    log.append([appending(uuid4(), started(), ended(taken=7))])
    log.forget(conversation)
    rows.step(USAGE, everything(log))
    assert [entry.input_tokens for entry in totals(rows)] == [7]


def test_pages_follow_each_other_by_day_api_and_model(rows: RowStore) -> None:
    history = recorded(
        Happening(0, ended(f"m{number % 3}", api=f"a{number % 2}"), None, DAY * (number % 5 == 4))
        for number in range(20)
    )
    rows.step(USAGE, history)
    whole = rows.page(USAGE, TENANT)
    assert len(whole) > 12
    paged: list[Row] = []
    after: Row | None = None
    while page := rows.page(USAGE, TENANT, limit=5, after=after):
        paged += page
        after = {name: page[-1][name] for name in ("day", "api", "model")}
    assert paged == whole
    by_name = sorted(whole, key=lambda row: (row["api"], row["model"]))
    assert whole == sorted(by_name, key=lambda row: str(row["day"]), reverse=True)


def test_filters_find_what_they_name(rows: RowStore) -> None:
    history = recorded(
        [
            Happening(0, ended("m1", 1), None, 0),
            Happening(0, ended("m2", 2), None, DAY),
            Happening(0, ended("m1", 4, api="gemini"), None, DAY),
        ]
    )
    rows.step(USAGE, history)

    def taken(**filters: Any) -> list[int]:
        return sorted(row["input_tokens"] for row in rows.page(USAGE, TENANT, **filters))

    assert taken() == [1, 2, 4]
    assert taken(model="m1") == [1, 4]
    assert taken(api="gemini") == [4]
    assert taken(since="2026-11-19") == [2, 4]
    assert taken(until="2026-11-19") == [1]
    assert taken(since="2026-11-19", until="2026-11-20") == [2]
    assert rows.page(USAGE, uuid4()) == []
    assert [entry.input_tokens for entry in totals(rows, model="m1")] == [1, 4]
    assert [entry.input_tokens for entry in totals(rows, since="2026-11-19")] == [2, 4]


def test_totals_are_sums_over_all_days(rows: RowStore) -> None:
    history = recorded(Happening(0, ended(taken=taken), None, DAY) for taken in (1, 2, 4))
    rows.step(USAGE, history)
    (total,) = totals(rows)
    assert (total.day, total.responses, total.input_tokens) == (None, 3, 7)


def test_parts_keep_rows_of_their_own_and_are_summed_on_read() -> None:
    from tests.adapters.views.row_stores import ROW_STORES

    store = ROW_STORES["postgres"](Path())
    assert isinstance(store, PostgresStore)
    try:
        for part in (0, 1):
            found = event_batches(recorded([Happening(0, ended(taken=part + 1), None, 0)]), USAGE)
            with store.connection.transaction():
                step(Feed(USAGE, 1), found, PostgresRows(store.connection, 3, part))
        assert [row["input_tokens"] for row in store.page(USAGE, TENANT)] == [3]
        kept = store.connection.execute("SELECT count(*) FROM onrecord.view_usage").fetchone()
        assert kept == (2,)
    finally:
        store.close()


def test_sums_stay_exact_whatever_servers_say(rows: RowStore) -> None:
    for taken in (2**53 - 2, 2**64, -5, 7):
        rows.step(USAGE, recorded([Happening(0, ended(taken=taken, given=None), None, 0)]))
    assert [row["input_tokens"] for row in rows.page(USAGE, TENANT)] == [2**53 - 1]


def test_a_step_of_many_impossible_counts_stays_exact(rows: RowStore) -> None:
    happened = (Happening(0, ended(taken=2**53 - 1), None, 0) for _ in range(1100))
    assert rows.step(USAGE, recorded(happened)) == []
    assert [row["input_tokens"] for row in rows.page(USAGE, TENANT)] == [2**53 - 1]


def test_names_that_no_database_stores_are_made_storable(rows: RowStore) -> None:
    rows.step(USAGE, recorded([Happening(0, ended("m\0\ud800" + "x" * 5000), None, 0)]))
    (row,) = rows.page(USAGE, TENANT)
    assert row["model"] == "m\ufffd?" + "x" * 197


@examples(60, [HealthCheck.function_scoped_fixture])
@given(data=st.data(), history=histories())
def test_the_same_rows_come_however_a_history_is_cut(
    rows: RowStore, data: st.DataObject, history: list[RecordedEvent]
) -> None:
    def folded(steps: Sequence[Sequence[RecordedEvent]]) -> list[Row]:
        generation = next(GENERATIONS)
        for each in steps:
            assert rows.step(USAGE, each, generation=generation) == []
        return rows.page(USAGE, TENANT, generation=generation)

    check_steps(history, in_pieces(history, data.draw(pieces(history))), folded)
