"""What of an imported history is dubious: said with its place, and nothing is left out for it."""

from typing import Any

from onrecord.domain.content import Native
from onrecord.domain.events import ToolCallRecorded, ToolResultRecorded
from tests.adapters.histories.kept_histories import (
    doubted,
    doubts_in,
    events_of,
    memory,
    taken_in,
)

API = "anthropic-messages"


def user(*content: object) -> dict[str, Any]:
    return {"role": "user", "content": list(content)}


def assistant(*content: object) -> dict[str, Any]:
    return {"role": "assistant", "content": list(content)}


def text(said: str = "Hello") -> dict[str, Any]:
    return {"type": "text", "text": said}


def call(call_id: str = "c1") -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "f", "input": {}}


def result(call_id: str = "c1", said: str = "r") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": said}


def test_a_result_of_no_call() -> None:
    assert doubted(API, user(text()), assistant(text()), user(result())) == [
        ("no call", "message 3")
    ]


def test_a_call_without_a_result() -> None:
    messages = user(text()), assistant(call("c1"), call("c2")), user(result("c2"))
    assert doubted(API, *messages) == [("no result", "message 2")]


def test_an_id_of_two_calls_is_one_of_each_in_the_record() -> None:
    messages = [
        user(text()),
        assistant(call()),
        user(result(said="first")),
        assistant(call()),
        user(result(said="second")),
    ]
    store = memory()
    done = taken_in(store, API, messages)
    assert [(it.kind, it.place) for it in done.doubts] == [("reused id", "message 4")]
    events = events_of(store)
    calls = [it for it in events if isinstance(it, ToolCallRecorded)]
    results = [it for it in events if isinstance(it, ToolResultRecorded)]
    assert [it.call_id for it in calls] == [it.call_id for it in results] == ["c1", "c1-2"]
    assert [it.content for it in calls] == [Native(api=API, value=call())] * 2
    sent = store.conversation("kept").request(API)["messages"]
    assert [it["content"][0]["content"] for it in sent[2::2]] == ["first", "second"]


def test_a_second_result_of_a_call_is_kept_aside() -> None:
    store = memory()
    messages = [user(text()), assistant(call()), user(result(said="first"), result(said="second"))]
    done = taken_in(store, API, messages)
    assert [(it.kind, it.place) for it in done.doubts] == [("second result", "message 3")]
    first, second = [it for it in events_of(store) if isinstance(it, ToolResultRecorded)]
    assert (first.line is None, second.line is None) == (True, False)
    assert store.conversation("kept").request(API)["messages"][2] == user(result(said="first"))


def test_blank_text() -> None:
    assert doubted(API, user(text(" \n")), {"role": "assistant", "content": ""}) == [
        ("blank", "message 1"),
        ("blank", "message 2"),
    ]


def test_an_answer_that_only_calls_has_no_text_that_could_be_blank() -> None:
    calls = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    for content in ("", None):
        message = {"role": "assistant", "content": content, "tool_calls": calls}
        answer = {"role": "tool", "tool_call_id": "c", "content": "r"}
        assert doubted("openai-chat", {"role": "user", "content": "a"}, message, answer) == []


def test_blocks_and_items_that_are_not_known() -> None:
    assert doubted(API, user({"type": "unheard_of"}), assistant({"type": "unheard_of"})) == [
        ("opaque", "message 1"),
        ("opaque", "message 2"),
    ]
    item = {"type": "unheard_of"}
    asked = {"role": "user", "content": "Hello"}
    assert ("opaque", "item 2") in doubted("openai-responses", asked, item)


def test_what_is_cut() -> None:
    image = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo...(cut)"}
    spoken = doubts_in(
        API,
        user(text("x" * 100_000 + " ...[truncated]")),
        assistant(text("The list was truncated by the tool.")),
        user({"type": "image", "source": image}),
    )
    assert [(it.kind, it.place) for it in spoken] == [
        ("truncated", "message 1"),
        ("truncated", "message 3"),
    ]


def test_arguments_that_are_cut() -> None:
    function = {"name": "f", "arguments": '{"in": "Os'}
    message = {
        "role": "assistant",
        "tool_calls": [{"id": "c", "type": "function", "function": function}],
    }
    answer = {"role": "tool", "tool_call_id": "c", "content": "r"}
    assert doubted("openai-chat", {"role": "user", "content": "a"}, message, answer) == [
        ("truncated", "message 2")
    ]


def test_a_doubt_says_whether_it_is_arguments_or_a_text_that_is_cut() -> None:
    cut = {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"in": "Os'}
    output = {"type": "function_call_output", "call_id": "c", "output": "It was... [truncated]"}
    asked = {"role": "user", "content": "Hello"}
    found = doubts_in("openai-responses", asked, cut, output)
    assert [(it.place, it.why) for it in found] == [
        ("item 2", "the arguments of a call are no whole JSON"),
        ("item 3", "a text or a document seems to be cut"),
    ]


def test_whole_arguments_that_speak_of_cutting_are_not_cut() -> None:
    asked = {**call(), "input": {"status": "truncated"}}
    assert doubted(API, user(text()), assistant(asked), user(result())) == []


def test_arguments_that_are_no_json_by_right() -> None:
    item = {"type": "custom_tool_call", "call_id": "c", "name": "sql", "input": "SELECT 1"}
    output = {"type": "custom_tool_call_output", "call_id": "c", "output": "1"}
    asked = {"role": "user", "content": "Hello"}
    assert doubted("openai-responses", asked, item, output) == []


def test_speakers_out_of_turn() -> None:
    assert doubted(API, assistant(text()), user(text()), user(text()), assistant(text())) == [
        ("alternation", "message 1"),
        ("alternation", "message 3"),
    ]
    assert doubted(API, user(text()), assistant(text()), assistant(text())) == [
        ("alternation", "message 3")
    ]


def test_results_and_what_is_said_with_them_are_in_turn() -> None:
    messages = (
        user(text(), text("and")),
        assistant(text("I look"), call()),
        user(result(), text("quick")),
        assistant(text()),
    )
    assert doubted(API, *messages) == []


def test_an_empty_message() -> None:
    assert ("left out", "message 2") in doubted(API, user(text()), assistant())


def test_doubts_say_nothing_of_what_was_said() -> None:
    spoken = doubts_in(API, user(text("canary ...[truncated]")), user({"type": "x", "y": "canary"}))
    assert len(spoken) == 3
    assert not any("canary" in doubt.why for doubt in spoken)
