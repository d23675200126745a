"""What frameworks wrote by their stores is found by its words, as what was said is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from onrecord.domain.events import ContentRedacted, Event
from onrecord.domain.items import ItemRecorded, ItemWithdrawn
from tests.adapters.frameworks.written_histories import (
    ANSWERED,
    ASKED,
    CALLED,
    GAVE,
    HISTORIES,
    framework_message,
)
from tests.adapters.frameworks.written_sessions import AGENTS, CLAUDE, ITEMS, TRANSCRIPT, entry
from tests.adapters.views.row_stores import RowStore
from tests.adapters.views.test_search import Told


@pytest.fixture
def told(rows: RowStore) -> Told:
    return Told(rows)


def items_of(framework: str, items: Sequence[Any], stream: str = "") -> list[Event]:
    return [
        ItemRecorded(framework=framework, stream=stream, item_id=each.item_id, item=each.item)
        for each in items
    ]


def histories_of(framework: str) -> list[Event]:
    return [ItemRecorded(framework=framework, item=item) for item in HISTORIES[framework]]


@pytest.mark.parametrize("framework", HISTORIES)
def test_a_history_in_a_frameworks_own_spelling_is_found_by_what_it_says(
    told: Told, framework: str
) -> None:
    told.happen(*histories_of(framework))
    assert [(hit.version, hit.role, hit.tool) for hit in told.find("NW-1")] == [
        (CALLED + 1, "assistant", "track"),
        (ASKED + 1, "user", None),
    ]
    assert [(hit.version, hit.role) for hit in told.find("in depot north")] == [
        (ANSWERED + 1, "assistant"),
        (GAVE + 1, "tool"),
    ]
    # What a model thought is not searched.
    assert told.versions("look") == []


def test_an_item_of_several_speakers_is_one_row_with_all_they_say(told: Told) -> None:
    gave = {"type": "function_result", "call_id": "c1", "result": "lost"}
    item = framework_message("user", gave, {"type": "text", "text": "Look again."})
    told.happen(ItemRecorded(framework="agent-framework", item=item))
    assert [(hit.version, hit.role) for hit in told.find("lost again")] == [(1, "user")]


def test_a_transcript_of_claude_is_found_by_what_was_said_asked_and_given(told: Told) -> None:
    told.happen(*items_of(CLAUDE, TRANSCRIPT))
    assert [(hit.version, hit.role, hit.tool) for hit in told.find("NW-1")] == [
        (5, "assistant", "track"),
        (2, "user", None),
    ]
    assert [(hit.version, hit.role) for hit in told.find("in depot north")] == [
        (7, "assistant"),
        (6, "tool"),
    ]
    assert told.versions("track") == [5]
    # What a model thought is not searched, nor what the program notes besides.
    assert told.versions("look") == [4]
    assert told.versions("enqueue") == []


def test_items_of_openai_agents_are_found_by_what_was_said_asked_and_given(told: Told) -> None:
    told.happen(*items_of(AGENTS, ITEMS))
    assert [(hit.version, hit.role, hit.tool) for hit in told.find("NW-1")] == [
        (4, "assistant", "track"),
        (1, "user", None),
    ]
    assert [(hit.version, hit.role) for hit in told.find("depot")] == [
        (6, "assistant"),
        (5, "tool"),
    ]
    assert told.versions('"is this it"') == [7]
    assert told.versions("look") == [3]


def test_what_was_taken_away_and_other_streams_are_found_for_the_record_keeps_them(
    told: Told,
) -> None:
    side = entry(1, "assistant", "Parcels of a subagent.", isSidechain=True)
    told.happen(*items_of(AGENTS, ITEMS[:1]), ItemWithdrawn(version=1))
    told.happen(*items_of(CLAUDE, [side], "subagents/agent-1"))
    assert told.versions("parcel") == [1]
    assert told.versions("subagent") == [3]


def test_a_redacted_item_is_found_no_more(told: Told) -> None:
    told.happen(*items_of(AGENTS, ITEMS), ContentRedacted(version=4))
    assert told.versions("NW-1") == [1]


ODD: Sequence[dict[str, Any]] = (
    {},
    {"role": []},
    {"type": 7},
    {"text": "parcel"},
    {"role": "user", "contents": ["parcel", {"type": []}]},
    {"message": {"kind": "request", "parts": [7, {"part_kind": "user-prompt"}]}},
    {"message": {"kind": "response", "parts": [{"part_kind": ["text"]}]}},
    {"__event__": "a.ModelRequest", "parts": [7, {"__event__": "TextInput", "content": 7}]},
    {"checkpoint_id": 7, "values": [1], "channels": {}},
    {"writes_to": "1", "task_id": "", "task_path": "", "writes": [[0, "messages", "parcel"]]},
    {"writes_to": "1", "task_id": "", "task_path": "", "writes": [[0, "messages", {"json": 7}]]},
    {"writes_to": "1", "task_id": "", "task_path": "", "writes": [[0, 7, {}]]},
    {"__event__": "a.ModelResponse", "message": "parcel", "tool_calls": {"calls": [{}]}},
)


@pytest.mark.parametrize("item", ODD)
@pytest.mark.parametrize("framework", [AGENTS, CLAUDE, *HISTORIES, "another"])
def test_an_item_that_is_not_understood_holds_nothing_up(
    told: Told, framework: str, item: dict[str, Any]
) -> None:
    told.happen(ItemRecorded(framework=framework, item=item), *items_of(AGENTS, ITEMS[:1]))
    assert told.versions("parcel") == [2]
