"""Summaries that the provider makes: asked for beside the line, and history once a program goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.adapters.recorded_calls import Recorded
from tests.adapters.recording.own_history import Program, Responses, output_message, response


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path)


@pytest.mark.parametrize("kept", ["alone", "with what users said"])
def test_a_summary_of_the_providers_is_history_once_the_program_goes_on(
    recorded: Recorded, kept: str
) -> None:
    """The service gives the users' messages beside it; a program may send them, or it alone."""
    program = Program(recorded, Responses())
    history = program.ask([*program.ask(program.user("u1"), "a1"), *program.user("u2")], "a2")
    summary = {"type": "compaction", "id": "cmp_1", "encrypted_content": "sealed"}
    said = {"type": "message", "id": "msg_1", "role": "user", "status": "completed"}
    prompt = {**said, "content": [{"type": "input_text", "text": "u1"}]}
    output: list[dict[str, Any]] = [summary] if kept == "alone" else [prompt, summary]
    begun = program.send(history, endpoint="/v1/responses/compact")
    program.answered(begun, {**response(output), "object": "response.compaction"})
    assert program.relations()[-1] == "view aside"
    assert program.main() == ["u1", "a1", "u2", "a2"]
    program.ask([summary, *program.user("u3")], "a3")
    assert program.relations()[-1] == "extends"
    assert program.main()[-2:] == ["u3", "a3"]
    assert program.said() == ["u1", "u2", "u3"]


def test_a_summary_of_what_the_provider_holds_changes_nothing_until_it_is_gone_on_from(
    recorded: Recorded,
) -> None:
    program = Program(recorded, Responses())
    answer = response([output_message("a1")])
    program.answered(program.send(program.user("u1"), system="Be brief."), answer)
    summary = {"type": "compaction", "id": "cmp_1", "encrypted_content": "sealed"}
    begun = program.send([], endpoint="/v1/responses/compact", previous_response_id=answer["id"])
    program.answered(begun, response([summary]))
    assert program.relations()[-1] == "reference aside"
    assert recorded.types().count("instructions.set") == 1
    assert program.main() == ["u1", "a1"]
    program.ask([summary, *program.user("u2")], "a2", system="Be brief.")
    assert program.relations()[-1] == "view"
    assert recorded.types().count("instructions.set") == 1
    assert program.main()[-2:] == ["u2", "a2"]
