"""Lists that begin anew, and lines that a program comes back to: what of it is history."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from onrecord.domain import jsontext
from tests.adapters.every_spelling import EVERY
from tests.adapters.recorded_calls import Recorded
from tests.adapters.recording.own_history import Program, Spelling


@pytest.fixture(params=EVERY, ids=[spelling.api for spelling in EVERY])
def program(request: pytest.FixtureRequest, tmp_path: Path) -> Program:
    spelling: Spelling = request.param
    return Program(Recorded(tmp_path), spelling)


# -- another beginning ---------------------------------------------------------------------------


@pytest.mark.parametrize("more", [{}, {"system": "s"}], ids=["without", "with instructions"])
def test_an_edit_of_the_first_prompt_is_history_once_the_program_goes_on(
    program: Program, more: dict[str, Any]
) -> None:
    program.ask(program.user("u1"), "a1", **more)
    edited = program.ask(program.user("u1b"), "b1", **more)
    assert program.relations()[-1] == "branches aside"
    assert program.main() == ["u1", "a1"]
    program.ask([*edited, *program.user("u2")], "a2", **more)
    assert program.main() == ["u1b", "b1", "u2", "a2"]
    assert program.said() == ["u1", "u1b", "u2"]
    rendered = program.recorded.chat.request(program.spelling.api)
    assert (b'"s"' in jsontext.write(dict(rendered))) is bool(more)


def test_a_program_may_go_back_to_the_first_prompt_before_its_edit(program: Program) -> None:
    first = program.ask(program.user("u1"), "a1", system="s")
    edited = program.ask(program.user("u1b"), "b1", system="s")
    program.ask([*edited, *program.user("u2")], "b2", system="s")
    first = program.ask([*first, *program.user("u3")], "a3", system="s")
    program.ask([*first, *program.user("u4")], "a4", system="s")
    assert program.main() == ["u1", "a1", "u3", "a3", "u4", "a4"]


def test_an_agent_that_a_call_starts_is_no_history_of_its_caller(program: Program) -> None:
    history = program.ask(program.user("u1"), "a1", ["c1"], system="s")
    other = program.ask(program.user("x1"), "y1", ["d1"], system="s")
    program.ask([*other, *program.results(d1="found")], "y2", system="s")
    assert program.main()[:3] == ["u1", "a1", "call c1"]
    assert "x1" not in program.main()
    program.ask([*history, *program.results(c1="y2")], "a2", system="s")
    assert program.main() == ["u1", "a1", "call c1", "c1 gave y2", "a2"]
    assert program.relations() == ["extends", "unrelated aside", "extends aside", "extends"]


# -- back and forth ------------------------------------------------------------------------------


def test_a_line_that_was_left_is_history_when_the_program_goes_on_with_it_twice(
    program: Program,
) -> None:
    begun = [*program.ask(program.user("u1"), "a1"), *program.user("u2")]
    first, second = program.ask(begun, "a2"), program.ask(begun, "b2")
    program.ask([*first, *program.user("u3")], "a3")
    second = program.ask([*second, *program.user("v3")], "b3")
    assert program.main() == ["u1", "a1", "u2", "a2", "u3", "a3"]
    program.ask([*second, *program.user("v4")], "b4")
    assert program.main() == ["u1", "a1", "u2", "b2", "v3", "b3", "v4", "b4"]
    assert program.said() == ["u1", "u2", "u3", "v3", "v4"]


def test_an_agent_beside_does_not_take_the_place_of_one_that_awaits_results(
    program: Program,
) -> None:
    begun = [*program.ask(program.user("u1"), "a1"), *program.user("u2")]
    first, second = program.ask(begun, "a2"), program.ask(begun, "b2")
    first = program.ask([*first, *program.user("u3")], "a3", ["c1"])
    for number in range(3):
        second = program.ask([*second, *program.user(f"v{number}")], f"b{number}")
    program.ask([*first, *program.results(c1="r1")], "a4")
    assert program.main() == ["u1", "a1", "u2", "a2", "u3", "a3", "call c1", "c1 gave r1", "a4"]


def test_a_caller_goes_on_at_once_with_the_results_that_it_waited_for(program: Program) -> None:
    begun = program.ask(program.user("u1"), "a1")
    history = program.ask([*begun, *program.user("u2")], "a2", ["c1"])
    other = program.ask([*begun, *program.user("x1")], "y1", ["d1"])
    program.ask([*other, *program.results(d1="found")], "y2")
    history = program.ask([*history, *program.results(c1="y2")], "a3")
    expected = ["u1", "a1", "u2", "a2", "call c1", "c1 gave y2", "a3"]
    assert program.main() == expected
    program.ask([*history, *program.user("u3")], "a4")
    assert program.main() == [*expected, "u3", "a4"]
