"""Items of frameworks are told as what they say: a row a block, as what was recorded by other ways."""

from __future__ import annotations

from typing import Any

import pytest

from onrecord.domain.blobs import spill
from onrecord.domain.events import Event
from onrecord.domain.items import ItemRecorded
from onrecord.domain.jsontext import JsonObject
from tests.adapters.frameworks.written_histories import (
    HISTORIES,
    ag2_event,
    framework_message,
)
from tests.adapters.frameworks.written_histories import (
    langgraph_checkpoint as checkpoint,
)
from tests.adapters.frameworks.written_histories import (
    langgraph_typed as typed,
)
from tests.adapters.frameworks.written_histories import (
    langgraph_writes as writes,
)
from tests.adapters.frameworks.written_sessions import AGENTS, CLAUDE, WRITTEN
from tests.adapters.views.test_search_items import ODD
from tests.projections.history.test_timeline import rows


def items(framework: str, *spelled: Any, **members: Any) -> list[Event]:
    return [ItemRecorded(framework=framework, item=item, **members) for item in spelled]


def told(*events: Event) -> list[tuple[str, str, str]]:
    return [(row.speaker, row.kind, row.text) for row in rows(*events)]


TRACKED = [
    ("user", "text", "Where is parcel NW-1?"),
    ("assistant", "thinking", "Look."),
    ("assistant", "text", "Let me look."),
    ("assistant", "tool call", 'track {"parcel":"NW-1"}'),
    ("tool", "result", "track: in depot North"),
    ("assistant", "text", "In depot North."),
    ("user", "text", "Is this it?"),
    ("user", "document", "image/png"),
]


@pytest.mark.parametrize("framework", WRITTEN)
def test_a_session_is_told_as_a_conversation(framework: str) -> None:
    spelled = [each.item for each in WRITTEN[framework][1]]
    shown = [row for row in told(*items(framework, *spelled)) if row[0] != "record"]
    assert shown[: len(TRACKED)] == TRACKED


@pytest.mark.parametrize("framework", HISTORIES)
def test_a_history_in_a_frameworks_own_spelling_is_told_as_a_conversation(framework: str) -> None:
    shown = told(*items(framework, *HISTORIES[framework]))
    thought = () if framework in ("ag2", "langgraph") else TRACKED[1:2]
    expected = [*TRACKED[:1], *thought, *TRACKED[3:6]]
    assert [row for row in shown if row[0] not in ("record", "system")] == expected


def test_a_result_names_the_call_that_it_is_of() -> None:
    shown = rows(*items("agent-framework", *HISTORIES["agent-framework"]))
    (call,) = [row for row in shown if row.kind == "tool call"]
    (result,) = [row for row in shown if row.kind == "result"]
    assert result.answers == call.version


def test_each_speaker_of_an_item_has_its_own_rows() -> None:
    (first, *_) = HISTORIES["pydantic-ai"]
    assert told(*items("pydantic-ai", first)) == [("system", "text", "Be brief."), TRACKED[0]]
    note = framework_message("developer", {"type": "text", "text": "Be brief."})
    assert told(*items("agent-framework", note)) == [("system", "text", "Be brief.")]


def test_what_is_no_item_of_the_main_stream_says_where_it_is() -> None:
    said = {"role": "user", "content": "Where?"}
    assert told(*items(AGENTS, said, stream="sub", beside=3)) == [
        ("user", "text", "sub beside version 3: Where?")
    ]


SILENT: dict[str, tuple[JsonObject, str]] = {
    CLAUDE: ({"type": "system", "subtype": "init", "cwd": "/"}, "system init"),
    "ag2": (ag2_event("TaskStarted"), "TaskStarted"),
    "langgraph": (checkpoint(1, 3), "checkpoint 0001"),
    "unheard-of": ({"a": 1}, 'unheard-of: {"a":1}'),
}


@pytest.mark.parametrize("framework", SILENT)
def test_an_item_that_says_nothing_is_told_by_what_it_is(framework: str) -> None:
    item, text = SILENT[framework]
    assert told(*items(framework, item)) == [("record", "item", text)]


def test_writes_that_bring_no_message_are_told_by_their_channels() -> None:
    spelled = writes(("branch:to:reply", {"type": "null"}), ("count", typed(7)))
    assert told(*items("langgraph", spelled, stream="sub")) == [
        ("record", "item", "sub: writes to branch:to:reply, count")
    ]


def test_a_string_that_is_held_apart_says_how_long_it_is() -> None:
    item, blobs = spill({"role": "user", "content": "x" * 70_000})
    assert blobs
    assert told(*items(AGENTS, item)) == [("user", "text", "70,000 bytes, held apart")]


@pytest.mark.parametrize("item", ODD)
@pytest.mark.parametrize("framework", [CLAUDE, *HISTORIES])
def test_an_item_that_is_not_understood_has_a_row(framework: str, item: JsonObject) -> None:
    assert len(told(*items(framework, item))) == 1


@pytest.mark.parametrize(
    "item",
    [
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "q"}},
        {"type": "not yet known", "text": "hm"},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA"},
        {"type": "function_call", "call_id": 1, "name": None, "arguments": []},
        {"type": "function_call_output", "output": None},
        {"type": "message", "role": [], "content": 7},
    ],
)
def test_any_item_has_a_row(item: dict[str, Any]) -> None:
    assert told(*items(AGENTS, item))
