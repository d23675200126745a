"""Which model answered, as rows tell it: the answer's own word, else the model that was asked."""

from pathlib import Path

import pytest

from onrecord.projections.history.timeline import timeline
from tests.adapters.every_spelling import EVERY, Bedrock
from tests.adapters.recorded_calls import Recorded
from tests.adapters.recording.own_history import Program, Spelling


def responses(program: Program) -> list[str]:
    told = timeline(program.recorded.chat.events(after=0))
    return [row.text for row in told if row.kind == "response"]


@pytest.mark.parametrize("spelling", EVERY, ids=lambda spelling: spelling.api)
def test_a_response_is_of_the_model_that_was_asked(spelling: Spelling, tmp_path: Path) -> None:
    """Bedrock's answers name none: the request's path does."""
    program = Program(Recorded(tmp_path), spelling)
    program.ask(program.user("u1"), "a1")
    [text] = responses(program)
    assert spelling.api not in text


def test_each_response_is_of_its_own_requests_model(tmp_path: Path) -> None:
    program = Program(Recorded(tmp_path), Bedrock())
    history = program.user("u1")
    for number, model in enumerate(("first", "second")):
        begun = program.send(history, endpoint=f"/model/{model}/converse")
        answer = program.answer(begun, f"a{number}")
        history = [*history, *answer, *program.user("more")]
    assert [text.split(", ")[1] for text in responses(program)] == ["first", "second"]
