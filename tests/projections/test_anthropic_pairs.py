"""Calls and results in a request to Anthropic: R1 to R4, R13 to R15."""

from __future__ import annotations

import re

import pytest

from hansard.domain.content import Native, ToolCall
from hansard.domain.events import ToolCallRecorded, ToolsDefined
from hansard.domain.jsontext import JsonObject
from hansard.projections.requests.anthropic_spelling import FAILED, NO_RESULT
from hansard.projections.requests.rendering import render
from hansard.projections.requests.request import Options
from tests.projections.happenings import (
    API,
    Story,
    cancelled_result_of,
    code_of,
    flat,
    result_of,
    rules,
    search_result,
    server_tool_use,
    text,
    tool_use,
)
from tests.projections.recorded import recorded


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
        text("The result of tool call toolu_gone came late, an error:"),
        text("something"),
    ]


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


def test_an_unpaired_server_call_is_left_out_once_the_user_speaks() -> None:
    """R3: "web_search tool use with id ... was found without a corresponding ... block"."""
    story = Story()
    story.user("hi")
    story.answer("searching", server_tool_use("srvtoolu_1"), stop="pause_turn")
    assert flat(story.request())[-1] == ("assistant", server_tool_use("srvtoolu_1"))
    story.user("never mind")
    request = story.request()
    assert flat(request)[1:] == [("assistant", text("searching")), ("user", text("never mind"))]
    assert rules(request) == {"R3"}


def test_a_paused_turn_goes_back_as_it_is_and_last() -> None:
    """R4: a paused turn is sent back unchanged, as the last message."""
    story = Story()
    story.user("hi")
    story.answer("searching ", server_tool_use("srvtoolu_1"), stop="pause_turn")
    request = story.request()
    assert flat(request)[1:] == [
        ("assistant", text("searching ")),
        ("assistant", server_tool_use("srvtoolu_1")),
    ]
    assert len(request.report) == 0


def test_a_result_may_come_in_the_response_after_the_pause() -> None:
    story = Story()
    story.user("hi")
    story.ask()
    story.answer(server_tool_use("srvtoolu_1"), stop="pause_turn")
    story.ask()
    story.answer(search_result("srvtoolu_1"), "here it is")
    story.user("thanks")
    request = story.request()
    assert request["messages"][1]["content"] == [
        server_tool_use("srvtoolu_1"),
        search_result("srvtoolu_1"),
        text("here it is"),
    ]
    assert len(request.report) == 0


def test_a_server_call_stays_in_flight_while_only_results_follow() -> None:
    """R3's exception: accepted while every message after it holds only tool results."""
    story = Story()
    story.user("hi")
    story.ask()
    story.answer(server_tool_use("srvtoolu_1"), tool_use("toolu_1"), stop="tool_use")
    story.result("toolu_1", "one")
    in_flight = story.ask_as_rendered()
    assert flat(in_flight)[1] == ("assistant", server_tool_use("srvtoolu_1"))
    story.answer(search_result("srvtoolu_1"), "both are here")
    story.user("thanks")
    request = story.request()
    assert flat(request)[:4] == flat(in_flight)
    assert flat(request)[4] == ("assistant", search_result("srvtoolu_1"))
    assert len(request.report) == 0


def test_a_server_call_in_flight_is_lost_when_the_user_speaks_too_early() -> None:
    story = Story()
    story.user("hi")
    story.answer(server_tool_use("srvtoolu_1"), tool_use("toolu_1"), stop="tool_use")
    story.result("toolu_1", "one")
    story.user("well?")
    request = story.request()
    assert server_tool_use("srvtoolu_1") not in [block for _, block in flat(request)]
    assert rules(request) == {"R3"}


def test_a_server_result_without_call_is_left_out() -> None:
    """R2: "Each `web_search_tool_result` block must have a corresponding `server_tool_use`"."""
    story = Story()
    story.user("hi")
    story.answer(search_result("srvtoolu_1"), "found")
    story.user("thanks")
    request = story.request()
    assert flat(request)[1] == ("assistant", text("found"))
    assert rules(request) == {"R2"}


def test_a_call_made_by_code_forgets_the_code_when_that_does_not_go() -> None:
    story = Story()
    story.user("hi")
    code = server_tool_use("srvtoolu_1", "code_execution")
    caller = code_of("srvtoolu_1")
    story.answer(code, tool_use("toolu_1", caller=caller), stop="tool_use")
    story.result("toolu_1", "one")
    assert flat(story.request())[2][1]["caller"] == caller
    story.user("stop it")
    request = story.request()
    assert flat(request)[1] == ("assistant", tool_use("toolu_1"))
    assert rules(request) == {"R3"}


