"""Calls of the caller's tools and their results in a request to Anthropic: R1, R2, R14, R15."""

from __future__ import annotations

import re

import pytest

from onrecord.domain.content import ToolCall
from onrecord.domain.events import ToolCallRecorded
from onrecord.projections.apis.answers import FAILED, NO_RESULT
from tests.projections.happenings import (
    Story,
    cancelled_result_of,
    flat,
    result_of,
    rules,
    text,
    tool_use,
)


def test_a_call_without_result_gets_a_cancelled_one() -> None:
    """R1: "`tool_use` ids were found without `tool_result` blocks immediately after"."""
    story = Story()
    story.user("hi")
    version = story.answer(tool_use("toolu_1"), tool_use("toolu_2"), stop="tool_use")
    story.result("toolu_2", "two")
    request = story.request()
    assert request["messages"][-1] == {
        "role": "user",
        "content": [cancelled_result_of("toolu_1"), result_of("toolu_2", "two")],
    }
    assert [(note.deed, note.rule) for note in request.report] == [("repaired", "R1")]
    assert version


def test_results_come_first_and_texts_after() -> None:
    """R1: all results of a turn in one message, before its text ("Handle tool calls")."""
    story = Story()
    story.user("hi")
    story.answer(tool_use("toolu_1"), tool_use("toolu_2"), stop="tool_use")
    story.result("toolu_2", "two")
    story.user("hurry")
    story.result("toolu_1", "one")
    assert story.request()["messages"][-1]["content"] == [
        result_of("toolu_1", "one"),
        result_of("toolu_2", "two"),
        text("hurry"),
    ]


def test_a_late_result_goes_as_text_and_changes_nothing_that_was_sent() -> None:
    """R2: "unexpected `tool_use_id` found in `tool_result` blocks"."""
    story = Story()
    story.user("hi")
    story.answer(tool_use("toolu_1"), stop="tool_use")
    sent = story.ask_as_rendered()
    story.answer("without it, then")
    version = story.result("toolu_1", "forty-two")
    request = story.request()
    assert flat(request)[: len(flat(sent))] == flat(sent)
    assert request["messages"][-1]["content"] == [
        text("The result of tool call toolu_1 (look_up) came late:"),
        text("forty-two"),
    ]
    assert [note.version for note in request.report.of("late")] == [version]


def test_a_late_native_result_keeps_what_a_user_may_say() -> None:
    story = Story()
    story.user("hi")
    image = {"type": "image", "source": {"type": "url", "url": "https://example.com/x.png"}}
    reference = {"type": "tool_reference", "tool_name": "f"}
    result = {**result_of("toolu_9"), "content": [text("seen"), image, reference]}
    story.native_result(result)
    request = story.request()
    assert request["messages"][0]["content"][2:] == [text("seen"), image]
    assert [note.deed for note in request.report.of("late")] == ["moved", "left out"]


def test_a_result_of_an_unknown_call_goes_as_text() -> None:
    """R2: "Each `tool_result` block must have a corresponding `tool_use` block"."""
    story = Story()
    story.user("hi")
    story.result("toolu_gone", "something", is_error=True)
    assert story.request()["messages"][-1]["content"][1:] == [
        text("The result of tool call toolu_gone, an error:"),
        text("something"),
    ]


def test_a_result_of_no_call_in_an_answer_goes_as_text() -> None:
    """R2: only a message of the user's may hold a `tool_result`."""
    story = Story()
    story.user("hi")
    story.answer("I found:", result_of("toolu_gone", "something"))
    story.user("go on")
    request = story.request()
    assert request["messages"][1]["content"] == [text("I found:"), text("something")]
    assert [(note.deed, note.version) for note in request.report.of("R2")] == [("moved", 3)]


def test_a_late_cancellation_says_nothing_twice() -> None:
    story = Story()
    story.answer(tool_use("toolu_1"), stop="tool_use")
    story.ask()
    story.cancelled("toolu_1")
    story.user("go on")
    request = story.request()
    assert request["messages"][-1]["content"] == [cancelled_result_of("toolu_1"), text("go on")]
    assert [note.deed for note in request.report.of("late")] == ["left out"]


@pytest.mark.parametrize(("is_error", "words"), [(False, NO_RESULT), (True, FAILED)])
def test_an_empty_result_says_that_it_is_empty(is_error: bool, words: str) -> None:
    """R14: an empty list of content is refused; an error must have content."""
    story = Story()
    story.answer(tool_use("toolu_1"), stop="tool_use")
    story.result("toolu_1", "", is_error=is_error)
    [block] = story.request()["messages"][-1]["content"]
    assert block["content"] == [text(words)]


def test_a_native_result_is_mended_only_where_it_must_be() -> None:
    story = Story()
    story.answer(tool_use("toolu_1"), tool_use("toolu_2"), tool_use("toolu_3"), stop="tool_use")
    whole = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "as a string"}
    empty = {"type": "tool_result", "tool_use_id": "toolu_2", "content": [text("")]}
    bare = {"type": "tool_result", "tool_use_id": "toolu_3"}
    for result in (whole, empty, bare):
        story.native_result(result)
    request = story.request()
    assert request["messages"][-1]["content"] == [
        whole,
        {**empty, "content": [text(NO_RESULT)]},
        bare,
    ]
    assert rules(request) == {"R10", "R14"}


def test_ids_that_anthropic_refuses_are_mapped_alike_on_both_ends() -> None:
    """R15: "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"."""
    story = Story()
    story.user("hi")
    story.call("functions.look_up:0")
    story.result("functions.look_up:0", "one")
    request = story.request()
    (_, call), (_, result) = flat(request)[1:]
    assert re.fullmatch(r"[a-zA-Z0-9_-]+", call["id"])
    assert result["tool_use_id"] == call["id"]
    assert call["id"] == flat(story.request())[1][1]["id"]
    assert rules(request) == {"R15"}


def test_an_id_that_is_used_again_becomes_another() -> None:
    """R15: "`tool_use` ids must be unique"."""
    story = Story()
    story.user("hi")
    for words in ("one", "two"):
        story.answer(tool_use("call_0"), stop="tool_use")
        story.result("call_0", words)
        story.ask()
    ids = [block["id"] for _, block in flat(story.request()) if block["type"] == "tool_use"]
    answered = [b["tool_use_id"] for _, b in flat(story.request()) if b["type"] == "tool_result"]
    assert ids == answered
    assert ids[0] == "call_0"
    assert len(set(ids)) == 2


@pytest.mark.parametrize("arguments", [[1, 2], "x", 7])
def test_arguments_that_are_no_object_become_one(arguments: object) -> None:
    """ "input: Input should be a valid dictionary"."""
    story = Story()
    call = ToolCall(id="toolu_1", name="f", arguments=arguments)
    story.happen(ToolCallRecorded(call_id="toolu_1", name="f", content=call))
    assert flat(story.request())[0][1]["input"] == {"arguments": arguments}
