"""Programs that keep their own list of messages: what each request means, and what is history."""

from __future__ import annotations

from pathlib import Path

import pytest

from onrecord.domain.jsontext import JsonObject
from tests.adapters.every_spelling import EVERY
from tests.adapters.recorded_calls import Recorded
from tests.adapters.recording.own_history import Program, Spelling


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path)


@pytest.fixture(params=EVERY, ids=[spelling.api for spelling in EVERY])
def program(request: pytest.FixtureRequest, recorded: Recorded) -> Program:
    spelling: Spelling = request.param
    return Program(recorded, spelling)


def two_exchanges(program: Program) -> list[list[JsonObject]]:
    """Two exchanges; return the list after each step."""
    first = program.user("u1")
    second = [*program.ask(first, "a1"), *program.user("u2")]
    return [first, second, program.ask(second, "a2")]


# -- going on ----------------------------------------------------------------------------------


def test_what_is_appended_extends_the_main_line(program: Program) -> None:
    *_, history = two_exchanges(program)
    program.ask([*history, *program.user("u3")], "a3")
    assert program.relations() == ["extends"] * 3
    assert program.main() == ["u1", "a1", "u2", "a2", "u3", "a3"]
    assert program.said() == ["u1", "u2", "u3"]


def test_a_repeated_yes_is_said_as_often_as_it_is_said(program: Program) -> None:
    history = program.user("yes")
    for answer in ("ok", "ok", "ok"):
        history = [*program.ask(history, answer), *program.user("yes")]
    program.ask(history, "ok")
    assert program.relations() == ["extends"] * 4
    assert program.said() == ["yes"] * 4
    assert program.main() == ["yes", "ok"] * 4


def test_parallel_calls_may_be_answered_out_of_order(program: Program) -> None:
    history = program.ask(program.user("u1"), "a1", ["c1", "c2", "c3"])
    program.ask([*history, *program.results(c3="r3", c1="r1", c2="r2")], "a2")
    assert program.relations() == ["extends", "extends"]
    assert sorted(program.said()) == ["c1 gave r1", "c2 gave r2", "c3 gave r3", "u1"]


def test_results_that_were_given_before_are_found_in_any_order(program: Program) -> None:
    history = program.ask(program.user("u1"), "a1", ["c1", "c2"])
    program.recorded.chat.tool_result("c2", "r2")
    program.ask([*history, *program.results(c1="r1", c2="r2")], "a2")
    assert program.relations() == ["extends", "extends"]
    assert sorted(program.said()) == ["c1 gave r1", "c2 gave r2", "u1"]


def test_another_system_prompt_is_put_in_force_and_goes_on(program: Program) -> None:
    history = program.ask(program.user("u1"), "a1", system="Be brief.")
    program.ask([*history, *program.user("u2")], "a2", system="Be kind.")
    assert program.relations() == ["extends", "extends"]
    assert program.recorded.types().count("instructions.set") == 2
    assert program.main() == ["u1", "a1", "u2", "a2"]


def test_tools_in_another_order_go_on(program: Program) -> None:
    one, other = (program.spelling.tool(name) for name in ("look", "find"))
    history = program.ask(program.user("u1"), "a1", tools=[one, other])
    program.ask([*history, *program.user("u2")], "a2", tools=[other, one])
    assert program.relations() == ["extends", "extends"]
    assert program.recorded.types().count("tools.declared") == 2


def test_another_process_goes_on_where_the_first_one_stopped(program: Program) -> None:
    *_, history = two_exchanges(program)
    program.recorded.recorder = program.recorded.new_recorder()
    program.ask([*history, *program.user("u3")], "a3")
    assert program.relations() == ["extends"] * 3
    assert program.said() == ["u1", "u2", "u3"]


# -- samples -----------------------------------------------------------------------------------


def test_the_same_list_three_times_is_three_samples(program: Program) -> None:
    for answer in ("a", "b", "c"):
        program.ask(program.user("u1"), answer)
    assert program.relations() == ["extends", "branches aside", "branches aside"]
    assert program.main() == ["u1", "a"]
    assert program.said() == ["u1"]


def test_the_sample_that_the_program_goes_on_with_is_history(program: Program) -> None:
    program.ask(program.user("u1"), "a")
    second = program.ask(program.user("u1"), "b")
    program.ask(program.user("u1"), "c")
    program.ask([*second, *program.user("u2")], "a2")
    assert program.main() == ["u1", "b", "u2", "a2"]
    assert program.relations()[-1] == "extends"
    assert program.said() == ["u1", "u2"]


