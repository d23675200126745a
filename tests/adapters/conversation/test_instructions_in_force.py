"""Instructions in every spelling: unchanged, they are recorded once; changed, they are there anew."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from onrecord.domain.jsontext import JsonObject
from tests.adapters.recorded_calls import Recorded
from tests.adapters.recording.own_history import Chat, List, Program, Responses, Spelling

Instructing = Callable[[str], tuple[List, JsonObject]]
"""Gives what leads the messages, and what stands beside them, from what it is to say."""


def one_developer(text: str) -> tuple[List, JsonObject]:
    return [{"role": "developer", "content": text}], {}


def several(text: str) -> tuple[List, JsonObject]:
    return [{"role": "system", "content": "Be kind."}, {"role": "developer", "content": text}], {}


def named(text: str) -> tuple[List, JsonObject]:
    return [{"role": "system", "content": text, "name": "house"}], {}


def of_parts(text: str) -> tuple[List, JsonObject]:
    parts = [{"type": "input_text", "text": text}, {"type": "input_text", "text": "Be kind."}]
    return [{"role": "developer", "content": parts}], {}


def beside_items(text: str) -> tuple[List, JsonObject]:
    return [{"role": "developer", "content": "Be kind."}], {"instructions": text}


def text_alone(text: str) -> tuple[List, JsonObject]:
    return [], {"instructions": text}


SPELLED: list[tuple[Spelling, Instructing]] = [
    *((Chat(), instructing) for instructing in (one_developer, several, named)),
    *((Responses(), one) for one in (one_developer, several, of_parts, beside_items, text_alone)),
]


@pytest.fixture(params=SPELLED, ids=lambda it: f"{it[0].api}-{it[1].__name__}")
def spelled(request: pytest.FixtureRequest) -> tuple[Spelling, Instructing]:
    found: tuple[Spelling, Instructing] = request.param
    return found


class Instructed:
    """A program whose requests begin with instructions."""

    def __init__(self, folder: Path, spelling: Spelling, instructing: Instructing) -> None:
        self.program = Program(Recorded(folder), spelling)
        self.instructing = instructing
        self.history: List = []

    def ask(self, prompt: str, told: str) -> None:
        leading, beside = self.instructing(told)
        said = [*self.history, *self.program.user(prompt)]
        begun = self.program.send([*leading, *said], **beside)
        self.history = [*said, *self.program.answer(begun, f"to {prompt}")]

    def set(self) -> int:
        return self.program.recorded.types().count("instructions.set")

    def prefixes(self) -> list[str | None]:
        return [sent.prefix for sent in self.program.recorded.requests()]


@pytest.fixture
def instructed(tmp_path: Path, spelled: tuple[Spelling, Instructing]) -> Instructed:
    return Instructed(tmp_path, *spelled)


def test_unchanged_instructions_are_recorded_once(instructed: Instructed) -> None:
    for prompt in ("u1", "u2", "u3"):
        instructed.ask(prompt, "Be brief.")
    assert instructed.set() == 1
    assert instructed.program.relations() == ["extends"] * 3


def test_another_process_knows_unchanged_instructions(instructed: Instructed) -> None:
    instructed.ask("u1", "Be brief.")
    instructed.program.recorded.recorder = instructed.program.recorded.new_recorder()
    instructed.ask("u2", "Be brief.")
    assert instructed.set() == 1


def test_changed_instructions_are_recorded_anew(instructed: Instructed) -> None:
    for prompt, told in (("u1", "Be brief."), ("u2", "Be exact."), ("u3", "Be brief.")):
        instructed.ask(prompt, told)
    assert instructed.set() == 3
    assert instructed.program.relations() == ["extends"] * 3
    assert instructed.program.said() == ["u1", "u2", "u3"]


def test_an_answer_is_bound_to_what_its_instructions_say(
    tmp_path: Path, spelled: tuple[Spelling, Instructing]
) -> None:
    prefixes: list[str | None] = []
    for told in ("Be brief.", "Be exact.", "Be brief."):
        instructed = Instructed(tmp_path / str(len(prefixes)), *spelled)
        instructed.ask("u1", told)
        prefixes += instructed.prefixes()
    assert prefixes[0] == prefixes[2] != prefixes[1]
    assert None not in prefixes
