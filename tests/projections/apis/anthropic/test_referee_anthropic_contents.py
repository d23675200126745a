"""What Anthropic refuses of what a message holds, each rule broken once."""

from __future__ import annotations

from typing import Any

import pytest

from onrecord.domain.jsontext import JsonObject
from tests.projections.happenings import (
    result_of,
    text,
    thinking,
    tool_change,
    tool_use,
)
from tests.projections.spoken import HELLO, assistant, operator, told, user


def marked(said: str, **mark: Any) -> JsonObject:
    return {**text(said), "cache_control": {"type": "ephemeral", **mark}}


@pytest.mark.parametrize("content", ["", [], None])
def test_a_message_says_something(content: Any) -> None:
    [(where, rule, said)] = told(HELLO, {"role": "user", "content": content})
    assert (where, rule) == ("/messages/1/content", "R5")
    assert said.startswith("messages.1: all messages must have non-empty content")


def test_there_is_a_message() -> None:
    assert told() == [("/messages", "R5", "messages: at least one message is required")]


def test_a_tool_loop_begins_with_thinking_where_it_is_enabled() -> None:
    loop = (HELLO, assistant(text("hm"), tool_use("toolu_1")), user(result_of("toolu_1")))
    enabled = {"type": "enabled", "budget_tokens": 1024}
    assert told(*loop) == []
    [(where, rule, said)] = told(*loop, thinking=enabled)
    assert (where, rule) == ("/messages/1/content/0", "R6")
    assert said.startswith(
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`."
    )
    thought = (HELLO, assistant(thinking(), tool_use("toolu_1")), user(result_of("toolu_1")))
    assert told(*thought, thinking=enabled) == []


def test_thinking_is_signed() -> None:
    [(_, rule, said)] = told(HELLO, assistant(thinking(signature=""), text("Yes.")), HELLO)
    assert (rule, said) == ("R9", "messages.1.content.0: Invalid `signature` in `thinking` block")


@pytest.mark.parametrize(
    ("blocks", "said"),
    [
        ([text("")], "messages: text content blocks must be non-empty"),
        ([text(""), text("real")], "messages: text content blocks must be non-empty"),
        ([text("\n\n")], "messages: text content blocks must contain non-whitespace text"),
    ],
)
def test_text_is_not_blank(blocks: list[JsonObject], said: str) -> None:
    assert [(rule, words) for _, rule, words in told(user(*blocks))] == [("R10", said)]


def test_text_in_a_result_and_in_the_instructions_is_not_empty() -> None:
    blank = {**result_of("toolu_1"), "content": [text("")]}
    [(where, rule, _)] = told(HELLO, assistant(tool_use("toolu_1")), user(blank))
    assert (where, rule) == ("/messages/2/content/0/content/0", "R10")
    [(where, rule, _)] = told(HELLO, system=[text("")])
    assert (where, rule) == ("/system/0", "R10")


@pytest.mark.parametrize("last", [text("I say "), thinking()])
def test_a_turn_to_be_gone_on_with_ends_with_words(last: JsonObject) -> None:
    [(where, rule, _)] = told(HELLO, assistant(text("So:"), last))
    assert (where, rule) == ("/messages/1/content/1", "R11")


def test_there_are_four_cache_marks_at_most() -> None:
    marks = [marked(f"{number}") for number in range(5)]
    assert told(user(*marks[:4])) == []
    [(where, rule, said)] = told(user(*marks[:3]), system=marks[3:])
    assert (where, rule, said) == (
        "/messages/0/content/2",
        "R16",
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    )


def test_a_tools_own_data_holds_no_cache_marks() -> None:
    data: JsonObject = {f"part {number}": {"cache_control": {}} for number in range(5)}
    call = {**tool_use("toolu_1"), "input": data}
    assert told(HELLO, assistant(call), user(result_of("toolu_1"))) == []


def test_marks_of_an_hour_stand_before_shorter_ones() -> None:
    assert told(user(marked("a", ttl="1h"), marked("b"))) == []
    [(where, rule, _)] = told(user(marked("a"), marked("b", ttl="1h")))
    assert (where, rule) == ("/messages/0/content/1", "R16")


def test_an_empty_text_is_not_marked() -> None:
    rules = {rule for _, rule, _ in told(user(marked(""), text("real")))}
    assert rules == {"R10", "R16"}


def test_a_compaction_comes_first_and_alone() -> None:
    summary = {"type": "compaction", "content": "They said hello."}
    [(where, rule, said)] = told(HELLO, assistant(text("So: "), summary), HELLO)
    assert (where, rule) == ("/messages/1/content/1", "R18")
    assert said.startswith("compaction_block_misplaced")
    [(_, _, said)] = told(assistant(summary), HELLO, assistant(summary), HELLO)
    assert said.startswith("compaction_block_ambiguous")


@pytest.mark.parametrize(
    "messages",
    [
        [operator(text("Be kind."))],
        [HELLO, assistant(text("Yes.")), operator(text("Be kind."))],
        [HELLO, operator(text("Be kind.")), HELLO],
        [HELLO, operator(tool_use("toolu_1"))],
        [user(tool_change("look_up"))],
    ],
)
def test_an_operators_message_has_its_place(messages: list[JsonObject]) -> None:
    assert "R21" in [rule for _, rule, _ in told(*messages)]


def test_two_messages_of_an_operator_stand_in_a_row() -> None:
    notes = [operator(text("Be kind.")), operator(text("Be brief."))]
    assert told(HELLO, *notes, assistant(text("Yes.")), HELLO) == []
    assert told(HELLO, *notes) == []
    assert [rule for _, rule, _ in told(HELLO, *notes, HELLO)] == ["R21"]
