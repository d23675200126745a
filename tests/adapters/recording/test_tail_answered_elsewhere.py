"""Answers that nobody recorded, at the end of a longer list: only that end is read, and says the same.

What one recorder writes, which remembers the body before and the side branches, is held against what
recorders write that each know nothing, as those of other processes do: they read all of a body.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, Literal, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onrecord.adapters.wire.wires import WIRES
from onrecord.domain import jsontext
from onrecord.domain.events import Event
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.matching.units import digest_of
from tests.adapters.every_spelling import EVERY
from tests.adapters.recorded_calls import Recorded
from tests.adapters.recording.own_history import List, Program, Spelling
from tests.adapters.recording.test_tail import program, recorded, sizes

__all__ = ["program", "recorded", "sizes"]

Step = Literal["recorded", "elsewhere", "calls elsewhere", "another call", "back"]

_OWN_IDS = {"request", "response", "parent", "line", "adopted", "template", "begun"}
"""Members that are made anew each time; a template's body is checked by its digest."""


def test_of_answers_from_elsewhere_only_the_tail_is_read(
    program: Program, sizes: list[int]
) -> None:
    history: List = []
    body = b""
    for number in range(4):
        history += program.user(f"u{number} " + "x" * 5000)
        body = jsontext.write(program.spelling.body(history))
        program.send(history)
        history += program.spelling.echo(program.spelling.answer(f"a{number} " + "y" * 5000, ()))
    assert max(sizes) < 15_000 < len(body)
    assert program.relations() == ["extends"] * 4
    sent = program.recorded.requests()[-1]
    whole = WIRES[program.spelling.api].read_request(body)
    assert (sent.blocks, sent.history) == (len(whole.pieces), digest_of(whole.pieces))


def test_an_answer_on_a_side_branch_of_another_process_is_found_there(program: Program) -> None:
    """Though this one had looked for side branches before."""
    history = program.user("u1")
    program.send(history)
    history += program.spelling.echo(program.spelling.answer("said elsewhere", ()))
    history += program.user("u2")
    program.ask(history, "This is the first answer.")
    here = program.recorded.recorder
    program.recorded.recorder = program.recorded.new_recorder()
    history = program.ask(history, "This is the second answer.")
    program.recorded.recorder = here
    program.send([*history, *program.user("u3")])
    assert program.relations() == ["extends", "extends", "branches aside", "extends"]
    assert program.recorded.types().count("line.adopted") == 1
    assert program.said() == ["u1", "u2", "u3"]


@pytest.mark.parametrize("spelling", EVERY, ids=[spelling.api for spelling in EVERY])
@settings(max_examples=15)
@given(steps=st.lists(st.sampled_from(get_args(Step)), min_size=2, max_size=6))
def test_a_recorder_that_remembers_writes_what_one_that_knows_nothing_does(
    spelling: Spelling, steps: list[Step]
) -> None:
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        remembering, forgetful = (
            Program(Recorded(Path(folder)), spelling) for folder in (one, other)
        )
        _play((remembering, forgetful), steps)
        assert _written(remembering) == _written(forgetful)
        assert remembering.relations()[0] == "extends"


def _play(programs: tuple[Program, Program], steps: list[Step]) -> None:
    """Play the same to both; the second has another recorder each time."""
    spelling, history, shorter = programs[0].spelling, List(), List()
    for number, step in enumerate(steps):
        answer = spelling.answer(f"a{number}", (f"call{number}",) if "calls" in step else ())
        if step == "another call":
            _send(programs, spelling.user(f"Give {number} a title"), answer)
            continue
        if step == "back":
            history = list(shorter)
        shorter = list(history)
        history += spelling.user(f"u{number}")
        _send(programs, history, answer if step == "recorded" else None)
        history += spelling.echo(answer)
        if "calls" in step:
            history += spelling.results(**{f"call{number}": "four"})


def _send(programs: tuple[Program, Program], history: List, answer: JsonObject | None) -> None:
    for each in programs:
        begun = each.send(history)
        if answer is not None:
            each.answered(begun, answer)
    forgetful = programs[1].recorded
    forgetful.recorder = forgetful.new_recorder()


def _written(program: Program) -> list[tuple[str, Any]]:
    """Return the events, without what is made anew each time."""
    return [_plain(event) for event in program.recorded.events()[1:]]


def _plain(event: Event) -> tuple[str, Any]:
    is_aside = getattr(event, "line", None) is not None
    return type(event).__name__, (is_aside, event.model_dump(mode="json", exclude=_OWN_IDS))
