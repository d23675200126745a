"""What other servers of the Responses API, and tools that are loaded late, want: O17, O18."""

from __future__ import annotations

import pytest

from onrecord.domain.events import ToolsDeclared
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.openai_responses.read import NAME
from tests.projections.apis.openai_responses.responses_happenings import (
    answers,
    call,
    for_,
    gives,
    items,
    kinds,
    message,
    native,
    output,
    reasoning,
    rendered,
)
from tests.projections.happenings import Story, rules
from tests.projections.refused import refused

CLEAR = {"content": [{"type": "reasoning_text", "text": "hm"}], "encrypted_content": None}
SEARCH: JsonObject = {"type": "tool_search"}
LATE: JsonObject = {"type": "function", "name": "look_up", "defer_loading": True, "parameters": {}}
LOADED: JsonObject = {"type": "function", "name": "look_up", "parameters": {}}


def interleaved(model: str) -> Story:
    story = Story()
    story.user("hi")
    answers(
        story,
        *({**reasoning(1), **CLEAR}, message("First a.", 1), call("call_a", 1)),
        *({**reasoning(2), **CLEAR}, message("Now b.", 2), call("call_b", 2)),
        message("That is all.", 3),
        store=None,
        model=model,
    )
    gives(story, output("call_a"))
    gives(story, output("call_b"))
    return story


def test_deepseek_gets_what_an_answer_says_before_its_calls() -> None:
    """Recorded: so it was taken; with words between, "No tool output found for tool call call-a."."""
    request = rendered(interleaved("deepseek-v4-flash"))
    assert kinds(request["input"]) == [
        *("user", "reasoning", "assistant", "reasoning", "assistant", "assistant"),
        *("function_call", "function_call", "function_call_output", "function_call_output"),
    ]
    assert rules(request) == {"O17"}
    assert refused(NAME, request) == ()


def test_others_get_an_answer_in_its_own_order() -> None:
    request = rendered(interleaved("gpt-5"))
    assert kinds(request["input"])[1:8] == [
        *("reasoning", "assistant", "function_call", "reasoning", "assistant", "function_call"),
        "assistant",
    ]
    assert rules(request) == set()


def test_the_model_that_is_asked_decides_on_the_order() -> None:
    story = interleaved("gpt-5")
    assert "O17" in rules(rendered(story, for_(model="deepseek-v4-flash")))
    assert "O17" not in rules(rendered(interleaved("deepseek-v4-flash"), for_(model="gpt-5")))


def test_a_later_request_begins_with_the_items_of_the_earlier_one() -> None:
    story = interleaved("deepseek-v4-flash")
    before = items(story)
    answers(story, message("Done.", 4), store=None, model="deepseek-v4-flash")
    story.user("thanks")
    assert items(story)[: len(before)] == before


def with_tools(*tools: JsonObject) -> Story:
    story = Story()
    story.happen(ToolsDeclared(tools=tuple(map(native, tools))))
    story.user("hi")
    return story


def test_tools_are_loaded_late_where_they_can_be_searched_for() -> None:
    request = rendered(with_tools(LATE, SEARCH))
    assert request["tools"] == [LATE, SEARCH]
    assert rules(request) == set()


def test_tools_that_nothing_searches_for_are_loaded_at_once() -> None:
    """ "Invalid Value: 'tools.defer_loading'. Deferred tools require tools.tool_search." """
    space = {"type": "namespace", "name": "crm", "description": "Customers.", "tools": [LATE]}
    request = rendered(with_tools(LATE, space))
    assert request["tools"] == [LOADED, {**space, "tools": [LOADED]}]
    assert rules(request) == {"O18"}
    assert refused(NAME, request) == ()


@pytest.mark.parametrize("tools", [[LATE], [{"type": "namespace", "name": "crm", "tools": [LATE]}]])
def test_late_tools_without_a_search_are_refused(tools: list[JsonObject]) -> None:
    request: JsonObject = {"input": "hi", "tools": tools}
    assert [told.rule for told in refused(NAME, request)] == ["tools"]
    assert refused(NAME, {**request, "tools": [*tools, SEARCH]}) == ()
