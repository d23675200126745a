"""The tokens of answers that items of frameworks tell of: each counts once, under the framework's name."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from onrecord.domain.events import ContentRedacted, Event
from onrecord.domain.items import ItemRecorded
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.frameworks.registry import framework_of
from onrecord.projections.views.usage import COUNTS, USAGE
from tests.adapters.frameworks.written_histories import (
    HISTORIES,
    ag2_event,
    framework_message,
    langgraph_message,
    langgraph_typed,
    langgraph_writes,
    pydantic_entry,
)
from tests.adapters.frameworks.written_sessions import AGENTS, CLAUDE, ITEMS, TRANSCRIPT, entry
from tests.adapters.views.histories import Happening, recorded
from tests.adapters.views.row_stores import RowStore
from tests.adapters.views.used import ended
from tests.factories import TENANT

DAY = 86_400_000_000
CLAUDE_USAGE = {
    "input_tokens": 10,
    "output_tokens": 1,
    "cache_read_input_tokens": 200,
    "cache_creation_input_tokens": 30,
}


def item(framework: str, spelled: JsonObject, **members: Any) -> Event:
    return ItemRecorded(framework=framework, item=spelled, **members)


def block(number: int, written: int, message: str = "msg_1", **members: Any) -> Event:
    """An entry with a block of an answer of Claude's, so much of it being written by then."""
    usage = {**CLAUDE_USAGE, "output_tokens": written}
    said = entry(number, "assistant", "Hm.", message={"id": message, "usage": usage})
    return item(CLAUDE, said.item, **members)


def counted(rows: RowStore, *events: Event, apart: bool = True) -> list[tuple[Any, ...]]:
    """Return what is counted: API, model and the six counts."""
    history = recorded(Happening(0, event, None, 0) for event in events)
    for events_at_once in [[each] for each in history] if apart else [history]:
        assert rows.step(USAGE, events_at_once) == []
    columns = ("api", "model", *COUNTS)
    return [tuple(row[column] for column in columns) for row in rows.page(USAGE, TENANT)]


ONCE = [(CLAUDE, "claude-sonnet-4-5", 1, 240, 9, 200, 30, 0)]


@pytest.mark.parametrize("apart", [True, False])
def test_an_answer_of_several_entries_counts_once_as_it_was_in_the_end(
    rows: RowStore, apart: bool
) -> None:
    assert counted(rows, block(1, 2), block(2, 9), block(3, 5), apart=apart) == ONCE


def test_answers_between_the_entries_of_another_count_by_themselves(rows: RowStore) -> None:
    told = counted(rows, block(1, 9), block(2, 4, "msg_2", stream="sub"), block(3, 9))
    assert told == [(CLAUDE, "claude-sonnet-4-5", 2, 480, 13, 400, 60, 0)]


def test_the_same_id_in_another_conversation_is_another_answer(rows: RowStore) -> None:
    history = recorded(Happening(number, block(1, 9), None, 0) for number in (0, 1))
    assert rows.step(USAGE, history) == []
    assert [row["responses"] for row in rows.page(USAGE, TENANT)] == [2]


def test_what_an_answer_took_on_another_day_counts_on_that_day(rows: RowStore) -> None:
    history = recorded([Happening(0, block(1, 2), None, 0), Happening(0, block(2, 9), None, DAY)])
    for event in history:
        assert rows.step(USAGE, [event]) == []
    told = [(row["responses"], row["output_tokens"]) for row in rows.page(USAGE, TENANT)]
    assert told == [(0, 7), (1, 2)]


def test_a_recorded_client_counts_beside_the_framework_and_is_told_apart(rows: RowStore) -> None:
    told = counted(rows, block(1, 9), ended("claude-sonnet-4-5"))
    assert [each[:2] for each in told] == [
        ("anthropic-messages", "claude-sonnet-4-5"),
        (CLAUDE, "claude-sonnet-4-5"),
    ]


def test_an_item_beside_the_stream_is_no_answer_and_a_redacted_one_was_paid_for(
    rows: RowStore,
) -> None:
    assert counted(rows, block(1, 9), block(1, 70, beside=1), ContentRedacted(version=1)) == ONCE


