"""Calls and results in Gemini's requests: as many, in order, each at once after the other."""

from __future__ import annotations

import pytest

import onrecord
from onrecord.domain.content import ToolCall
from onrecord.domain.conversation import CANCELLED
from onrecord.domain.events import ToolCallRecorded
from onrecord.projections.apis.gemini.encode import UNSIGNED
from tests.projections.apis.gemini import gemini_happenings as gemini
from tests.projections.apis.gemini.gemini_happenings import (
    call,
    of_model,
    of_user,
    response,
    signed,
)
from tests.projections.happenings import Story, rules, tool_use


def called(*names: str) -> Story:
    """A conversation in which the model called functions at once; the first call is signed."""
    story = Story()
    story.user("hi")
    gemini.asks(story)
    first, *others = names
    gemini.answers(story, signed(call(first)), *(call(name) for name in others))
    return story


def test_results_stand_in_one_content_in_the_order_of_the_calls() -> None:
    story = called("a", "b")
    first, second = gemini.call_ids(story)
    gemini.gives(story, second, response("2", "b"))
    story.user("Are you there?")
    gemini.gives(story, first, response("1", "a"))
    assert gemini.contents(story) == [
        of_user("hi"),
        of_model(signed(call("a")), call("b")),
        of_user(response("1", "a"), response("2", "b")),
        of_user("Are you there?"),
    ]


def test_a_result_in_neutral_form_names_the_function_and_bears_no_id() -> None:
    story = called("a")
    story.result(gemini.call_ids(story)[0], "1")
    assert gemini.contents(story)[-1] == of_user(response("1", "a"))


def test_a_result_bears_the_id_that_its_call_bears() -> None:
    story = Story()
    story.user("hi")
    gemini.answers(story, signed(call(id="x")))
    story.result("x", "1")
    answered = {"id": "x", "name": "look_up", "response": {"result": "1"}}
    assert gemini.contents(story)[-1] == of_user({"functionResponse": answered})


def test_a_result_that_names_another_call_is_named_as_its_call_is() -> None:
    story = called("a")
    gemini.gives(story, gemini.call_ids(story)[0], response("1", "b", id="made up"))
    request = gemini.gemini(story)
    assert request.body["contents"][-1] == of_user(response("1", "a"))
    assert "G10" in rules(request)


def test_a_missing_result_is_stood_in_for() -> None:
    story = called("a", "b")
    story.result(gemini.call_ids(story)[1], "2")
    request = gemini.gemini(story)
    missing = response({"error": CANCELLED}, "a")
    assert request.body["contents"][-1] == of_user(missing, response("2", "b"))
    assert "G1" in rules(request)


def test_a_failed_result_says_so() -> None:
    story = called("a")
    story.result(gemini.call_ids(story)[0], "no such thing", is_error=True)
    assert gemini.contents(story)[-1] == of_user(response({"error": "no such thing"}, "a"))


@pytest.mark.parametrize(
    ("is_error", "told"),
    [
        (False, {"result": "Tool execution succeeded, but returned no result."}),
        (True, {"error": "Tool execution failed, but returned no result."}),
    ],
)
def test_a_result_without_anything_says_so(is_error: bool, told: dict[str, str]) -> None:
    story = called("a")
    story.result(gemini.call_ids(story)[0], "", is_error=is_error)
    assert gemini.contents(story)[-1] == of_user(response(told, "a"))


def test_a_result_of_no_call_goes_as_words() -> None:
    story = Story()
    story.user("hi")
    gemini.gives(story, "x", response("1"))
    request = gemini.gemini(story)
    assert "functionResponse" not in str(request.body)
    assert "1" in str(request.body)
    assert {"late"} <= rules(request)


def test_calls_of_others_go_without_their_ids() -> None:
    """Vertex knows no ids: "Unknown name "id" at 'contents[1].parts[0].function_call'"."""
    story = Story()
    story.user("hi")
    story.answer(tool_use("toolu_1"), tool_use("toolu_2"), stop="tool_use")
    story.result("toolu_2", "2")
    story.result("toolu_1", "1")
    first, second = (call(args={"q": f"toolu_{n}"}) for n in (1, 2))
    assert gemini.contents(story) == [
        of_user("hi"),
        of_model(signed(first, UNSIGNED), second),
        of_user(response("1"), response("2")),
    ]


def test_arguments_that_are_no_object_are_put_into_one() -> None:
    story = Story()
    story.user("hi")
    content = ToolCall(id="x", name="look_up", arguments="SELECT 1")
    story.happen(ToolCallRecorded(call_id="x", name="look_up", content=content))
    story.result("x")
    request = gemini.gemini(story)
    part = request.body["contents"][1]["parts"][0]
    assert part["functionCall"]["args"] == {"arguments": "SELECT 1"}
    assert "G8" in rules(request)


def test_a_response_that_is_no_object_is_put_into_one() -> None:
    story = called("a")
    told = {"functionResponse": {"name": "a", "response": ["1"]}}
    gemini.gives(story, gemini.call_ids(story)[0], told)
    assert gemini.contents(story)[-1] == of_user(response(["1"], "a"))


@pytest.mark.parametrize(
    "stop", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"]
)
def test_calls_of_an_answer_that_is_broken_do_not_go(stop: str) -> None:
    story = Story()
    story.user("hi")
    gemini.asks(story)
    gemini.answers(story, gemini.text("I look."), signed(call()), stop=stop)
    story.user("go on")
    request = gemini.gemini(story)
    assert request.body["contents"] == [of_user("hi"), of_model("I look."), of_user("go on")]
    assert "cut short" in rules(request)


def test_a_word_stands_before_a_history_that_begins_with_the_model() -> None:
    story = called("a")
    del story.events[0]
    first, second, _ = gemini.contents(story)
    assert (first, second) == (of_user("Go on."), of_model(signed(call("a"))))
    assert "G3" in rules(gemini.gemini(story))


def test_two_answers_without_a_word_between_are_one_content() -> None:
    story = Story()
    story.user("hi")
    gemini.answers(story, gemini.text("one"))
    gemini.asks(story)
    gemini.answers(story, gemini.text("two"))
    story.user(" ")
    gemini.answers(story, gemini.text("three"))
    assert gemini.contents(story) == [of_user("hi"), of_model("one", "two", "three")]
    assert "G18" in rules(gemini.gemini(story))


def test_an_open_call_without_an_id_has_the_one_under_which_it_was_recorded() -> None:
    chat = onrecord.connect("memory://").conversation("support/4711")
    chat.user("hi")
    content = gemini.native(call("a"))
    chat.log.append(ToolCallRecorded(call_id="a-0123", name="a", content=content))
    (opened,) = chat.open_calls()
    chat.tool_result(opened.id, "1")
    assert chat.open_calls() == []
    assert chat.request("gemini").body["contents"][-1] == of_user(response("1", "a"))
