"""A session of a framework is told at a glance as any conversation: a title, and what was said and called."""

from __future__ import annotations

from typing import Any

import pytest

from onrecord.domain.events import ContentRedacted, Event
from onrecord.domain.items import ItemRecorded
from onrecord.projections.views.conversations import overview
from tests.adapters.frameworks.written_histories import HISTORIES
from tests.adapters.frameworks.written_sessions import AGENTS, CLAUDE, ITEMS, WRITTEN, entry
from tests.adapters.views.row_stores import RowStore
from tests.adapters.views.test_conversations import row_of
from tests.adapters.views.test_search_items import histories_of, items_of
from tests.factories import prompt, started

TITLE = "Where is parcel NW-1?"


@pytest.mark.parametrize("framework", WRITTEN)
def test_a_session_has_a_title_and_counts(rows: RowStore, framework: str) -> None:
    told = overview(row_of(rows, started(), *items_of(framework, WRITTEN[framework][1])))
    assert (told.title, told.providers) == (TITLE, (framework,))
    assert (told.user_messages, told.assistant_messages) == (3, 3)
    assert (told.tool_calls, told.documents) == (1, 1)


def test_the_models_of_answers_that_tell_of_tokens_are_named(rows: RowStore) -> None:
    usage = {"input_tokens": 1, "output_tokens": 1}
    said = entry(1, "assistant", "Hm.", message={"usage": usage})
    told = overview(row_of(rows, started(), *items_of(CLAUDE, [said])))
    assert (told.models, told.input_tokens) == (("claude-sonnet-4-5",), 0)


@pytest.mark.parametrize("framework", HISTORIES)
def test_a_history_in_a_frameworks_own_spelling_has_a_title_and_counts(
    rows: RowStore, framework: str
) -> None:
    told = overview(row_of(rows, started(), *histories_of(framework)))
    assert told.title == TITLE
    assert (told.user_messages, told.assistant_messages, told.tool_calls) == (1, 1, 1)


def test_a_title_goes_when_its_item_is_redacted(rows: RowStore) -> None:
    row = row_of(rows, started(), *items_of(AGENTS, ITEMS), ContentRedacted(version=2))
    assert row["title"] is None


def test_a_subagent_and_what_the_program_adds_give_no_title(rows: RowStore) -> None:
    meta = entry(1, "user", "Caveat: the program says.", isMeta=True)
    told = [
        *items_of(CLAUDE, [entry(1, "user", "Look there.")], "subagents/agent-1"),
        *items_of(CLAUDE, [meta, entry(2, "user", "Where is it?")]),
    ]
    row = row_of(rows, started(), *told)
    assert (row["title"], row["user_messages"], row["system_messages"]) == ("Where is it?", 2, 1)


def test_what_was_said_before_the_items_gives_the_title(rows: RowStore) -> None:
    row = row_of(rows, started(), prompt("Mine."), *items_of(AGENTS, ITEMS))
    assert row["title"] == "Mine."


@pytest.mark.parametrize("item", [{}, {"role": "user", "content": 7}, {"type": "not yet known"}])
def test_an_item_that_says_nothing_counts_nothing(rows: RowStore, item: dict[str, Any]) -> None:
    unread: list[Event] = [ItemRecorded(framework=each, item=item) for each in (CLAUDE, AGENTS)]
    told = overview(row_of(rows, started(), *unread))
    assert (told.title, told.tool_calls, told.documents) == (None, 0, 0)


def test_an_item_beside_the_stream_counts_nothing(rows: RowStore) -> None:
    other = ItemRecorded(framework=AGENTS, beside=1, item={"role": "user", "content": "Hm?"})
    assert overview(row_of(rows, started(), other)).user_messages == 0


def test_an_item_beside_the_stream_names_no_model(rows: RowStore) -> None:
    usage = {"input_tokens": 1, "output_tokens": 1}
    said = entry(1, "assistant", "Hm.", message={"usage": usage}).item
    other = ItemRecorded(framework=CLAUDE, beside=1, item=said)
    assert overview(row_of(rows, started(), other)).models == ()
