"""Programs that keep their own list: calls beside it, interruptions, references and other spellings."""

from __future__ import annotations

import gc
import warnings
from pathlib import Path
from typing import Any

import pytest

from onrecord.adapters.recording.spool import RecordingWarning
from onrecord.domain import events
from onrecord.domain.content import Native
from onrecord.domain.jsontext import JsonObject
from tests.adapters.every_spelling import EVERY
from tests.adapters.recorded_calls import Recorded
from tests.adapters.recording.own_history import (
    Anthropic,
    Chat,
    Program,
    Responses,
    Spelling,
    completion,
    output_message,
    response,
)


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path)


@pytest.fixture(params=EVERY, ids=[spelling.api for spelling in EVERY])
def program(request: pytest.FixtureRequest, recorded: Recorded) -> Program:
    spelling: Spelling = request.param
    return Program(recorded, spelling)


# -- other calls in between ----------------------------------------------------------------------


def test_a_title_generator_with_words_of_its_own_is_unrelated(program: Program) -> None:
    history = program.ask(program.user("u1"), "a1", system="Be brief.")
    titled = program.ask(program.user("Give a title to: u1"), "A title", system="You give titles.")
    program.ask([*history, *program.user("u2")], "a2", system="Be brief.")
    program.ask([*titled, *program.user("Shorter")], "Title", system="You give titles.")
    assert program.relations() == ["extends", "unrelated aside", "extends", "extends aside"]
    assert program.main() == ["u1", "a1", "u2", "a2"]
    assert program.recorded.types().count("instructions.set") == 1


def test_a_title_generator_that_sends_how_it_began_is_a_branch_that_stays_aside(
    program: Program,
) -> None:
    history = program.ask(program.user("u1"), "a1", system="Be brief.")
    program.ask([*history, *program.user("Give it a title")], "A title", system="You give titles.")
    program.ask([*history, *program.user("u2")], "a2", system="Be brief.")
    assert program.relations()[1:] in (["extends", "branches aside"], ["branches aside", "extends"])


def test_an_unrelated_call_that_goes_on_stays_on_its_line(program: Program) -> None:
    history = program.ask(program.user("u1"), "a1")
    other = program.ask(program.user("x1"), "y1", system="other")
    other = program.ask([*other, *program.user("x2")], "y2", system="other")
    program.ask([*other, *program.user("x3")], "y3", system="other")
    program.ask([*history, *program.user("u2")], "a2")
    assert program.main() == ["u1", "a1", "u2", "a2"]
    assert program.relations() == [
        *("extends", "unrelated aside", "extends aside", "extends aside", "extends"),
    ]
    assert program.said() == ["u1", "x1", "x2", "x3", "u2"]


def test_two_agents_that_begin_alike_do_not_fight(program: Program) -> None:
    one = program.ask(program.user("u1"), "a1", system="one")
    other = program.ask(program.user("u1"), "b1", system="other")
    for number in ("2", "3"):
        one = program.ask([*one, *program.user(f"u{number}")], f"a{number}", system="one")
        other = program.ask([*other, *program.user(f"x{number}")], f"b{number}", system="other")
    assert program.main() == ["u1", "a1", "u2", "a2", "u3", "a3"]
    assert program.relations() == [
        *("extends", "branches aside"),
        *("extends", "extends aside", "extends", "extends aside"),
    ]
    assert program.said() == ["u1", "u2", "x2", "u3", "x3"]


# -- retries, and answers that did not come whole -----------------------------------------------


def test_a_list_that_is_sent_again_after_an_error_is_the_same_request(program: Program) -> None:
    history = program.ask(program.user("u1"), "a1")
    history = [*history, *program.user("u2")]
    program.fail(program.send(history))
    program.ask(history, "a2")
    assert program.relations() == ["extends"] * 3
    assert program.main() == ["u1", "a1", "u2", "a2"]
    assert program.said() == ["u1", "u2"]


def test_a_shorter_window_after_an_error_goes_on(program: Program) -> None:
    history = program.ask(program.user("u1"), "a1")
    history = [*program.ask([*history, *program.user("u2")], "a2"), *program.user("u3")]
    program.fail(program.send(history))
    program.ask(history[2:], "a3")
    assert program.relations()[-1] == "view"
    assert program.main() == ["u1", "a1", "u2", "a2", "u3", "a3"]
    assert program.said() == ["u1", "u2", "u3"]


