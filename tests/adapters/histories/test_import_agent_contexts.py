"""The contexts of Camunda's agents, of each schema version, taken in as if they had been recorded."""

import json
from pathlib import Path
from typing import Any

import pytest

from onrecord.adapters.histories.camunda import lifted, moment
from onrecord.adapters.histories.intake import SOURCES, TakenIn
from onrecord.domain.content import Text, ToolResult
from onrecord.domain.errors import InvalidInput
from onrecord.domain.events import (
    InstructionsSet,
    MessageRecorded,
    SignalReceived,
    ToolCallRecorded,
    ToolResultRecorded,
)
from tests.adapters.histories.kept_histories import all_taken_in, events_of, memory

AT = "2026-07-02T11:55:00.522622+02:00[Europe/Berlin]"
AT_UTC = 1782986100522622


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def calling(*calls: str) -> dict[str, Any]:
    listed = [{"id": call, "name": "look", "arguments": {"at": call}} for call in calls]
    return {"role": "assistant", "content": [text("Let me see.")], "toolCalls": listed}


def results(*given: dict[str, Any]) -> dict[str, Any]:
    return {"role": "tool_call_result", "results": list(given), "metadata": {"timestamp": AT}}


STORY: list[dict[str, Any]] = [
    {"role": "system", "content": [text("Be brief.")]},
    {"role": "user", "content": [text("What is there?")], "metadata": {"timestamp": AT}},
    calling("a", "b"),
    results({"id": "b", "name": "look", "content": "a wall"}, {"id": "a", "content": [1, 2]}),
    {"role": "assistant", "content": [text("A wall.")], "modelId": "m", "stopReason": "STOP"},
]


def kept(folder: Path, value: object) -> Path:
    path = folder / "kept.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def imported(folder: Path, value: object) -> tuple[TakenIn, list[Any]]:
    store = memory()
    (done,) = all_taken_in(store, "camunda-agent", kept(folder, value))
    return done, events_of(store) if done.outcome == "recorded" else []


def given(content: Any) -> list[Any]:
    return [each for each in content if isinstance(each, ToolResultRecorded)]


@pytest.mark.parametrize(
    "context",
    [
        {"messages": STORY},
        {"conversation": {"type": "in-process", "messages": STORY}},
        {"agentContext": {"conversation": {"messages": STORY}}},
        {
            "turns": [
                {"iterationKey": 1, "inputMessages": STORY[:2], "assistantMessage": STORY[2]},
                {"iterationKey": 2, "inputMessages": STORY[3:4], "assistantMessage": STORY[4]},
            ]
        },
    ],
    ids=["a list", "a conversation", "an agent's", "by turns"],
)
def test_messages_are_taken_in_wherever_the_context_has_them(
    tmp_path: Path, context: dict[str, Any]
) -> None:
    done, told = imported(tmp_path, context)
    assert (done.outcome, done.doubts) == ("recorded", ())
    assert [each.content for each in told if isinstance(each, InstructionsSet)] == ["Be brief."]
    calls = [each.call_id for each in told if isinstance(each, ToolCallRecorded)]
    assert calls == ["a", "b"]
    texts = [each.content[0] for each in told if isinstance(each, MessageRecorded)]
    assert texts == [Text(text=said) for said in ("What is there?", "Let me see.", "A wall.")]


def test_an_imported_context_goes_on_with_any_api(tmp_path: Path) -> None:
    store = memory()
    all_taken_in(store, "camunda-agent", kept(tmp_path, {"messages": STORY}))
    request = store.conversation("kept").request("openai-chat")
    assert [message["role"] for message in request["messages"]] == [
        *("system", "user", "assistant", "tool", "tool", "assistant"),
    ]
    assert [message["tool_call_id"] for message in request["messages"][3:5]] == ["a", "b"]


@pytest.mark.parametrize("until", [2, 4])
def test_a_context_that_ends_without_an_answer_is_asked_next(tmp_path: Path, until: int) -> None:
    """Camunda's own reader calls such a history an illegal state."""
    turns = {"turns": [{"inputMessages": STORY[:2]}]} if until == 2 else {"messages": STORY[:4]}
    store = memory()
    all_taken_in(store, "camunda-agent", kept(tmp_path, turns))
    assert store.conversation("kept").next_input() == "ready"


def test_importing_a_context_twice_changes_nothing(tmp_path: Path) -> None:
    store, path = memory(), kept(tmp_path, {"messages": STORY})
    outcomes = [all_taken_in(store, "camunda-agent", path)[0].outcome for _ in range(2)]
    assert outcomes == ["recorded", "unchanged"]
    assert len(events_of(store)) == store.conversation("kept").head().version


LIFTED: list[tuple[Any, list[dict[str, Any]]]] = [
    (None, []),
    ("", []),
    (" \n", []),
    ("ok", [text("ok")]),
    ({"a": 1}, [{"type": "object", "content": {"a": 1}}]),
    ([], [{"type": "object", "content": []}]),
    ([text("ok")], [{"type": "object", "content": [text("ok")]}]),
    (0, [{"type": "object", "content": 0}]),
    (False, [{"type": "object", "content": False}]),
]


@pytest.mark.parametrize(("content", "parts"), LIFTED)
def test_a_list_that_looks_like_content_blocks_stays_data(content: Any, parts: object) -> None:
    assert lifted(content) == parts


