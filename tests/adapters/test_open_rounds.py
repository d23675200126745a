"""Rounds that are open where a conversation forks or goes back: all that asks agrees on them."""

from __future__ import annotations

import pytest

import hansard
from tests.adapters.test_signals import asks, calls, last_turn


@pytest.fixture
def store() -> hansard.Store:
    return hansard.connect("memory://")


@pytest.fixture
def talk(store: hansard.Store) -> hansard.Talk:
    return store.conversation("support/4711")


def awaited(talk: hansard.Talk) -> list[str]:
    """Return the calls that are open, if what comes next and a request agree with that."""
    open_calls = [call.id for call in talk.open_calls()]
    assert (talk.next_input() == "deferred") is bool(open_calls)
    try:
        talk.request("openai-chat", missing="refuse")
    except hansard.RoundOpen as error:
        assert list(error.awaited) == open_calls
    else:
        assert not open_calls
    return open_calls


def test_what_a_fork_is_told_does_not_close_the_round_of_its_origin(
    store: hansard.Store, talk: hansard.Talk
) -> None:
    asks(talk, "toolu_1")
    fork = talk.fork("support/4711-b")
    fork.signal("a bell rang")
    fork.user("And?")
    assert awaited(fork) == ["toolu_1"]
    assert not [block for turn in fork.turns() for block in turn.blocks if block.mark == "missing"]
    fork.tool_result("toolu_1", "seen")
    assert awaited(fork) == []
    assert last_turn(fork) == ["toolu_1: seen", "a bell rang", "And?"]


def test_a_fork_of_a_fork_awaits_the_calls_of_the_first_origin(talk: hansard.Talk) -> None:
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
    talk: hansard.Talk,
) -> None:
    asks(talk, "toolu_1")
    said = talk.user("And?")
    talk.edit(said.last, "Or?")
    assert awaited(talk) == []
    calls(talk, "toolu_2")
    assert awaited(talk) == ["toolu_2"]


def test_a_fork_of_what_went_back_awaits_none_of_the_calls_before(talk: hansard.Talk) -> None:
    asks(talk, "toolu_1")
    said = talk.user("And?")
    talk.edit(said.last, "Or?")
    assert awaited(talk.fork("support/4711-b")) == []