def test_code_that_calls_tools_in_several_rounds_stays_in_flight() -> None:
    """R3: "`code_execution` tool use with id ... was found without a corresponding ... block".

    Refused of a lost call only; code that goes on calling tools is still running, and each answer
    until its result holds nothing but the calls that it makes.
    """
    story = Story()
    story.user("hi")
    story.ask()
    code = server_tool_use("srvtoolu_1", "code_execution")
    calls = [tool_use(f"toolu_{place}", caller=code_of("srvtoolu_1")) for place in range(3)]
    story.answer(code, calls[0], stop="tool_use")
    sent: list[tuple[str, JsonObject]] = []
    for place, following in enumerate(calls[1:]):
        story.result(f"toolu_{place}")
        request = story.ask_as_rendered()
        assert flat(request)[: len(sent)] == sent
        assert len(request.report) == 0
        sent = flat(request)
        story.answer(following, stop="tool_use")
    story.result("toolu_2")
    assert [block for _, block in flat(story.ask_as_rendered())][1:] == [
        code,
        calls[0],
        result_of("toolu_0"),
        calls[1],
        result_of("toolu_1"),
        calls[2],
        result_of("toolu_2"),
    ]
    story.answer({**search_result("srvtoolu_1"), "type": "code_execution_tool_result"}, "done")
    story.user("thanks")
    request = story.request()
    assert flat(request)[: len(sent)] == sent
    assert len(request.report) == 0


def test_code_is_lost_when_the_assistant_speaks_again_without_it() -> None:
    """R3: "`code_execution` tool use with id ... was found without a corresponding ... block"."""
    story = Story()
    story.user("hi")
    code = server_tool_use("srvtoolu_1", "code_execution")
    story.answer(code, tool_use("toolu_1", caller=code_of("srvtoolu_1")), stop="tool_use")
    story.result("toolu_1")
    story.ask()
    story.answer(tool_use("toolu_2"), stop="tool_use")
    story.result("toolu_2")
    request = story.request()
    assert [block for _, block in flat(request)][1::2] == [tool_use("toolu_1"), tool_use("toolu_2")]
    assert rules(request) == {"R3"}


def test_what_lost_code_called_forgets_it_whoever_runs_it() -> None:
    story = Story()
    story.user("hi")
    code = server_tool_use("srvtoolu_1", "code_execution")
    search = {**server_tool_use("srvtoolu_2"), "caller": code_of("srvtoolu_1")}
    found = {**search_result("srvtoolu_2"), "caller": code_of("srvtoolu_1")}
    story.answer(code, search, found, "and then", stop="max_tokens")
    story.user("go on")
    request = story.request()
    assert [block for _, block in flat(request)][1:3] == [
        server_tool_use("srvtoolu_2"),
        search_result("srvtoolu_2"),
    ]
    assert rules(request) == {"R3"}


def test_the_advisor_is_heard_only_where_it_is_a_tool() -> None:
    """R14: advisor blocks in history without the advisor tool in the request are refused."""
    story = Story()
    story.user("hi")
    call = server_tool_use("srvtoolu_1", "advisor")
    content = {"type": "advisor_result", "text": "yes"}
    advice = {"type": "advisor_tool_result", "tool_use_id": "srvtoolu_1", "content": content}
    story.answer(call, advice, "so be it")
    story.user("thanks")
    request = story.request()
    assert flat(request)[1] == ("assistant", text("so be it"))
    assert rules(request) == {"R14"}
    tool = {"type": "advisor_20260301", "name": "advisor", "model": "claude-opus"}
    story.happen(ToolsDefined(tools=(Native(api=API, value=tool),)))
    assert [block for _, block in flat(story.request())][1:3] == [call, advice]


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


def test_the_container_goes_back_until_it_expires() -> None:
    """R13: "container_id is required when there are pending tool uses generated by code..."."""
    story = Story()
    story.user("hi")
    held = {"id": "container_1", "expires_at": "2026-11-20T12:00:00Z"}
    story.answer(tool_use("toolu_1"), stop="tool_use", envelope={"container": held})
    story.result("toolu_1", "one")
    assert story.request()["container"] == "container_1"
    events = recorded(story)
    long_after = 1_800_000_000_000_000
    expired = [*events[:-1], events[-1]._replace(recorded_at=long_after)]
    assert "container" not in render(expired, Options())
    story.answer("done")
    assert "container" not in story.request()
