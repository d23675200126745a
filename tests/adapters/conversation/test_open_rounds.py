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
def chat(store: onrecord.Store) -> onrecord.Conversation:
    return store.conversation("support/4711")


def awaited(chat: onrecord.Conversation) -> list[str]:
    """Return the calls that are open, if what comes next and a request agree with that."""
    open_calls = [call.id for call in chat.open_calls()]
    assert (chat.next_input() == "deferred") is bool(open_calls)
    try:
        chat.request("openai-chat", missing="refuse")
    except onrecord.RoundOpen as error:
        assert list(error.awaited) == open_calls
    else:
        assert not open_calls
    return open_calls


def test_what_a_fork_is_told_does_not_close_the_round_of_its_origin(
    store: onrecord.Store, chat: onrecord.Conversation
) -> None:
    asks(chat, "toolu_1")
    fork = chat.fork("support/4711-b")
    fork.signal("a bell rang")
    fork.user("And?")
    assert awaited(fork) == ["toolu_1"]
    assert not [
        block for turn in fork.history() for block in turn.blocks if block.mark == "missing"
    ]
    fork.tool_result("toolu_1", "seen")
    assert awaited(fork) == []
    assert last_turn(fork) == ["toolu_1: seen", "a bell rang", "And?"]


def test_a_fork_of_a_fork_awaits_the_calls_of_the_first_origin(chat: onrecord.Conversation) -> None:
    asks(chat, "toolu_1", "toolu_2")
    fork = chat.fork("support/4711-b")
    fork.tool_result("toolu_2", "seen")
    fork.signal("a bell rang")
    second = fork.fork("support/4711-c")
    assert awaited(second) == ["toolu_1"]
    second.signal("another bell", interrupts=True)
    assert awaited(second) == []
    assert awaited(fork) == ["toolu_1"]


def test_a_conversation_that_went_back_amid_a_round_awaits_none_of_its_calls(
    chat: onrecord.Conversation,
) -> None:
    asks(chat, "toolu_1")
    said = chat.user("And?")
    chat.edit_message(said.last, "Or?")
    assert awaited(chat) == []
    calls(chat, "toolu_2")
    assert awaited(chat) == ["toolu_2"]


def test_a_fork_of_what_went_back_awaits_none_of_the_calls_before(
    chat: onrecord.Conversation,
) -> None:
    asks(chat, "toolu_1")
    said = chat.user("And?")
    chat.edit_message(said.last, "Or?")
    assert awaited(chat.fork("support/4711-b")) == []


# A round that is open.


def test_a_request_that_refuses_an_open_round_says_which_calls_are_awaited(
    chat: onrecord.Conversation,
) -> None:
    asks(chat, "toolu_1", "toolu_2", "toolu_3")
    chat.tool_result("toolu_2", "the secret")
    chat.signal("another secret")
    with pytest.raises(onrecord.RoundOpen) as caught:
        chat.request("anthropic-messages", missing="refuse")
    assert caught.value.awaited == ("toolu_1", "toolu_3")
    assert str(caught.value).startswith("2 calls await their results (toolu_1, toolu_3): ")
    assert "secret" not in str(caught.value)


def test_a_request_goes_when_the_round_is_closed(chat: onrecord.Conversation) -> None:
    asks(chat, "toolu_1")
    chat.signal("a bell rang")
    chat.tool_result("toolu_1", "seen")
    request = chat.request("openai-chat", missing="refuse")
    assert request["messages"][-1] == {"role": "user", "content": "a bell rang"}


def test_a_request_that_drops_calls_keeps_what_was_said_beside_them(
    chat: onrecord.Conversation,
) -> None:
    chat.user("Look")
    chat.log.append(
        events.MessageRecorded(role="assistant", content=(Text(text="One moment."),)),
    )
    calls(chat, "toolu_1")
    chat.signal("a bell rang")
    request = chat.request("openai-chat", missing="drop")
    assert [message["content"] for message in request["messages"]] == [
        "Look",
        "One moment.",
        "a bell rang",
    ]
    assert [note.rule for note in request.report] == ["missing"]


@pytest.mark.parametrize("missing", ["cancel", "drop"])
def test_what_was_asked_so_is_made_again_byte_for_byte(
    chat: onrecord.Conversation, missing: Literal["cancel", "drop"]
) -> None:
    asks(chat, "toolu_1")
    made = chat.request("anthropic-messages", missing=missing)
    again = chat.log.render(chat.head().version, made.options)
    assert again.body_parts() == made.body_parts()


# What comes next.


def test_nothing_comes_next_where_nothing_was_said(chat: onrecord.Conversation) -> None:
    assert chat.next_input() == "nothing"
    chat.instruct("Be kind.")
    assert chat.next_input() == "nothing"


def test_a_prompt_is_answered_next(chat: onrecord.Conversation) -> None:
    chat.user("Hello")
    assert chat.next_input() == "ready"


def test_results_are_awaited_until_all_are_there(chat: onrecord.Conversation) -> None:
    asks(chat, "toolu_1", "toolu_2")
    chat.tool_result("toolu_1", "one")
    chat.signal("a bell rang")
    assert chat.next_input() == "deferred"
    chat.tool_result("toolu_2", "two")
    assert chat.next_input() == "ready"


def test_an_answer_leaves_nothing_to_ask_until_a_signal_comes(chat: onrecord.Conversation) -> None:
    chat.user("Hello")
    chat.log.append(events.MessageRecorded(role="assistant", content=(Text(text="Hi."),)))
    assert chat.next_input() == "nothing"
    chat.signal("a bell rang")
    assert chat.next_input() == "ready"


def test_a_signal_that_interrupts_is_answered_next(chat: onrecord.Conversation) -> None:
    asks(chat, "toolu_1")
    chat.signal(interrupts=True)
    assert chat.next_input() == "ready"


def test_an_answer_that_is_paused_is_asked_for_again(chat: onrecord.Conversation) -> None:
    chat.user("Look it up")
    chat.log.append(
        events.MessageRecorded(role="assistant", content=(Text(text="One moment."),)),
        events.ResponseCompleted(
            response=chat.conversation_id,
            api="anthropic-messages",
            stop_reason="pause_turn",
            envelope={},
        ),
    )
    assert chat.next_input() == "ready"
    with pytest.raises(onrecord.InvalidContent, match="nothing to sum up"):
        chat.compact("They looked.")


@pytest.mark.parametrize("call_ids", [(), ("toolu_1",)])
def test_nothing_comes_next_in_a_closed_conversation(
    chat: onrecord.Conversation, call_ids: tuple[str, ...]
) -> None:
    """It takes no results, and the model is not asked there."""
    asks(chat, *call_ids)
    chat.end()
    assert chat.next_input() == "nothing"


def test_a_late_result_in_a_fork_is_named_after_the_call_of_its_origin(
    chat: onrecord.Conversation,
) -> None:
    asks(chat, "toolu_1")
    chat.tool_result("toolu_1", "seen")
    fork = chat.fork("support/4711-b")
    fork.tool_result("toolu_1", [b"%PDF-1.7 the report"])
    [found] = [document for document in fork.documents() if document.origin == "tool"]
    assert found.tool_name == "look"