def test_a_regenerated_answer_replaces_the_first_when_the_program_goes_on(program: Program) -> None:
    _, second, _ = two_exchanges(program)
    again = program.ask(second, "a2 again")
    assert program.main() == ["u1", "a1", "u2", "a2"]
    program.ask([*again, *program.user("u3")], "a3")
    assert program.main() == ["u1", "a1", "u2", "a2 again", "u3", "a3"]
    assert program.said() == ["u1", "u2", "u3"]


def test_a_sample_of_a_sample_is_adopted_with_it(program: Program) -> None:
    _, second, _ = two_exchanges(program)
    edited = program.ask([*second[:-1], *program.user("u2b")], "b2")
    sampled = program.ask(edited[:-1], "b2 again")
    program.ask([*sampled, *program.user("u3")], "a3")
    assert program.main() == ["u1", "a1", "u2b", "b2 again", "u3", "a3"]
    assert program.said() == ["u1", "u2", "u2b", "u3"]


# -- edits -------------------------------------------------------------------------------------


def test_an_edited_prompt_branches_and_is_history_once_the_program_goes_on(
    program: Program,
) -> None:
    _, second, _ = two_exchanges(program)
    edited = program.ask([*second[:-1], *program.user("u2b")], "b2")
    assert program.relations()[-1] == "branches aside"
    assert program.main() == ["u1", "a1", "u2", "a2"]
    program.ask([*edited, *program.user("u3")], "a3")
    assert program.relations()[-1] == "extends"
    assert program.main() == ["u1", "a1", "u2b", "b2", "u3", "a3"]
    assert program.said() == ["u1", "u2", "u2b", "u3"]


def test_an_edit_after_an_edit_is_nested(program: Program) -> None:
    _, second, _ = two_exchanges(program)
    history = [*program.ask([*second[:-1], *program.user("u2b")], "b2"), *program.user("u3")]
    third = program.ask(history, "a3")
    edited = program.ask([*history[:-1], *program.user("u3b")], "b3")
    program.ask([*edited, *program.user("u4")], "a4")
    assert program.main() == ["u1", "a1", "u2b", "b2", "u3b", "b3", "u4", "a4"]
    within = program.ask([*third[:2], *program.user("u2c")], "c2")
    program.ask([*within, *program.user("u5")], "a5")
    assert program.main() == ["u1", "a1", "u2c", "c2", "u5", "a5"]
    assert program.said() == ["u1", "u2", "u2b", "u3", "u3b", "u4", "u2c", "u5"]


def test_an_edit_within_a_line_that_was_adopted_is_cut_there(program: Program) -> None:
    _, second, _ = two_exchanges(program)
    edited = program.ask([*second[:-1], *program.user("u2b")], "b2")
    program.ask([*edited, *program.user("u3")], "a3")
    regenerated = program.ask(edited[:-1], "b2 again")
    assert program.relations()[-1] == "branches aside"
    program.ask([*regenerated, *program.user("u4")], "a4")
    assert program.main() == ["u1", "a1", "u2b", "b2 again", "u4", "a4"]
    assert program.said() == ["u1", "u2", "u2b", "u3", "u4"]


def test_a_program_may_go_back_to_what_an_edit_replaced(program: Program) -> None:
    *_, old = two_exchanges(program)
    edited = program.ask([*old[:2], *program.user("u2b")], "b2")
    program.ask([*edited, *program.user("u3")], "b3")
    back = program.ask([*old, *program.user("u4")], "a4")
    assert program.relations()[-1] == "branches aside"
    program.ask([*back, *program.user("u5")], "a5")
    assert program.main() == ["u1", "a1", "u2", "a2", "u4", "a4", "u5", "a5"]
    assert program.said() == ["u1", "u2", "u2b", "u3", "u4", "u5"]


def test_the_main_line_stays_if_the_program_goes_on_with_it_after_an_edit(program: Program) -> None:
    *_, history = two_exchanges(program)
    edited = program.ask([*history[:2], *program.user("u2b")], "b2")
    program.ask([*history, *program.user("u3")], "a3")
    program.ask([*edited, *program.user("u4")], "b4")
    assert program.relations() == [
        *("extends", "extends", "branches aside", "extends", "extends aside"),
    ]
    assert program.main() == ["u1", "a1", "u2", "a2", "u3", "a3"]