@pytest.mark.parametrize("is_kept", [True, False], ids=["kept", "left out"])
def test_an_answer_that_was_cut_may_be_sent_or_left_out(program: Program, is_kept: bool) -> None:
    history = program.user("u1")
    answer = program.cut(program.send(history), "a1 in p")
    history = [*history, *(answer if is_kept else []), *program.user("u2")]
    program.ask(history, "a2")
    assert program.relations() == ["extends", "extends"]
    assert program.said() == ["u1", "u2"]


def test_an_answer_that_broke_off_is_replaced_when_it_is_asked_for_again(program: Program) -> None:
    history = program.ask(program.user("u1"), "a1")
    asked = [*history, *program.user("u2")]
    program.cut(program.send(asked), "a2 in p")
    history = program.ask(asked, "a2")
    assert program.main() == ["u1", "a1", "u2", "a2"]
    program.ask([*history, *program.user("u3")], "a3")
    assert program.main() == ["u1", "a1", "u2", "a2", "u3", "a3"]
    assert program.said() == ["u1", "u2", "u3"]
    assert program.relations() == ["extends"] * 4


def test_a_request_that_is_out_is_not_repeated_but_sampled(program: Program) -> None:
    begun = program.send(program.user("u1"))
    program.ask(program.user("u1"), "b1")
    program.answer(begun, "a1")
    assert program.relations() == ["extends", "branches aside"]
    assert program.main() == ["u1", "a1"]


def test_an_edit_that_was_recorded_and_never_sent_is_sent_again(program: Program) -> None:
    history = program.ask(program.user("u1"), "a1")
    program.ask([*history, *program.user("u2")], "a2")
    edited = [*history, *program.user("u2b")]
    program.send(edited)
    gc.collect()
    program.ask(edited, "b2")
    assert program.relations()[2:] == ["branches aside", "extends aside"]
    program.ask([*edited, *program.spelling.echo(program.spelling.answer("b2", ()))], "b3")
    assert program.main() == ["u1", "a1", "u2b", "b2", "b3"]
    assert program.said() == ["u1", "u2", "u2b"]


# -- where the program says itself what it goes on from -----------------------------------------


def test_the_program_may_say_which_version_it_goes_on_from(program: Program) -> None:
    history = program.ask(program.user("u1"), "a1")
    version = program.recorded.chat.head().version
    program.ask([*history, *program.user("u2")], "a2")
    program.ask(program.user("something else"), "b2", after=version)
    assert program.main() == ["u1", "a1", "something else", "b2"]
    program.ask([*history, *program.user("u2b")], "c2", after=version)
    assert program.main() == ["u1", "a1", "u2b", "c2"]
    assert program.relations() == ["extends"] * 4


# -- the same, otherwise spelled ---------------------------------------------------------------


@pytest.mark.parametrize("other", EVERY, ids=[spelling.api for spelling in EVERY])
def test_a_list_in_another_apis_spelling_goes_on(program: Program, other: Spelling) -> None:
    history = program.ask(program.user("u1"), "a1", ["c1"])
    program.ask([*history, *program.results(c1="r1")], "a2")
    again = Program(program.recorded, other)
    calls = other.echo(other.answer("a1", ["c1"]))
    said = other.echo(other.answer("a2", ()))
    again.ask([*again.user("u1"), *calls, *again.results(c1="r1"), *said, *again.user("u2")], "a3")
    assert program.relations()[-1] == "extends"
    assert program.said() == ["u1", "c1 gave r1", "u2"]
    assert program.main() == ["u1", "a1", "call c1", "c1 gave r1", "a2", "u2", "a3"]


def test_cache_marks_that_are_added_and_moved_change_nothing(recorded: Recorded) -> None:
    program = Program(recorded, Anthropic())
    mark = {"cache_control": {"type": "ephemeral"}}
    marked = [{"role": "user", "content": [{"type": "text", "text": "u1", **mark}]}]
    history = program.ask(marked, "a1")
    second = [{"role": "user", "content": [{"type": "text", "text": "u2", **mark}]}]
    program.ask([*program.user("u1"), *history[1:], *second], "a2")
    assert program.relations() == ["extends", "extends"]
    assert program.main() == ["u1", "a1", "u2", "a2"]


