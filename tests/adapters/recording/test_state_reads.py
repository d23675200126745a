"""Where a conversation stands is told by one read of what is new, whoever else writes meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from onrecord.adapters.conversation.conversation import stream_of
from onrecord.adapters.recording.state import StateReader
from onrecord.adapters.storage.memory.memory import Memory
from tests.adapters.recorded_calls import Recorded
from tests.adapters.recording.own_history import Chat, List, Program

_READS = ("read", "head", "new_since", "pointed", "tell", "exchange_start")


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(Recorded(tmp_path), Chat())


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the log was asked, by the names of its verbs."""
    asked = list[str]()

    def noted(name: str, verb: Callable[..., Any]) -> Callable[..., Any]:
        def ask(*args: Any, **more: Any) -> Any:
            asked.append(name)
            return verb(*args, **more)

        return ask

    for name in _READS:
        monkeypatch.setattr(Memory, name, noted(name, getattr(Memory, name)))
    return asked


def test_a_list_that_grows_by_a_turn_is_related_by_one_read(
    program: Program, reads: list[str]
) -> None:
    history: List = []
    for number in range(4):
        history += program.user(f"u{number}")
        reads.clear()
        begun = program.send(history)
        # Before the first there is nothing to read. How it began is read once.
        assert reads == [[], ["new_since", "read"]][number] if number < 2 else ["new_since"]
        history += program.answer(begun, f"a{number}")
    assert program.relations() == ["extends"] * 4


@pytest.mark.parametrize("seed", range(4))
def test_a_state_that_goes_on_from_the_last_one_is_that_which_is_read_anew(
    program: Program, seed: int
) -> None:
    draw, stream = Random(seed), stream_of(program.recorded.chat)
    states, lists = StateReader(stream), list[List]([[]])
    for number in range(30):
        if draw.random() < 0.3:  # Another process goes on.
            program.recorded.recorder = program.recorded.new_recorder()
        history = lists[-1] if draw.random() < 0.6 else draw.choice(lists)
        history = history[: draw.randrange(len(history) + 1)] if draw.random() < 0.2 else history
        begun = program.send([*history, *program.user(f"u{number}")])
        if begun.line is None and draw.random() < 0.8:
            states.sent(begun.version)
        assert states.now() == StateReader(stream).now()
        if draw.random() < 0.8:
            answer = program.answer(begun, f"a{number}")
            lists.append([*history, *program.user(f"u{number}"), *answer])
            assert states.now() == StateReader(stream).now()
    assert {"extends", "branches aside"} <= set(program.relations())


def test_what_came_in_great_number_since_the_last_request_is_told_as_well(
    program: Program,
) -> None:
    history = program.ask(program.user("u1"), "a1")
    for number in range(300):
        program.recorded.chat.user(f"told {number}")
    program.ask([*history, *program.user("u2")], "a2")
    assert program.said().count("u1") == 1
    fresh = StateReader(stream_of(program.recorded.chat)).now()
    assert fresh.last_version == fresh.head.request
