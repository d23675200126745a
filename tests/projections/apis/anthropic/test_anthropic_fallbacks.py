"""Answers that one model declined to go on with, and another one took over: R19."""

from __future__ import annotations

from typing import Final

from onrecord.domain.jsontext import JsonObject
from tests.projections.happenings import (
    API,
    Story,
    flat,
    result_of,
    rules,
    search_result,
    server_tool_use,
    text,
    thinking,
    tool_use,
)
from tests.projections.refused import refused
from tests.projections.spoken import HELLO, assistant, told, user

SEAM: Final[JsonObject] = {
    "type": "fallback",
    "from": {"model": "a"},
    "to": {"model": "b"},
    "trigger": None,
}


def test_a_fallback_of_the_service_stays_and_one_of_a_client_does_not() -> None:
    """R19: the service refuses a seam that it did not make."""
    story = Story()
    story.user("hi")
    story.answer("so", SEAM, thinking("b"), "it is")
    story.assistant(SEAM)
    story.user("thanks")
    request = story.request()
    kinds = [block["type"] for _, block in flat(request)]
    assert kinds == ["text", "text", "fallback", "thinking", "text", "text"]
    assert rules(request) == {"R19"}


def test_what_a_model_thought_and_called_before_it_declined_does_not_go() -> None:
    """R19: the guide's table of what to drop before the final fallback, and what to keep."""
    story = Story()
    story.user("hi")
    paired = (server_tool_use("srvtoolu_1"), search_result("srvtoolu_1"))
    alone = server_tool_use("srvtoolu_2")
    told = {"type": "connector_text", "connector_text": "I look it up."}
    void = (thinking("a"), {"type": "redacted_thinking", "data": "x"}, told, tool_use("toolu_1"))
    after = (thinking("b"), text("so"), tool_use("toolu_2"))
    first = text("Well")
    story.answer(first, *void, SEAM, *paired, alone, SEAM, *after, stop="tool_use")
    story.result("toolu_1", "one")
    story.result("toolu_2", "two")
    request = story.request()
    assert [block for _, block in flat(request)][1:] == [
        *(first, SEAM, *paired, SEAM, *after),
        result_of("toolu_2", "two"),
    ]
    assert [(note.deed, note.rule) for note in request.report] == [("left out", "R19")] * 6
    assert refused(API, request) == ()


def test_a_fallback_before_any_word_changes_nothing_else() -> None:
    story = Story()
    story.user("hi")
    story.answer(SEAM, thinking("b"), "so")
    story.user("thanks")
    request = story.request()
    assert [block["type"] for _, block in flat(request)][1:4] == ["fallback", "thinking", "text"]
    assert len(request.report) == 0


def test_a_later_turn_may_think_and_call_after_one_that_fell_back() -> None:
    story = Story()
    story.user("hi")
    story.answer("Well", SEAM, "so")
    story.user("and?")
    story.answer(thinking("c"), tool_use("toolu_1"), stop="tool_use")
    story.result("toolu_1", "one")
    request = story.request()
    assert {"thinking", "tool_use", "tool_result"} <= {b["type"] for _, b in flat(request)}
    assert len(request.report) == 0


def test_a_call_before_the_last_fallback_is_refused() -> None:
    call, result = tool_use("toolu_1"), result_of("toolu_1")
    assert told(HELLO, assistant(SEAM, call), user(result)) == []
    [(where, rule, said)] = told(HELLO, assistant(call, SEAM), user(result))
    assert (where, rule) == ("/messages/1/content/0", "R19")
    assert said.startswith("messages.1: `tool_use` ids were found without `tool_result` blocks")