def test_an_echo_that_lost_keys_goes_on(recorded: Recorded) -> None:
    program = Program(recorded, Chat())
    history = program.user("u1")
    (echo,) = program.answer(program.send(history), "a1", ["c1"])
    lost = {key: echo[key] for key in ("role", "content", "tool_calls")}
    history = [*history, lost, *program.results(c1="r1")]
    (echo,) = program.answer(program.send(history), "a2")
    lost = {"role": "assistant", "content": [{"type": "text", "text": "a2"}]}
    program.ask([*history, lost, *program.user("u2")], "a3")
    assert program.relations() == ["extends"] * 3
    assert program.main() == ["u1", "a1", "call c1", "c1 gave r1", "a2", "u2", "a3"]


def test_items_without_ids_and_status_go_on(recorded: Recorded) -> None:
    program = Program(recorded, Responses())
    history = program.user("u1")
    for text in ("a1", "a2"):
        (echo,) = program.answer(program.send(history), text)
        lost = {key: echo[key] for key in ("type", "role", "content")}
        history = [*history, lost, *program.user("more")]
    program.ask(history, "a3")
    assert program.relations() == ["extends"] * 3
    assert program.main() == ["u1", "a1", "more", "a2", "more", "a3"]


def test_a_forked_conversation_goes_on_from_its_origin(program: Program) -> None:
    history = program.ask(program.user("u1"), "a1")
    fork = program.recorded.chat.fork("fork")
    program.recorded.chat = fork
    program.recorded.recorder = program.recorded.new_recorder()
    history = program.ask([*history, *program.user("u2")], "a2")
    program.ask([*history[:-2], *program.user("u2b")], "b2")
    assert program.relations() == ["extends", "branches aside"]
    assert program.main() == ["u1", "a1", "u2", "a2"]
    assert program.said() == ["u2", "u2b"]


# -- several choices, references, the background -------------------------------------------------


def three_choices(program: Program) -> list[JsonObject]:
    messages: list[JsonObject] = [
        {"role": "assistant", "content": text, "refusal": None} for text in "abc"
    ]
    begun = program.send(program.user("u1"), n=3)
    program.answered(begun, completion(*messages))
    return messages


def test_of_several_choices_the_first_is_history_until_another_is_gone_on_with(
    recorded: Recorded,
) -> None:
    program = Program(recorded, Chat())
    messages = three_choices(program)
    assert program.main() == ["u1", "a"]
    program.ask([*program.user("u1"), messages[1], *program.user("u2")], "a2")
    assert program.main() == ["u1", "b", "u2", "a2"]
    assert program.relations() == ["extends", "extends"]
    assert program.said() == ["u1", "u2"]


def test_the_first_of_several_choices_goes_on(recorded: Recorded) -> None:
    program = Program(recorded, Chat())
    messages = three_choices(program)
    program.recorded.recorder = recorded.new_recorder()
    program.ask([*program.user("u1"), messages[0], *program.user("u2")], "a2")
    assert program.main() == ["u1", "a", "u2", "a2"]
    assert "line.adopted" not in recorded.types()


def held(program: Program, text: str, said: str, **more: Any) -> str:
    """Ask by reference; return the id of the response."""
    answer = response([output_message(text)])
    program.answered(program.send(program.user(said), **more), answer)
    return str(answer["id"])


def test_a_reference_to_the_last_response_goes_on(recorded: Recorded) -> None:
    program = Program(recorded, Responses())
    first = held(program, "a1", "u1")
    second = held(program, "a2", "u2", previous_response_id=first)
    held(program, "a3", "u3", previous_response_id=second)
    assert program.relations() == ["extends", "reference", "reference"]
    assert program.main() == ["u1", "a1", "u2", "a2", "u3", "a3"]
    assert program.said() == ["u1", "u2", "u3"]


def test_a_reference_to_an_older_response_branches(recorded: Recorded) -> None:
    program = Program(recorded, Responses())
    first = held(program, "a1", "u1")
    held(program, "a2", "u2", previous_response_id=first)
    edited = held(program, "b2", "u2b", previous_response_id=first)
    assert program.relations()[-1] == "reference aside"
    assert program.main() == ["u1", "a1", "u2", "a2"]
    held(program, "b3", "u3", previous_response_id=edited)
    assert program.main() == ["u1", "a1", "u2b", "b2", "u3", "b3"]
    assert program.said() == ["u1", "u2", "u2b", "u3"]


