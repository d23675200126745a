"""Calls and results in a Chat Completions request: which stand, where, and under which id."""

from __future__ import annotations

import pytest

from onrecord.domain.conversation import CANCELLED
from onrecord.domain.events import OpaqueRecorded
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.answers import NO_RESULT
from onrecord.projections.apis.openai_chat.read import NAME
from onrecord.projections.apis.request import Options
from tests.projections.apis.openai_chat import chat_happenings as chat
from tests.projections.happenings import Story, rules, tool_use
from tests.projections.refused import refused

LONG = "x" * 51


def tool(call_id: str, content: object = "found") -> JsonObject:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def asked(*ids: str) -> Story:
    """A conversation in which the assistant has called tools."""
    story = Story()
    story.user("hi")
    chat.asks(story)
    chat.answers(story, chat.says(None, *map(chat.function, ids)))
    return story


def test_results_follow_their_calls_in_the_order_of_the_calls() -> None:
    """However they came, and whatever the user said meanwhile."""
    story = asked("call_1", "call_2")
    chat.gives(story, "call_2", "second")
    story.user("are you there?")
    chat.gives(story, "call_1", "first")
    request = chat.chat(story)
    assert request["messages"][2:] == [
        tool("call_1", "first"),
        tool("call_2", "second"),
        {"role": "user", "content": "are you there?"},
    ]
    assert refused(NAME, request) == ()
    assert len(request.report) == 0


def test_a_call_without_result_is_answered_that_it_was_cancelled() -> None:
    """The following tool_call_ids did not have response messages: call_2"""
    story = asked("call_1", "call_2")
    chat.gives(story, "call_1")
    story.user("never mind")
    request = chat.chat(story)
    assert request["messages"][2:4] == [tool("call_1"), tool("call_2", CANCELLED)]
    assert [note.deed for note in request.report.of("C1")] == ["repaired"]
    assert refused(NAME, request) == ()


def test_a_result_that_comes_late_goes_as_words_where_it_came() -> None:
    story = asked("call_1")
    chat.asks(story)
    before = chat.messages(story)
    chat.gives(story, "call_1", "at last")
    request = chat.chat(story)
    assert request["messages"][: len(before)] == before
    assert request["messages"][-1] == {
        "role": "user",
        "content": "The result of tool call call_1 (look_up) came late:\n\nat last",
    }
    assert {"C1", "late"} == rules(request)


def test_a_result_that_was_given_up_is_not_told_twice() -> None:
    story = asked("call_1")
    chat.asks(story)
    story.cancelled("call_1")
    request = chat.chat(story)
    assert request["messages"][-1] == tool("call_1", CANCELLED)
    assert [note.deed for note in request.report.of("late")] == ["left out"]


def test_a_result_of_no_call_goes_as_words() -> None:
    """messages with role 'tool' must be a response to a preceeding message with 'tool_calls'"""
    story = Story()
    story.user("hi")
    chat.gives(story, "call_9", "stray")
    request = chat.chat(story)
    assert [message["role"] for message in request["messages"]] == ["user", "user"]
    assert "stray" in request["messages"][1]["content"]
    assert refused(NAME, request) == ()


def test_a_tools_message_that_was_told_as_the_users_goes_as_words() -> None:
    story = Story()
    story.user("hi", chat.native(tool("call_9", "stray")))
    request = chat.chat(story)
    assert "stray" in request["messages"][0]["content"]
    assert rules(request) == {"C2"}
    assert refused(NAME, request) == ()


def test_a_call_that_was_cut_short_is_left_out_with_its_message() -> None:
    """The answer reached its limit amid its calls: nobody is to answer them."""
    story = Story()
    story.user("hi")
    chat.asks(story)
    chat.answers(story, chat.says(None, chat.function("call_1")), stop="length")
    story.user("go on")
    request = chat.chat(story)
    assert [message["role"] for message in request["messages"]] == ["user", "user"]
    assert rules(request) == {"cut short", "C4"}


def test_each_answer_keeps_its_own_results_where_nothing_was_sent_between() -> None:
    story = asked("call_1")
    chat.speaks(story, chat.says(None, chat.function("call_2")))
    chat.gives(story, "call_2", "b")
    chat.gives(story, "call_1", "a")
    request = chat.chat(story)
    assert [m.get("tool_call_id", m["role"]) for m in request["messages"]] == [
        *("user", "assistant", "call_1", "assistant", "call_2"),
    ]
    assert refused(NAME, request) == ()


def test_ids_that_come_again_in_each_answer_stay_as_they_are() -> None:
    """Servers that count calls from 0 in each answer: a result answers the message before it."""
    story = asked("call_0")
    chat.gives(story, "call_0", "first")
    chat.asks(story)
    chat.answers(story, chat.says(None, chat.function("call_0")))
    chat.gives(story, "call_0", "second")
    request = chat.chat(story)
    assert request["messages"][2] == tool("call_0", "first")
    assert request["messages"][4] == tool("call_0", "second")
    assert len(request.report) == 0


