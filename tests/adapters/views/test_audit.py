"""The audit view: who did what and when, with which model or tool, and nothing of what was said."""

from __future__ import annotations

from uuid import uuid4

from onrecord.adapters.storage.memory.memory import Memory
from onrecord.domain.events import ContentRedacted
from onrecord.projections.views.audit import AUDIT, ErasureDeed, deed
from onrecord.projections.views.view import Row
from tests.adapters.views.row_stores import RowStore, everything
from tests.factories import TENANT, appending, prompt, started, tool_call, tool_result


def test_each_event_has_a_row_and_calls_name_their_tool(rows: RowStore) -> None:
    log, conversation = Memory(), uuid4()
    log.append([appending(conversation, started(), prompt(), tool_call("c1", "look_up"))])
    assert rows.step(AUDIT, everything(log)) == []
    shown = rows.page(AUDIT, TENANT)
    assert [(row["version"], row["type"], row["tool"]) for row in shown] == [
        (3, "tool_call.recorded", "look_up"),
        (2, "message.recorded", None),
        (1, "conversation.started", None),
    ]


def test_the_same_rows_come_of_one_step_and_of_a_step_an_event(rows: RowStore) -> None:
    log, conversation = Memory(), uuid4()
    said = (started(), prompt(), tool_call("c1"), tool_result("c1"), ContentRedacted(version=3))
    log.append([appending(conversation, *said)])
    for event in everything(log):
        assert rows.step(AUDIT, [event]) == []
    one_by_one = rows.page(AUDIT, TENANT)
    assert rows.step(AUDIT, everything(log)) == []
    assert rows.page(AUDIT, TENANT) == one_by_one


def test_what_is_still_to_come_is_not_redacted_in_one_step_nor_in_two(rows: RowStore) -> None:
    log, conversation = Memory(), uuid4()
    log.append([appending(conversation, ContentRedacted(version=2), tool_call("c1", "look_up"))])
    assert rows.step(AUDIT, everything(log)) == []
    at_once = rows.page(AUDIT, TENANT)
    assert [row["tool"] for row in at_once] == ["look_up", None]
    for event in everything(log):
        assert rows.step(AUDIT, [event]) == []
    assert rows.page(AUDIT, TENANT) == at_once


def test_a_redacted_call_keeps_its_row_without_the_tool(rows: RowStore) -> None:
    log, conversation = Memory(), uuid4()
    log.append([appending(conversation, started(), prompt(), tool_call("c1", "look_up"))])
    rows.step(AUDIT, everything(log))
    log.append([appending(conversation, ContentRedacted(version=3))])
    rows.step(AUDIT, everything(log)[3:])
    assert [row["tool"] for row in rows.page(AUDIT, TENANT, type="tool_call.recorded")] == [None]


def test_what_is_erased_keeps_its_rows_without_the_tool(rows: RowStore) -> None:
    log, conversation = Memory(), uuid4()
    log.append([appending(conversation, started(), prompt(), tool_call("c1", "look_up"))])
    rows.step(AUDIT, everything(log))
    rows.forget(AUDIT, conversation)
    erased = rows.page(AUDIT, TENANT)
    assert [row["tool"] for row in erased] == [None, None, None]
    log.forget(conversation)
    assert rows.step(AUDIT, everything(log)) == []
    assert rows.page(AUDIT, TENANT) == erased


def test_an_entry_says_what_was_erased_why_and_which_forks_stay() -> None:
    erased, fork = uuid4(), uuid4()
    row: Row = {
        **dict.fromkeys(("actor", "on_behalf_of", "api", "model", "tool")),
        **dict.fromkeys(("policy", "deployment", "sha256", "outcome", "documents")),
        **dict.fromkeys(("version", "position", "recorded_at", "occurred_at"), 1),
        "conversation_id": str(uuid4()),
        "type": "erasure.completed",
    }
    assert deed({**row, "erasure": None}).erasure is None
    intent = {"conversation_id": str(erased), "actor": "ab12", "reason": "asked to"}
    assert deed({**row, "erasure": intent}).erasure == ErasureDeed(erased, "ab12", "asked to")
    outcome = {"conversation_id": str(erased), "events": 3, "forks": [str(fork)]}
    assert deed({**row, "erasure": outcome}).erasure == ErasureDeed(erased, events=3, forks=(fork,))