def test_an_edited_result_and_all_after_it_is_a_branch(program: Program) -> None:
    called = program.ask(program.user("u1"), "a1", ["c1"])
    program.ask([*called, *program.results(c1="r1")], "a2")
    edited = program.ask([*called, *program.results(c1="r1 corrected")], "b2")
    assert program.relations()[-1] == "branches aside"
    program.ask([*edited, *program.user("u2")], "a3")
    assert program.main() == ["u1", "a1", "call c1", "c1 gave r1 corrected", "b2", "u2", "a3"]


def test_another_process_makes_an_edit_history(program: Program) -> None:
    _, second, _ = two_exchanges(program)
    edited = program.ask([*second[:-1], *program.user("u2b")], "b2")
    program.recorded.recorder = program.recorded.new_recorder()
    program.ask([*edited, *program.user("u3")], "a3")
    assert program.main() == ["u1", "a1", "u2b", "b2", "u3", "a3"]
    assert program.said() == ["u1", "u2", "u2b", "u3"]


def test_an_edit_whose_answer_was_lost_with_its_process_goes_on(program: Program) -> None:
    _, second, _ = two_exchanges(program)
    edited = [*second[:-1], *program.user("u2b")]
    program.send(edited)
    program.recorded.recorder = program.recorded.new_recorder()
    program.ask([*edited, *program.user("u3")], "a3")
    assert program.main() == ["u1", "a1", "u2b", "u3", "a3"]
    assert program.said() == ["u1", "u2", "u2b", "u3"]


# -- views -------------------------------------------------------------------------------------


def test_a_windowed_list_is_a_view_of_which_only_the_end_is_new(program: Program) -> None:
    *_, history = two_exchanges(program)
    third = program.ask([*history[2:], *program.user("u3")], "a3")
    program.ask([*third[2:], *program.user("u4")], "a4")
    assert program.relations() == ["extends", "extends", "view", "view"]
    assert program.main() == ["u1", "a1", "u2", "a2", "u3", "a3", "u4", "a4"]
    assert program.said() == ["u1", "u2", "u3", "u4"]


def test_a_window_that_keeps_the_first_prompt_is_a_view(program: Program) -> None:
    *_, history = two_exchanges(program)
    program.ask([history[0], *history[2:], *program.user("u3")], "a3")
    assert program.relations()[-1] == "view"
    assert program.said() == ["u1", "u2", "u3"]


def test_a_cleared_result_is_a_view(program: Program) -> None:
    history = program.ask(program.user("u1"), "a1", ["c1"])
    history = program.ask([*history, *program.results(c1="r1")], "a2")
    cleared = [*history[:-1]]
    place = 2 + (program.spelling.api == "openai-responses")
    cleared = [*history[:place], *program.results(c1="[cleared]"), *history[place + 1 :]]
    program.ask([*cleared, *program.user("u2")], "a3")
    assert program.relations()[-1] == "view"
    assert program.said() == ["u1", "c1 gave r1", "u2"]
    assert program.main() == ["u1", "a1", "call c1", "c1 gave r1", "a2", "u2", "a3"]


def test_a_summary_with_a_kept_tail_is_a_view(program: Program) -> None:
    *_, history = two_exchanges(program)
    summary = program.user("Summary: u1, a1.")
    third = program.ask([*summary, *history[2:], *program.user("u3")], "a3")
    assert program.relations()[-1] == "view"
    program.ask([*third, *program.user("u4")], "a4")
    assert program.relations()[-1] == "extends"
    assert program.said() == ["u1", "u2", "u3", "u4"]
    assert program.main() == ["u1", "a1", "u2", "a2", "u3", "a3", "u4", "a4"]


def test_a_summary_that_replaces_all_is_history_once_the_program_goes_on(program: Program) -> None:
    first = program.user("u1")
    program.ask([*program.ask(first, "a1", system="s"), *program.user("u2")], "a2", system="s")
    summary = program.ask(program.user("Summary of it all. u3"), "a3", system="s")
    assert program.relations()[-1] == "view aside"
    assert program.main() == ["u1", "a1", "u2", "a2"]
    program.ask([*summary, *program.user("u4")], "a4", system="s")
    assert program.relations()[-1] == "extends"
    assert program.main() == ["u1", "a1", "u2", "a2", "Summary of it all. u3", "a3", "u4", "a4"]
