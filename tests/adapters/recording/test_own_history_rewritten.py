"""Programs that rewrite what they said once it is answered: what the model said tells where they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from onrecord.domain.jsontext import JsonObject
from tests.adapters.every_spelling import EVERY
from tests.adapters.recorded_calls import Recorded
from tests.adapters.recording.own_history import Program, Spelling

REFUSED = "I am sorry, but I cannot help with that."


@pytest.fixture(params=EVERY, ids=[spelling.api for spelling in EVERY])
def program(request: pytest.FixtureRequest, tmp_path: Path) -> Program:
    spelling: Spelling = request.param
    return Program(Recorded(tmp_path), spelling)


def parts(program: Program, *texts: str) -> list[JsonObject]:
    kind = "input_text" if program.spelling.api == "openai-responses" else "text"
    if program.spelling.api == "gemini":
        return [{"role": "user", "parts": [{"text": text} for text in texts]}]
    return [{"role": "user", "content": [{"type": kind, "text": text} for text in texts]}]


@pytest.mark.parametrize("length", [4, 2], ids=["long answers", "short answers"])
def test_what_was_found_for_a_prompt_may_be_taken_out_of_it_again(
    program: Program, length: int
) -> None:
    more = {} if length == 4 else {"system": "s"}
    history: list[JsonObject] = []
    expected: list[str] = []
    for number in range(4):
        prompt, answer = f"Found: {number}\n\nu{number}", " ".join([f"answer {number}"] * length)
        sent = [*history, *program.user(prompt)]
        came = program.ask(sent, answer, **more)[len(sent) :]
        history = [*history, *program.user(f"u{number}"), *came]
        expected += [prompt, answer]
    assert program.relations() == ["extends", "view", "view", "view"]
    assert program.main() == expected


def test_a_reminder_behind_the_last_prompt_may_move_on(program: Program) -> None:
    if program.spelling.api == "ollama":
        pytest.skip("a message of Ollama's is one text: a reminder in it is a prompt rewritten")
    history: list[JsonObject] = []
    for number in range(4):
        sent = [*history, *parts(program, f"u{number}", "Remember the rules.")]
        came = program.ask(sent, f"The rules say this about {number}.")[len(sent) :]
        history = [*history, *parts(program, f"u{number}"), *came]
    assert program.relations() == ["extends", "view", "view", "view"]
    assert [text for text in program.main() if text.startswith("u")] == ["u0", "u1", "u2", "u3"]


def test_an_answer_that_was_given_twice_does_not_keep_an_edit_from_branching(
    program: Program,
) -> None:
    history = program.ask(program.user("u1"), REFUSED)
    program.ask([*history, *program.user("u2")], REFUSED)
    edited = program.ask([*history, *program.user("u2, please")], "a2")
    assert program.relations()[-1] == "branches aside"
    program.ask([*edited, *program.user("u3")], "a3")
    assert program.main() == ["u1", REFUSED, "u2, please", "a2", "u3", "a3"]


def test_short_answers_tell_where_a_program_is_when_there_are_two(program: Program) -> None:
    history: list[JsonObject] = []
    for number in range(4):
        sent = [*history, *program.user(f"Found: {number}\n\nu{number}")]
        came = program.ask(sent, f"a{number}")[len(sent) :]
        history = [*history, *program.user(f"u{number}"), *came]
    assert program.main()[1::2] == ["a0", "a1", "a2", "a3"]
    assert len(program.said()) == 4
