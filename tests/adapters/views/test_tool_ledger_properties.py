"""However calls and results come, and in however many steps, the ledger tells the same of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.adapters.storage.memory.memory import Memory
from onrecord.domain import events
from onrecord.domain.events import ContentRedacted, Event
from onrecord.domain.items import ItemRecorded
from onrecord.domain.log import RecordedEvent
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.history.server_tools import Activity, activity
from onrecord.projections.history.tool_names import ANTHROPIC, name_for
from onrecord.projections.views.tool_ledger import TOOL_LEDGER, ToolCallEntry, ledger_call_of
from onrecord.projections.views.view import Row
from tests.adapters.views.happenings import server_tools
from tests.adapters.views.histories import histories, pieces
from tests.adapters.views.row_stores import ROW_STORES, RowStore, everything, in_pieces
from tests.adapters.views.tool_events import (
    LINE,
    RESPONSE,
    called,
    closed,
    gave,
    search_gave,
    searched,
)
from tests.factories import TENANT, appending, tool_call
from tests.search import examples


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[RowStore]]:
    opened = [open_(tmp_path_factory.mktemp(name)) for name, open_ in ROW_STORES.items()]
    yield opened
    for store in opened:
        store.close()


def ledger(rows: RowStore, steps: Sequence[Sequence[RecordedEvent]]) -> list[ToolCallEntry]:
    """The calls of a log that is folded step by step, the latest first; nothing stays."""
    for step in steps:
        assert rows.step(TOOL_LEDGER, step) == []
    shown = [ledger_call_of(row) for row in rows.page(TOOL_LEDGER, TENANT)]
    for conversation_id in {event.conversation_id for step in steps for event in step}:
        rows.forget(TOOL_LEDGER, conversation_id)
    return shown


declared = st.lists(st.sampled_from(["a/b", "c"]), unique=True, max_size=2).map(
    lambda names: events.ToolsDeclared(
        tools=tuple(ToolDefinition(name=name, input_schema={}) for name in names)
    )
)
ids = st.sampled_from(["0", "1"])
lines = st.sampled_from([None, None, LINE])
responses = st.sampled_from([None, RESPONSE, UUID(int=9)])


def item_call(call: str) -> Row:
    return {"type": "tool_use", "id": call, "name": "track", "input": {}}


def item_result(call: str) -> Row:
    return {"type": "tool_result", "tool_use_id": call, "content": "x"}


def item(blocks: list[Row]) -> Event:
    message = {"role": "assistant", "content": blocks}
    return ItemRecorded(
        framework="claude-agent-sdk", item={"type": "assistant", "message": message}
    )


deeds = st.one_of(
    st.builds(called, ids, line=lines, response=responses, q=st.integers(0, 1)),
    st.builds(tool_call, ids, st.just(name_for("a/b", ANTHROPIC))),
    st.builds(gave, ids, line=lines, call=st.integers(1, 9) | st.none()),
    st.builds(searched, ids, st.sampled_from(["web_search", "web_fetch"]), line=lines),
    st.builds(search_gave, ids, line=lines),
    st.builds(ContentRedacted, version=st.integers(1, 9)),
    st.lists(st.one_of(ids.map(item_call), ids.map(item_result)), min_size=1, max_size=3).map(item),
    st.just(closed()),
    declared,
)


@examples(60)
@given(st.data())
def test_however_calls_are_cut_into_steps_the_rows_are_the_same(
    stores: Sequence[RowStore], data: st.DataObject
) -> None:
    log, conversation = Memory(), uuid4()
    log.append([appending(conversation, *data.draw(st.lists(deeds, min_size=1, max_size=12)))])
    check(stores, data, everything(log))


@examples(25)
@given(st.data())
def test_however_a_history_is_cut_into_steps_the_rows_are_the_same(
    stores: Sequence[RowStore], data: st.DataObject
) -> None:
    check(stores, data, data.draw(histories()))


def check(
    stores: Sequence[RowStore], data: st.DataObject, history: Sequence[RecordedEvent]
) -> None:
    steps = in_pieces(history, data.draw(pieces(history)))
    shown = [
        ledger(rows, cut)
        for rows in stores
        for cut in ([history], steps, [[event] for event in history])
    ]
    assert all(one == shown[0] for one in shown)


@examples(60)
@given(st.lists(server_tools(), min_size=1, max_size=8))
def test_providers_tools_did_what_the_conversation_says_they_did(
    stores: Sequence[RowStore], said: list[Event]
) -> None:
    log, conversation = Memory(), uuid4()
    main = [event.model_copy(update={"line": None}) for event in said]
    log.append([appending(conversation, *main)])
    recorded = everything(log)
    expected = activity((event.told() for event in recorded), lambda native: native)
    for rows in stores:
        shown = reversed(ledger(rows, [[event] for event in recorded]))
        assert [(call.version, call.name, call.status) for call in shown] == [
            (one.version, one.tool, status(one)) for one in expected
        ]


def status(done: Activity) -> str:
    if not done.is_done:
        return "open"
    return "failed" if done.is_error else "done"
