"""Forks: versions begin anew there, so that two events of one history may have the same one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from onrecord.domain import events
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import Told
from onrecord.projections.apis.request import Options, render
from tests.projections.apis.openai_responses.responses_happenings import (
    answers,
    asks,
    breaks_off,
    call,
    kinds,
    message,
    reasoning,
)
from tests.projections.happenings import Story
from tests.projections.recorded import recorded

ORIGIN, FORK = UUID(int=1), UUID(int=2)


def forked(origin: Story, *said: str) -> Story:
    fork = Story()
    fork.happen(events.ConversationForked(origin=ORIGIN, version=len(origin.events)))
    for word in said:
        fork.user(word)
    return fork


def both(origin: Story, fork: Story) -> list[Told]:
    return [*recorded(origin, ORIGIN), *recorded(fork, FORK)]


def answered(*items: JsonObject) -> Story:
    story = Story()
    story.user("q")
    asks(story)
    answers(story, *items)
    return story


def input_of(told: list[Told]) -> list[Any]:
    return list(render(told, Options(api="openai-responses"))["input"])


def test_what_a_fork_redacts_leaves_the_answers_of_its_origin_whole() -> None:
    origin = answered(reasoning(1), message("one", 1))
    fork = forked(origin, "x", "oops", "y")
    fork.redact(3)
    sent = input_of(both(origin, fork))
    assert sent[:3] == input_of(recorded(origin, ORIGIN))[:3]
    assert kinds(sent[:3]) == ["user", "reasoning", "assistant"]
    assert "oops" not in str(sent)


def test_a_call_of_a_fork_that_is_cut_short_leaves_the_answers_of_its_origin_whole() -> None:
    origin = answered(reasoning(1), message("one", 1))
    fork = forked(origin, "x")
    asks(fork)
    breaks_off(fork, call("call_2", 2))
    fork.user("y")
    made = render(both(origin, fork), Options(api="openai-responses"))
    assert [note.rule for note in made.report] == ["cut short"]
    assert kinds(made["input"])[:3] == ["user", "reasoning", "assistant"]


def test_an_answer_of_which_an_event_was_redacted_stays_torn_in_its_fork() -> None:
    origin = answered(reasoning(1), message("one", 1), call("call_1", 1))
    origin.redact(3)
    fork = forked(origin, "x")
    assert "reasoning" not in kinds(input_of(both(origin, fork)))


def texts_of_anthropic(told: list[Told]) -> list[str]:
    [turn] = render(told, Options(api="anthropic-messages"))["messages"]
    return [block["text"] for block in turn["content"]]


def texts_of_chat(told: list[Told]) -> list[str]:
    return [one["content"] for one in render(told, Options(api="openai-chat"))["messages"]]


def texts_of_responses(told: list[Told]) -> list[str]:
    return [one["content"] for one in input_of(told)]


@pytest.mark.parametrize("texts", [texts_of_anthropic, texts_of_chat, texts_of_responses])
def test_what_is_said_first_in_a_fork_is_no_part_of_what_was_said_last(
    texts: Callable[[list[Told]], list[str]],
) -> None:
    origin = Story()
    origin.user("first")
    origin.user("last")
    assert texts(both(origin, forked(origin, "anew"))) == ["first", "last", "anew"]


def test_a_blank_text_stays_beside_words_of_its_own_message_only() -> None:
    """R10, of one message: those of a fork and of its origin may have the same version."""
    origin = Story()
    origin.user("first")
    origin.user("last")
    fork = forked(origin)
    fork.user(" ")
    assert texts_of_anthropic(both(origin, fork)) == ["first", "last"]