def test_what_is_forgotten_leaves_sums_and_no_row_of_its_own(rows: RowStore) -> None:
    assert counted(rows, block(1, 9)) == ONCE
    rows.forget(USAGE, UUID(int=0))
    assert counted(rows, block(1, 9))[0][2] == 2


USED: dict[str, tuple[JsonObject, tuple[Any, ...]]] = {
    "pydantic-ai": (
        pydantic_entry(
            "response",
            model_name="gpt-6",
            usage={
                "input_tokens": 240,
                "output_tokens": 9,
                "cache_read_tokens": 200,
                "cache_write_tokens": 30,
                "output_reasoning_tokens": 4,
            },
        ),
        ("gpt-6", 1, 240, 9, 200, 30, 4),
    ),
    "agent-framework": (
        framework_message(
            "assistant",
            {"type": "text", "text": "Hm."},
            {
                "type": "usage",
                "usage_details": {"input_token_count": 240, "output_token_count": 9},
            },
        ),
        ("", 1, 240, 9, 0, 0, 0),
    ),
    "langgraph": (
        langgraph_writes(
            (
                "messages",
                langgraph_typed(
                    langgraph_message(
                        "ai",
                        "Hm.",
                        response_metadata={"model_name": "gpt-6"},
                        usage_metadata={
                            "input_tokens": 240,
                            "output_tokens": 9,
                            "input_token_details": {"cache_read": 200, "cache_creation": 30},
                            "output_token_details": {"reasoning": 4},
                        },
                    )
                ),
            )
        ),
        ("gpt-6", 1, 240, 9, 200, 30, 4),
    ),
    "google-adk": (
        {
            "id": "e",
            "model_version": "gemini-3",
            "usage_metadata": {
                "prompt_token_count": 240,
                "candidates_token_count": 5,
                "thoughts_token_count": 4,
                "cached_content_token_count": 200,
            },
        },
        ("gemini-3", 1, 240, 9, 200, 0, 4),
    ),
}


@pytest.mark.parametrize("framework", USED)
def test_each_framework_counts_as_onrecord_does(rows: RowStore, framework: str) -> None:
    spelled, counts = USED[framework]
    assert counted(rows, item(framework, spelled)) == [(framework, *counts)]


def ag2_usage(at: float, provider: str, **counts: float) -> Event:
    usage = {"data": {"prompt_tokens": 10.0, "completion_tokens": 5.0, **counts}}
    return item(
        "ag2",
        ag2_event("UsageEvent", usage=usage, provider=provider, model="m") | {"created_at": at},
    )


def test_ag2_tells_of_tokens_in_events_that_a_compaction_may_keep_again(rows: RowStore) -> None:
    first = ag2_usage(1.5, "openai", cache_read_input_tokens=4.0)
    second = ag2_usage(2.5, "anthropic", cache_read_input_tokens=100.0)
    third = ag2_usage(3.5, "google", thinking_tokens=7.0)
    told = counted(rows, first, second, third, first, third)
    assert told == [("ag2", "m", 3, 130, 22, 104, 0, 7)]


def test_what_names_no_tokens_is_no_answer(rows: RowStore) -> None:
    written = [item(CLAUDE, each.item) for each in TRANSCRIPT]
    written += [item(AGENTS, each.item) for each in ITEMS]
    written += [item(framework, each) for framework, all_ in HISTORIES.items() for each in all_]
    assert counted(rows, *written, apart=False) == []


@pytest.mark.parametrize("framework", [CLAUDE, "ag2", *USED])
@pytest.mark.parametrize(
    "spelled",
    [
        {},
        {"type": "assistant", "message": {"usage": [1], "id": 7}},
        {"type": "assistant", "message": {"usage": {"input_tokens": -1, "output_tokens": "x"}}},
        {"contents": [7, {"usage_details": None}], "usage_metadata": "x"},
        {"__event__": "UsageEvent", "usage": {"data": {"prompt_tokens": None}}},
    ],
)
def test_what_is_no_count_is_not_counted(framework: str, spelled: JsonObject) -> None:
    assert list(framework_of(framework).usages(spelled)) == []
