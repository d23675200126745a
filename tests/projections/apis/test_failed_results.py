"""Results that say by themselves that they failed: every API hears of it."""

from __future__ import annotations

import pytest

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.answers import FAILED, failed
from onrecord.projections.apis.openai_responses.read import says_it_failed
from onrecord.projections.apis.request import APIS, Options
from tests.projections.apis.openai_responses.responses_happenings import (
    answers,
    asks,
    call,
    gives,
    items,
    output,
)
from tests.projections.happenings import Story, flat, text, tool_use

REFUSED: JsonObject = {
    "type": "mcp_approval_response",
    "approval_request_id": "mcpr_1",
    "approve": False,
    "reason": "too dear",
}
ENDED: JsonObject = {"stdout": "", "stderr": "", "outcome": {"type": "exit", "exit_code": 1}}
LATE: JsonObject = {"stdout": "", "stderr": "", "outcome": {"type": "timeout"}}


@pytest.mark.parametrize(
    "item",
    [
        {**output(), "status": "failed"},
        {**output(), "status": "incomplete"},
        {"type": "apply_patch_call_output", "call_id": "c", "status": "failed"},
        {"type": "shell_call_output", "call_id": "c", "output": [ENDED, LATE]},
        REFUSED,
    ],
)
def test_a_result_may_say_that_it_failed(item: JsonObject) -> None:
    assert says_it_failed(item)


@pytest.mark.parametrize(
    "item",
    [
        output(),
        {**output(), "status": "completed"},
        {"type": "shell_call_output", "call_id": "c", "output": [ENDED]},
        {**REFUSED, "approve": True},
        {**output(), "status": ["failed"]},
    ],
)
def test_a_command_that_ended_with_an_exit_code_did_not_fail_by_that(item: JsonObject) -> None:
    assert not says_it_failed(item)


def answered(value: JsonObject, *calls: JsonObject) -> Story:
    story = Story()
    story.user("hi")
    asks(story)
    answers(story, *(calls or (call(),)))
    gives(story, value)
    return story


def test_anthropic_has_a_flag_for_it() -> None:
    story = answered({**output(), "status": "incomplete"})
    [_, _, (_, result)] = flat(story.request())
    assert (result["content"], result["is_error"]) == ([text("found")], True)


def test_anthropic_is_told_that_an_approval_was_refused() -> None:
    approval = {
        "type": "mcp_approval_request",
        "id": "mcpr_1",
        "name": "buy",
        "arguments": "{}",
        "server_label": "shop",
    }
    [_, _, (_, result)] = flat(answered(REFUSED, approval).request())
    assert (result["content"], result["is_error"]) == ([text("refused: too dear")], True)


def test_a_chat_hears_it_in_words() -> None:
    story = answered({**output(), "status": "failed"})
    assert story.request(Options(api="openai-chat"))["messages"][-1]["content"] == failed("found")


def test_a_failure_without_content_says_so() -> None:
    story = answered({**output(said=""), "status": "failed"})
    assert story.request(Options(api="openai-chat"))["messages"][-1]["content"] == FAILED


def test_its_own_api_gets_it_as_it_came() -> None:
    value = {**output(), "status": "incomplete"}
    assert items(answered(value))[-1] == value


def test_a_failure_that_came_late_says_so() -> None:
    story = Story()
    story.user("hi")
    asks(story)
    answers(story, call())
    asks(story)
    gives(story, {**output(), "status": "failed"})
    said = [block.get("text") for _, block in flat(story.request())]
    assert "The result of tool call call_1 (look_up) came late, an error:" in said


@pytest.mark.parametrize("is_error", [False, True])
@pytest.mark.parametrize("said", [" ", "\n\n"])
@pytest.mark.parametrize("api", APIS)
def test_the_report_names_a_blank_result_that_words_stand_in_for(
    api: str, said: str, is_error: bool
) -> None:
    story = Story()
    story.user("hi")
    story.answer(tool_use("toolu_1"), stop="tool_use")
    version = story.result("toolu_1", said, is_error=is_error)
    request = story.request(Options(api=api))
    left_out = [note for note in request.report if note.deed == "left out"]
    assert [note.version for note in left_out] == [version]
    assert "blank" in left_out[0].why