def test_two_equal_ids_in_one_message_become_two() -> None:
    """Invalid 'messages[1].tool_calls[1].id': duplicate tool_call_id 'call_0'."""
    story = asked("call_0", "call_0")
    chat.gives(story, "call_0", "first")
    chat.gives(story, "call_0", "second")
    request = chat.chat(story)
    first, second = (call["id"] for call in request["messages"][1]["tool_calls"])
    assert first == "call_0" != second
    assert request["messages"][2:] == [tool(first, "first"), tool(second, "second")]
    assert refused(NAME, request) == ()


@pytest.mark.parametrize("given", [LONG, "call 1", "toolu:1"])
def test_an_id_that_cannot_go_is_mapped_at_both_ends_alike(given: str) -> None:
    """string too long. Expected a string with maximum length 40, but got a string with length 51"""
    story = Story()
    story.user("hi")
    story.answer(tool_use(given), stop="tool_use")
    story.result(given)
    request = chat.chat(story, chat.asked_of("gpt-4.1"))
    called, answered = request["messages"][1]["tool_calls"][0], request["messages"][2]
    assert called["id"] == answered["tool_call_id"] != given
    assert "C5" in rules(request)
    assert refused(NAME, request) == ()
    assert chat.messages(story, chat.asked_of("gpt-4.1")) == request["messages"]


def test_a_servers_own_id_goes_back_to_it_however_long() -> None:
    """Some gateways put a signature into it."""
    story = Story()
    story.user("hi")
    chat.asks(story, "gemini-3-pro")
    chat.answers(story, chat.says(None, chat.function(LONG)), model="gemini-3-pro")
    chat.gives(story, LONG)
    assert chat.messages(story)[2] == tool(LONG)
    elsewhere = chat.messages(story, chat.asked_of("gpt-4.1"))
    assert elsewhere[2]["tool_call_id"] == elsewhere[1]["tool_calls"][0]["id"] != LONG


def test_mistral_gets_the_ids_that_it_takes() -> None:
    """Tool call id was ... but must be a-z, A-Z, 0-9, with a length of 9."""
    story = asked("call_1", "call_2")
    chat.gives(story, "call_1")
    chat.gives(story, "call_2")
    request = chat.chat(story, chat.asked_of("mistral-large-latest"))
    assert refused(NAME, {"model": "mistral-large-latest", **request}) == ()
    assert refused(NAME, {"model": "mistral-large-latest", **chat.chat(story)}) != ()


def test_a_custom_tools_call_goes_back_as_it_came() -> None:
    story = Story()
    story.user("hi")
    chat.asks(story)
    custom = {"id": "call_1", "type": "custom", "custom": {"name": "grep", "input": "a.*"}}
    chat.answers(story, chat.says(None, custom))
    chat.gives(story, "call_1")
    request = chat.chat(story)
    assert request["messages"][1]["tool_calls"] == [custom]
    assert refused(NAME, request) == ()


def test_a_call_that_a_program_made_itself_goes_with_its_arguments_as_json() -> None:
    story = Story()
    story.user("hi")
    story.assistant("let me see")
    story.call("call_1", arguments={"q": "é"})
    story.call("call_2", arguments="all")
    story.result("call_1", "")
    request = chat.chat(story)
    assert request["messages"][1] == {
        "role": "assistant",
        "content": "let me see",
        "tool_calls": [
            chat.function("call_1", '{"q":"é"}'),
            chat.function("call_2", '{"arguments":"all"}'),
        ],
    }
    assert request["messages"][2] == tool("call_1", NO_RESULT)
    assert rules(request) == {"C1", "C10"}


def test_a_call_without_id_goes_back_to_its_server_and_to_no_other() -> None:
    story = Story()
    story.user("hi")
    call: JsonObject = {"type": "function", "function": {"name": "f", "arguments": "{}"}}
    chat.asks(story, "llama3")
    chat.answers(story, chat.says("so", call), model="llama3", stop="stop")
    story.user("and?")
    assert chat.messages(story)[1]["tool_calls"] == [call]
    request = chat.chat(story, chat.asked_of("gpt-4.1"))
    assert request["messages"][1] == chat.says("so")
    assert rules(request) == {"C1"}


def test_the_older_function_call_goes_back_in_its_message() -> None:
    story = Story()
    story.user("hi")
    response = chat.speaks(story, chat.says(None))
    call = {"function_call": {"name": "f", "arguments": "{}"}}
    story.happen(
        OpaqueRecorded(response=response, index=1, type="function_call", content=chat.native(call))
    )
    gave: JsonObject = {"role": "function", "name": "f", "content": "found"}
    story.user(chat.native(gave))
    assert chat.messages(story)[1:] == [{**chat.says(None), **call}, gave]


def test_words_tell_that_a_tool_failed() -> None:
    story = asked("call_1", "call_2", "call_3")
    story.result("call_1", "no such file", is_error=True)
    story.result("call_2", "", is_error=True)
    story.cancelled("call_3")
    assert [message["content"] for message in chat.messages(story)[2:]] == [
        "The tool failed:\nno such file",
        "Tool execution failed, but returned no result.",
        CANCELLED,
    ]


def test_cache_marks_are_not_set_and_that_is_said() -> None:
    story = Story()
    story.user("hi")
    assert rules(chat.chat(story, Options(api=NAME, cache=True))) == {"C12"}
    assert rules(chat.chat(story)) == set()
