"""The calls that frameworks wrote by their stores are in the ledger, each with its result."""

from __future__ import annotations

from typing import Any

import pytest

from onrecord.domain.events import ContentRedacted, Event
from onrecord.domain.items import ItemRecorded, ItemWithdrawn
from onrecord.projections.views.tool_ledger import TOOL_LEDGER
from tests.adapters.frameworks.written_histories import (
    CALLED,
    GAVE,
    HISTORIES,
    pydantic_call,
    pydantic_entry,
)
from tests.adapters.frameworks.written_sessions import (
    AGENTS,
    CLAUDE,
    ITEMS,
    PICTURE,
    TRANSCRIPT,
    WRITTEN,
    entry,
    text,
)
from tests.adapters.views.row_stores import RowStore
from tests.adapters.views.test_search_items import histories_of, items_of
from tests.adapters.views.test_tool_ledger import Book
from tests.factories import TENANT


def pydantic_return(call_id: str, said: str) -> dict[str, Any]:
    part = {"part_kind": "tool-return", "tool_call_id": call_id, "tool_name": "track"}
    return {**part, "content": said}


@pytest.fixture
def book(rows: RowStore) -> Book:
    return Book(rows)


@pytest.mark.parametrize("framework", WRITTEN)
def test_a_call_has_its_result(book: Book, framework: str) -> None:
    book.happen(*items_of(framework, WRITTEN[framework][1]))
    (call,) = book.calls()
    assert (call.kind, call.name, call.arguments) == ("tool", "track", '{"parcel":"NW-1"}')
    assert (call.status, call.result, call.is_error) == ("done", "in depot North", False)
    assert call.version + 1 == call.result_version


@pytest.mark.parametrize("framework", HISTORIES)
def test_a_call_in_a_frameworks_own_spelling_has_its_result(book: Book, framework: str) -> None:
    book.happen(*histories_of(framework))
    (call,) = book.calls()
    assert (call.name, call.arguments, call.status) == ("track", '{"parcel":"NW-1"}', "done")
    assert (call.version, call.result_version) == (CALLED + 1, GAVE + 1)
    assert call.result == "in depot North"


@pytest.mark.parametrize("framework", WRITTEN)
def test_a_call_finds_its_result_when_that_comes_later(book: Book, framework: str) -> None:
    for event in items_of(framework, WRITTEN[framework][1]):
        book.happen(event)
    (call,) = book.calls()
    assert (call.status, call.result) == ("done", "in depot North")


PARALLEL = [
    pydantic_entry(
        "response", pydantic_call("c1", parcel="NW-1"), pydantic_call("c2", parcel="NW-2")
    ),
    pydantic_entry("request", pydantic_return("c1", "North"), pydantic_return("c2", "South")),
]


def parallel(entries: list[dict[str, Any]]) -> list[Event]:
    return [ItemRecorded(framework="pydantic-ai", item=each) for each in entries]


@pytest.mark.parametrize("apart", [True, False])
def test_each_of_several_calls_in_an_item_has_its_result(book: Book, apart: bool) -> None:
    events = parallel(PARALLEL)
    for at_once in [[each] for each in events] if apart else [events]:
        book.happen(*at_once)
    told = [(call.version, call.arguments, call.result) for call in book.calls()]
    assert told == [(1, '{"parcel":"NW-1"}', "North"), (1, '{"parcel":"NW-2"}', "South")]


def test_a_page_goes_on_amid_the_calls_of_an_item(book: Book) -> None:
    book.happen(*parallel(PARALLEL))
    (last,) = book.rows.page(TOOL_LEDGER, TENANT, limit=1)
    after = {column: last[column] for column in ("position", "ordinal")}
    (first,) = book.rows.page(TOOL_LEDGER, TENANT, limit=1, after=after)
    assert (last["call_id"], first["call_id"]) == ("c2", "c1")


def test_results_without_a_call_have_a_row_each(book: Book) -> None:
    book.happen(*parallel(PARALLEL[1:]))
    assert [(call.call_id, call.result) for call in book.calls()] == [
        ("c1", "North"),
        ("c2", "South"),
    ]


@pytest.mark.parametrize("apart", [True, False])
def test_a_redaction_takes_all_calls_of_an_item_and_all_results(book: Book, apart: bool) -> None:
    events = [*parallel(PARALLEL), ContentRedacted(version=2)]
    for at_once in [[each] for each in events] if apart else [events]:
        book.happen(*at_once)
    told = [(call.name, call.result) for call in book.calls()]
    assert told == [("track", None), ("track", None)]
    book.happen(ContentRedacted(version=1))
    assert [(call.name, call.arguments) for call in book.calls()] == [(None, None), (None, None)]


def test_a_call_without_a_result_is_open_and_one_that_failed_says_so(book: Book) -> None:
    called: dict[str, Any] = {"type": "tool_use", "name": "track", "input": {}}
    calls = [{**called, "id": f"toolu_{number}"} for number in (1, 2)]
    gave = {"type": "tool_result", "tool_use_id": "toolu_2", "content": "no", "is_error": True}
    asked = [entry(n, "assistant", [call]) for n, call in enumerate(calls, 1)]
    book.happen(*items_of(CLAUDE, [*asked, entry(3, "user", [gave, text("Go on.")])]))
    assert [(call.status, call.result, call.is_error) for call in book.calls()] == [
        ("open", None, False),
        ("failed", "no", True),
    ]


def test_what_a_providers_tool_drew_is_a_call_of_its_own(book: Book) -> None:
    drawn = {"type": "image_generation_call", "id": "ig_1", "status": "completed"}
    book.happen(ItemRecorded(framework=AGENTS, item={**drawn, "result": PICTURE}))
    (call,) = book.calls()
    assert (call.kind, call.name, call.status) == ("server tool", "image_generation", "done")


def test_a_call_stays_when_its_item_is_withdrawn_and_goes_when_it_is_redacted(book: Book) -> None:
    book.happen(*items_of(AGENTS, ITEMS), ItemWithdrawn(version=4))
    assert [call.name for call in book.calls()] == ["track"]
    book.happen(ContentRedacted(version=4))
    (call,) = book.calls()
    assert (call.name, call.arguments, call.result) == (None, None, None)


def test_a_redacted_result_is_gone_from_its_call(book: Book) -> None:
    book.happen(*items_of(AGENTS, ITEMS), ContentRedacted(version=5))
    (call,) = book.calls()
    assert (call.name, call.result) == ("track", None)


def test_an_item_beside_the_stream_is_no_call(book: Book) -> None:
    (first,) = items_of(CLAUDE, [TRANSCRIPT[4]])
    assert isinstance(first, ItemRecorded)
    other = first.model_copy(update={"beside": 1})
    book.happen(first, other)
    assert [call.version for call in book.calls()] == [1]


@pytest.mark.parametrize(
    "item",
    [
        {"type": "function_call", "call_id": 1, "name": None, "arguments": []},
        {"type": "function_call_output", "output": None},
        {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "tool_use"}]}},
    ],
)
@pytest.mark.parametrize("framework", [AGENTS, CLAUDE, "another"])
def test_an_item_that_is_no_whole_call_holds_nothing_up(
    book: Book, framework: str, item: dict[str, Any]
) -> None:
    book.happen(ItemRecorded(framework=framework, item=item), *items_of(AGENTS, ITEMS))
    assert [call.name for call in book.calls() if call.arguments] == ["track"]
