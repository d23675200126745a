"""Where a body goes on amid a turn, more than its tail is read: what follows is of what was before."""

from __future__ import annotations

from pathlib import Path

import pytest

from onrecord.adapters.wire.wires import WIRES
from onrecord.domain import jsontext
from onrecord.domain.events import ToolCallRecorded, ToolResultRecorded
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.matching.units import digest_of
from tests.adapters.every_spelling import Gemini, Ollama, candidate
from tests.adapters.recorded_calls import Recorded
from tests.adapters.recording.own_history import Chat, List, Program, Spelling, completion

NAMELESS: list[Spelling] = [Gemini(), Ollama(), Chat()]
"""The APIs whose calls may have no id."""


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path)


def calling(spelling: Spelling, *of: str) -> JsonObject:
    """An answer that calls a tool, without ids."""
    if spelling.api == "gemini":
        return candidate([{"functionCall": {"name": "look", "args": {"of": it}}} for it in of])
    calls: List = [{"function": {"name": "look", "arguments": {"of": it}}} for it in of]
    if spelling.api == "openai-chat":
        calls = [{"function": {"name": "look", "arguments": f'{{"of":"{it}"}}'}} for it in of]
        return completion({"role": "assistant", "content": None, "tool_calls": calls})
    return {
        "model": "m",
        "message": {"role": "assistant", "content": "", "tool_calls": calls},
        "done": True,
    }


def gave(spelling: Spelling, text: str) -> JsonObject:
    """A result that says no more than which tool it is of."""
    if spelling.api == "gemini":
        part = {"functionResponse": {"name": "look", "response": {"result": text}}}
        return {"role": "user", "parts": [part]}
    if spelling.api == "openai-chat":
        return {"role": "tool", "content": text}
    return {"role": "tool", "tool_name": "look", "content": text}


def assert_read_whole(program: Program, *histories: List) -> None:
    """Assert that each request is known by all that it says."""
    read = WIRES[program.spelling.api].read_request
    wholes = [read(jsontext.write(program.spelling.body(history))) for history in histories]
    sent = program.recorded.requests()[-len(wholes) :]
    assert [(it.blocks, it.history) for it in sent] == [
        (len(whole.pieces), digest_of(whole.pieces)) for whole in wholes
    ]


@pytest.mark.parametrize("spelling", NAMELESS, ids=lambda spelling: spelling.api)
def test_a_result_whose_call_the_body_before_had_is_a_result(
    recorded: Recorded, spelling: Spelling
) -> None:
    program = Program(recorded, spelling)
    asked = program.user("u1")
    called = program.answered(program.send(asked), calling(spelling, "a", "b"))
    first = [*asked, *called, gave(spelling, "found a")]
    program.fail(program.send(first))
    both = [*first, gave(spelling, "found b")]
    program.answer(program.send(both), "a1")
    events = recorded.events()
    made = [event.call_id for event in events if isinstance(event, ToolCallRecorded)]
    given = [event.call_id for event in events if isinstance(event, ToolResultRecorded)]
    assert len(set(made)) == 2
    assert given == made
    assert program.relations() == ["extends"] * 3
    assert_read_whole(program, asked, first, both)


def test_what_goes_on_with_what_the_model_said_is_joined_to_the_body_before(
    recorded: Recorded,
) -> None:
    """A program may begin the answer itself: Gemini goes on with it."""
    program = Program(recorded, Gemini())
    begun = [*program.user("u1"), {"role": "model", "parts": [{"text": "It "}]}]
    answered = program.ask(begun, "rains.")
    asked = [*answered, *program.user("u2")]
    program.ask(asked, "a2")
    assert_read_whole(program, begun, asked)
