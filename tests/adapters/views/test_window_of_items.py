"""The window of a framework's session: the exchanges that its main stream holds."""

from __future__ import annotations

from typing import Any

import pytest

from onrecord.domain.events import ContentRedacted, Event, LineAdopted
from onrecord.domain.items import ItemRecorded, ItemsReplaced, ItemWithdrawn, StreamCleared
from onrecord.projections.views.window import WINDOW, Exchange, exchange_of
from tests.adapters.frameworks.written_histories import HISTORIES
from tests.adapters.frameworks.written_sessions import AGENTS, CLAUDE, WRITTEN
from tests.adapters.views.histories import Happening, recorded
from tests.adapters.views.row_stores import RowStore
from tests.adapters.views.test_search_items import histories_of, items_of
from tests.factories import TENANT, answer, prompt, started


def window_of(rows: RowStore, *events: Event, apart: bool = True) -> list[Exchange]:
    """Return the exchanges of a conversation in which this happened, the first one first."""
    history = recorded(Happening(0, event, None, 0) for event in events)
    for at_once in [[each] for each in history] if apart else [history]:
        assert rows.step(WINDOW, at_once) == []
    page = rows.page(WINDOW, TENANT, conversation_id=str(history[0].conversation_id))
    return [exchange_of(row) for row in page][::-1]


def said(exchanges: list[Exchange]) -> list[tuple[str | None, str | None]]:
    return [(each.prompt, each.answer) for each in exchanges]


def item(speaker: str, text: str, **members: Any) -> Event:
    return ItemRecorded(framework=AGENTS, item={"role": speaker, "content": text}, **members)


@pytest.mark.parametrize("framework", WRITTEN)
def test_a_session_is_told_by_its_exchanges(rows: RowStore, framework: str) -> None:
    told = window_of(rows, started(), *items_of(framework, WRITTEN[framework][1]))
    assert said(told) == [
        ("Where is parcel NW-1?", "In depot North."),
        ("Is this it?", "Yes."),
        ("Thanks. And NW-2?", None),
    ]
    first, second, _ = told
    assert (first.tool_calls, first.messages, first.exchange, first.is_closed) == (1, 3, 0, True)
    assert second.documents == 1


@pytest.mark.parametrize("framework", HISTORIES)
def test_a_history_in_a_frameworks_own_spelling_is_told_by_its_exchanges(
    rows: RowStore, framework: str
) -> None:
    (told,) = window_of(rows, started(), *histories_of(framework))
    assert said([told]) == [("Where is parcel NW-1?", "In depot North.")]
    assert told.tool_calls == 1


def test_a_thread_that_was_pruned_keeps_its_exchanges(rows: RowStore) -> None:
    events = histories_of("langgraph")
    latest = len(events) + 1
    pruned = ItemsReplaced(framework="langgraph", kept=((latest, latest),))
    told = window_of(rows, started(), *events, pruned)
    assert said(told) == [("Where is parcel NW-1?", "In depot North.")]


SPOKEN = (item("user", "one"), item("assistant", "first"), item("user", "two"))


@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.parametrize(
    ("then", "left"),
    [
        ((ItemWithdrawn(version=4),), [("one", "first")]),
        ((ItemsReplaced(framework=AGENTS, kept=((2, 3),)),), [("one", "first")]),
        (
            (ItemsReplaced(framework=AGENTS, kept=((4, 4),)), item("user", "3")),
            [("two", None), ("3", None)],
        ),
        ((StreamCleared(framework=AGENTS), item("user", "3")), [("3", None)]),
        ((StreamCleared(framework=AGENTS, whole=True),), []),
        ((StreamCleared(framework=AGENTS, stream="sub"),), [("one", "first"), ("two", None)]),
        ((ContentRedacted(version=3),), [("one", None), ("two", None)]),
    ],
)
def test_what_the_session_holds_no_more_is_out(
    rows: RowStore, apart: bool, then: tuple[Event, ...], left: list[tuple[Any, Any]]
) -> None:
    assert said(window_of(rows, started(), *SPOKEN, *then, apart=apart)) == left


def test_an_item_goes_in_the_batch_in_which_the_main_branch_goes_on_elsewhere(
    rows: RowStore,
) -> None:
    before = (started(), prompt("mine"), answer("yours"), SPOKEN[0], prompt("next"), answer("no"))
    then = (LineAdopted(after=5), ItemWithdrawn(version=4))
    history = recorded(Happening(0, event, None, 0) for event in (*before, *then))
    for batch in (history[: len(before)], history[len(before) :]):
        assert rows.step(WINDOW, batch) == []
    page = rows.page(WINDOW, TENANT, conversation_id=str(history[0].conversation_id))
    assert [exchange_of(row).prompt for row in page] == ["next", "mine"]


def test_what_other_verbs_recorded_stays_when_a_session_is_cleared(rows: RowStore) -> None:
    own = (prompt("mine"), answer("yours"))
    told = window_of(rows, started(), *own, *SPOKEN, StreamCleared(framework=AGENTS))
    assert said(told) == [("mine", "yours")]


def test_other_streams_and_items_beside_are_no_exchanges(rows: RowStore) -> None:
    told = window_of(
        rows, started(), SPOKEN[0], item("user", "sub", stream="s"), item("user", "x", beside=2)
    )
    assert said(told) == [("one", None)]


def test_an_item_that_says_nothing_opens_nothing(rows: RowStore) -> None:
    assert window_of(rows, started(), ItemRecorded(framework=CLAUDE, item={"type": "x"})) == []