def test_a_reference_to_the_last_response_goes_on_whatever_was_asked_in_between(
    recorded: Recorded,
) -> None:
    program = Program(recorded, Responses())
    first = program.spelling.answer("a1", ["c1"])
    program.answered(program.send(program.user("u1"), system="s"), first)
    recorded.chat.tool_result("c1", "r1")
    for number in range(90):
        program.ask(program.user(f"x{number}"), "y", system="You give titles.")
    results = program.results(c1="r1")
    begun = program.send([*results, *program.user("u2")], previous_response_id=first["id"])
    program.answer(begun, "a2")
    assert program.relations()[-1] == "reference"
    assert program.main() == ["u1", "a1", "call c1", "c1 gave r1", "u2", "a2"]


def test_a_reference_that_nobody_knows_begins_here_or_is_unrelated(recorded: Recorded) -> None:
    program = Program(recorded, Responses())
    with pytest.warns(RecordingWarning, match="its history lacks what came before"):
        held(program, "a1", "u1", previous_response_id="resp_elsewhere")
    with warnings.catch_warnings(record=True) as warned:
        held(program, "x1", "y1", previous_response_id="resp_somewhere")
    assert not warned
    assert program.relations() == ["reference", "unrelated aside"]
    assert program.main() == ["u1", "a1"]


def test_a_conversation_of_the_providers_goes_on(recorded: Recorded) -> None:
    program = Program(recorded, Responses())
    for number in ("1", "2"):
        answer = response([output_message(f"a{number}")], conversation={"id": "conv_1"})
        program.answered(program.send(program.user(f"u{number}"), conversation="conv_1"), answer)
    assert program.relations() == ["reference", "reference"]
    assert program.main() == ["u1", "a1", "u2", "a2"]


@pytest.mark.parametrize("process", ["the same", "another"])
def test_an_answer_from_the_background_takes_the_place_of_what_was_there(
    recorded: Recorded, process: str
) -> None:
    program = Program(recorded, Responses())
    begun = program.send(program.user("u1"), background=True)
    queued = response([output_message("a1 in p")], status="in_progress")
    program.answered(begun, queued)
    if process == "another":
        recorded.recorder = recorded.new_recorder()
        found = recorded.recorder.find_response(str(queued["id"]))
        assert found is not None
        assert found.request == begun.request
        begun = found
    output = [output_message("a1 in full")]
    program.answered(begun, {**queued, "status": "completed", "output": output})
    assert program.main() == ["u1", "a1 in full"]
    program.ask([*program.user("u1"), *output, *program.user("u2")], "a2")
    assert program.relations() == ["extends", "extends"]
    assert program.main() == ["u1", "a1 in full", "u2", "a2"]


def test_a_response_that_nobody_recorded_is_not_found(recorded: Recorded) -> None:
    assert recorded.recorder.find_response("resp_elsewhere") is None


# -- nothing is lost -----------------------------------------------------------------------------


def test_what_was_recorded_twice_under_one_id_is_kept_aside(recorded: Recorded) -> None:
    """A server gives all its calls one id: a second result of that id is no result of the first."""
    program = Program(recorded, Chat())
    history = program.user("u1")
    for number in range(3):
        history = program.ask(history, f"a{number}", ["call_0"])
        history = [*history, *program.results(call_0=f"r{number}")]
    program.ask(history, "a3")
    results = [
        event.content.value["content"]
        for event in recorded.events()
        if isinstance(event, events.ToolResultRecorded) and isinstance(event.content, Native)
    ]
    assert results == ["r0", "r1", "r2"]


# -- requests that say nothing -------------------------------------------------------------------


def test_requests_without_a_message_are_recorded_while_one_like_them_is_under_way(
    program: Program,
) -> None:
    first, second = program.send([]), program.send([])
    program.answer(first, "a1")
    program.answer(second, "a2")
    assert program.recorded.types().count("request.sent") == 2
    assert program.recorded.types().count("response.completed") == 2