def test_a_result_of_the_first_schema_is_lifted_once(tmp_path: Path) -> None:
    blocks = [text("ok")]
    story = [*STORY[:2], calling("a"), results({"id": "a", "content": blocks})]
    _, first = imported(tmp_path, {"messages": story})
    _, later = imported(tmp_path, {"schemaVersion": 1, "messages": story})
    told = [given(events)[0].content for events in (first, later)]
    assert told == [
        ToolResult(call_id="a", content=(Text(text='[{"type":"text","text":"ok"}]'),)),
        ToolResult(call_id="a", content=(Text(text="ok"),)),
    ]


@pytest.mark.parametrize("version", [2, 99])
def test_a_newer_schema_is_refused(tmp_path: Path, version: int) -> None:
    path = kept(tmp_path, {"schemaVersion": version, "messages": STORY})
    with pytest.raises(InvalidInput, match=r"newer than 1 and not supported"):
        SOURCES["camunda-agent"](path)


@pytest.mark.parametrize("version", [True, "1", 1.0])
def test_a_schema_version_is_a_number_and_a_flag_is_none(tmp_path: Path, version: object) -> None:
    path = kept(tmp_path, {"schemaVersion": version, "messages": STORY})
    with pytest.raises(InvalidInput, match="no number"):
        SOURCES["camunda-agent"](path)


@pytest.mark.parametrize(
    ("told", "microseconds"),
    [
        (AT, AT_UTC),
        ("2026-07-02T11:55:00.522622+02:00", AT_UTC),
        ("2026-07-02T09:55:00.522622Z[UTC]", AT_UTC),
        ("2026-07-02T09:55:00.522622", AT_UTC),
        ("yesterday", None),
        (None, None),
        (7, None),
    ],
)
def test_a_time_with_a_bracketed_zone_is_read_by_its_offset(told: Any, microseconds: int) -> None:
    assert moment(told) == microseconds


def test_an_interrupted_result_is_a_cancelled_one_without_its_words(tmp_path: Path) -> None:
    gone = {"id": "a", "content": "Tool execution was canceled.", "interrupted": True}
    _, told = imported(tmp_path, {"messages": [*STORY[:2], calling("a"), results(gone)]})
    (result,) = given(told)
    assert (result.cancelled, result.content.content) == (True, ())


def test_an_interrupted_result_keeps_what_it_gave_till_then(tmp_path: Path) -> None:
    gone = {"id": "a", "content": "half a wall", "properties": {"interrupted": True}}
    done, told = imported(tmp_path, {"messages": [*STORY[:2], calling("a"), results(gone)]})
    (result,) = given(told)
    assert (result.cancelled, result.content.content) == (True, (Text(text="half a wall"),))
    assert done.doubts == ()


def test_what_is_not_recorded_of_messages_and_results_is_told(tmp_path: Path) -> None:
    metadata = {"timestamp": AT, "channel": "web", "empty": None}
    said = {"role": "user", "name": "ana", "content": [text("Hi.")], "metadata": metadata}
    gave = {"id": "a", "name": "look", "content": "x", "elementId": "Look", "completedAt": AT}
    done, _ = imported(tmp_path, {"messages": [said, calling("a"), results(gave)]})
    assert [(doubt.kind, doubt.place, doubt.why) for doubt in done.doubts] == [
        ("left out", "message 1", "members of a message: name"),
        ("left out", "message 1", "metadata of a message: channel"),
        ("left out", "message 3", "members of a result: elementId"),
    ]


def test_a_result_without_an_id_is_a_signal(tmp_path: Path) -> None:
    story = [*STORY[:2], calling("a"), results({"id": "a", "content": "x"}, {"content": "news"})]
    _, told = imported(tmp_path, {"messages": story})
    assert [each.content for each in told if isinstance(each, SignalReceived)] == [
        (Text(text="news"),)
    ]


def test_messages_that_repeat_documents_are_left_out_only_where_the_flag_is_true(
    tmp_path: Path,
) -> None:
    def repeated(flag: object) -> dict[str, Any]:
        metadata = {"toolCallDocuments": flag}
        return {"role": "user", "content": [text("<document />")], "metadata": metadata}

    done, told = imported(tmp_path, {"messages": [*STORY, repeated(True), repeated("true")]})
    assert [doubt.kind for doubt in done.doubts].count("left out") == 1
    said = [each for each in told if isinstance(each, MessageRecorded) and each.role == "user"]
    assert len(said) == 2


def test_a_document_of_the_agents_own_store_stays_a_reference(tmp_path: Path) -> None:
    held = {"camunda.document.type": "camunda", "storeId": "s", "documentId": "1-2"}
    story = [*STORY[:2], calling("a"), results({"id": "a", "content": held})]
    done, told = imported(tmp_path, {"messages": story})
    (result,) = given(told)
    assert '"documentId":"1-2"' in result.content.content[0].text
    assert [doubt.kind for doubt in done.doubts] == ["left out"]


@pytest.mark.parametrize(
    "value",
    [
        *([], {}, "x", {"messages": "x"}, {"messages": [1]}, {"turns": [1]}),
        {"turns": [{"inputMessages": 1}]},
    ],
)
def test_what_is_no_context_is_refused(tmp_path: Path, value: object) -> None:
    with pytest.raises(InvalidInput):
        SOURCES["camunda-agent"](kept(tmp_path, value))


@pytest.mark.parametrize(
    "message", [{"role": "wizard"}, {"role": "assistant", "toolCalls": [{"id": "a"}]}]
)
def test_a_message_that_cannot_be_read_is_named_by_its_number(
    tmp_path: Path, message: dict[str, Any]
) -> None:
    done, _ = imported(tmp_path, {"messages": [*STORY, message]})
    assert done.outcome == "refused"
    assert "message 6: " in (done.why or "")
