"""Rounds that are open: what a request makes of them, and what comes next; in forks, too."""

from __future__ import annotations

from typing import Literal

import pytest

import onrecord
from onrecord.domain import events
from onrecord.domain.content import Text
from tests.adapters.conversation.test_signals import asks, calls, last_turn


@pytest.fixture
def store() -> onrecord.Store:
    return onrecord.connect("memory://")


@pytest.fixture
def talk(store: onrecord.Store) -> onrecord.Talk:
    return store.conversation("support/4711")


def awaited(talk: onrecord.Talk) -> list[str]:
    """Return the calls that are open, if what comes next and a request agree with that."""
    open_calls = [call.id for call in talk.open_calls()]
    assert (talk.next_input() == "deferred") is bool(open_calls)
    try:
        talk.request("openai-chat", missing="refuse")
    except onrecord.RoundOpen as error:
        assert list(error.awaited) == open_calls
    else:
        assert not open_calls
    return open_calls


def test_what_a_fork_is_told_does_not_close_the_round_of_its_origin(
    store: onrecord.Store, talk: onrecord.Talk
) -> None:
    asks(talk, "toolu_1")
    fork = talk.fork("support/4711-b")
    fork.signal("a bell rang")
    fork.user("And?")
    assert awaited(fork) == ["toolu_1"]
    assert not [
        block for turn in fork.history() for block in turn.blocks if block.mark == "missing"
    ]
    fork.tool_result("toolu_1", "seen")
    assert awaited(fork) == []
    assert last_turn(fork) == ["toolu_1: seen", "a bell rang", "And?"]


def test_a_fork_of_a_fork_awaits_the_calls_of_the_first_origin(talk: onrecord.Talk) -> None:
    asks(talk, "toolu_1", "toolu_2")
    fork = talk.fork("support/4711-b")
    fork.tool_result("toolu_2", "seen")
    fork.signal("a bell rang")
    second = fork.fork("support/4711-c")
    assert awaited(second) == ["toolu_1"]
    second.signal("another bell", interrupts=True)
    assert awaited(second) == []
    assert awaited(fork) == ["toolu_1"]


def test_a_conversation_that_went_back_amid_a_round_awaits_none_of_its_calls(
    talk: onrecord.Talk,
) -> None:
    asks(talk, "toolu_1")
    said = talk.user("And?")
    talk.edit_message(said.last, "Or?")
    assert awaited(talk) == []
    calls(talk, "toolu_2")
    assert awaited(talk) == ["toolu_2"]


def test_a_fork_of_what_went_back_awaits_none_of_the_calls_before(talk: onrecord.Talk) -> None:
    asks(talk, "toolu_1")
    said = talk.user("And?")
    talk.edit_message(said.last, "Or?")
    assert awaited(talk.fork("support/4711-b")) == []


# A round that is open.


def test_a_request_that_refuses_an_open_round_says_which_calls_are_awaited(
    talk: onrecord.Talk,
) -> None:
    asks(talk, "toolu_1", "toolu_2", "toolu_3")
    talk.tool_result("toolu_2", "the secret")
    talk.signal("another secret")
    with pytest.raises(onrecord.RoundOpen) as caught:
        talk.request("anthropic-messages", missing="refuse")
    assert caught.value.awaited == ("toolu_1", "toolu_3")
    assert str(caught.value).startswith("2 calls await their results (toolu_1, toolu_3): ")
    assert "secret" not in str(caught.value)


def test_a_request_goes_when_the_round_is_closed(talk: onrecord.Talk) -> None:
    asks(talk, "toolu_1")
    talk.signal("a bell rang")
    talk.tool_result("toolu_1", "seen")
    request = talk.request("openai-chat", missing="refuse")
    assert request["messages"][-1] == {"role": "user", "content": "a bell rang"}


def test_a_request_that_drops_calls_keeps_what_was_said_beside_them(talk: onrecord.Talk) -> None:
    talk.user("Look")
    talk.log.append(
        events.MessageRecorded(role="assistant", content=(Text(text="One moment."),)),
    )
    calls(talk, "toolu_1")
    talk.signal("a bell rang")
    request = talk.request("openai-chat", missing="drop")
    assert [message["content"] for message in request["messages"]] == [
        "Look",
        "One moment.",
        "a bell rang",
    ]
    assert [note.rule for note in request.report] == ["missing"]


@pytest.mark.parametrize("missing", ["cancel", "drop"])
def test_what_was_asked_so_is_made_again_byte_for_byte(
    talk: onrecord.Talk, missing: Literal["cancel", "drop"]
) -> None:
    asks(talk, "toolu_1")
    made = talk.request("anthropic-messages", missing=missing)
    again = talk.log.render(talk.head().version, made.options)
    assert again.body_parts() == made.body_parts()


# What comes next.


def test_nothing_comes_next_where_nothing_was_said(talk: onrecord.Talk) -> None:
    assert talk.next_input() == "nothing"
    talk.instruct("Be kind.")
    assert talk.next_input() == "nothing"


def test_a_prompt_is_answered_next(talk: onrecord.Talk) -> None:
    talk.user("Hello")
    assert talk.next_input() == "ready"


def test_results_are_awaited_until_all_are_there(talk: onrecord.Talk) -> None:
    asks(talk, "toolu_1", "toolu_2")
    talk.tool_result("toolu_1", "one")
    talk.signal("a bell rang")
    assert talk.next_input() == "deferred"
    talk.tool_result("toolu_2", "two")
    assert talk.next_input() == "ready"


def test_an_answer_leaves_nothing_to_ask_until_a_signal_comes(talk: onrecord.Talk) -> None:
    talk.user("Hello")
    talk.log.append(events.MessageRecorded(role="assistant", content=(Text(text="Hi."),)))
    assert talk.next_input() == "nothing"
    talk.signal("a bell rang")
    assert talk.next_input() == "ready"


def test_a_signal_that_interrupts_is_answered_next(talk: onrecord.Talk) -> None:
    asks(talk, "toolu_1")
    talk.signal(interrupts=True)
    assert talk.next_input() == "ready"


def test_an_answer_that_is_paused_is_asked_for_again(talk: onrecord.Talk) -> None:
    talk.user("Look it up")
    talk.log.append(
        events.MessageRecorded(role="assistant", content=(Text(text="One moment."),)),
        events.ResponseCompleted(
            response=talk.conversation_id,
            api="anthropic-messages",
            stop_reason="pause_turn",
            envelope={},
        ),
    )
    assert talk.next_input() == "ready"
    with pytest.raises(onrecord.InvalidContent, match="nothing to sum up"):
        talk.compact("They looked.")


@pytest.mark.parametrize("call_ids", [(), ("toolu_1",)])
def test_nothing_comes_next_in_a_closed_conversation(
    talk: onrecord.Talk, call_ids: tuple[str, ...]
) -> None:
    """It takes no results, and the model is not asked there."""
    asks(talk, *call_ids)
    talk.end()
    assert talk.next_input() == "nothing"


def test_a_late_result_in_a_fork_is_named_after_the_call_of_its_origin(talk: onrecord.Talk) -> None:
    asks(talk, "toolu_1")
    talk.tool_result("toolu_1", "seen")
    fork = talk.fork("support/4711-b")
    fork.tool_result("toolu_1", [b"%PDF-1.7 the report"])
    [found] = [document for document in fork.documents() if document.origin == "tool"]
    assert found.tool_name == "look"
