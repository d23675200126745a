"""The measures of what only computes work, at their smallest, and on what they say they measure."""

from pathlib import Path

import pytest

import onrecord
from onrecord.domain import jsontext
from onrecord.domain.events import RequestSent
from onrecord.domain.request_template import SharedSpan
from onrecord.projections.apis.request import Options, render
from tests.bench import capturing, own_lists, rendering
from tests.bench.history import history
from tests.bench.own_lists import Program
from tests.bench.payload import API as ANTHROPIC
from tests.bench.reasoning import reasoned_history
from tests.bench.spellings import BEDROCK, CHAT, GEMINI, OLLAMA, RESPONSES

OTHERS = (CHAT, RESPONSES, BEDROCK, GEMINI, OLLAMA)
APIS = (ANTHROPIC, *OTHERS)
LISTED = (ANTHROPIC, CHAT, RESPONSES)


@pytest.mark.parametrize("made", [history, reasoned_history])
@pytest.mark.parametrize("api", APIS)
def test_nothing_of_a_measured_conversation_is_left_out(api: str, made: rendering.Made) -> None:
    request = render(made(api, 10), Options(api=api))
    left_out = {note.rule for note in request.report.notes if note.deed == "left out"}
    assert left_out <= {"C7"}  # Members of completions that say nothing.


@pytest.mark.parametrize(
    ("api", "member"),
    [
        (ANTHROPIC, b'"signature":'),
        (CHAT, b'"reasoning_content":'),
        (RESPONSES, b'"encrypted_'),
        (BEDROCK, b'"signature":'),
        (GEMINI, b'"thought":'),
        (OLLAMA, b'"thinking":'),
    ],
)
def test_all_measured_reasoning_goes_back(api: str, member: bytes) -> None:
    body = jsontext.write(dict(render(reasoned_history(api, 10), Options(api=api)).body))
    assert body.count(member) == 5


@pytest.mark.parametrize("api", OTHERS)
def test_rendering_for_an_api_is_held_against_anthropic(api: str) -> None:
    line = rendering.measure_beside(api, 10, history, "rendering").line()
    assert (line["ours"]["what"], line["peer"]["what"]) == (api, ANTHROPIC)


@pytest.mark.parametrize("api", APIS)
def test_a_measured_stream_is_captured_whole(api: str) -> None:
    assert capturing.measure(api, 20).line()["ours"]["median"] > 0


@pytest.mark.parametrize("api", LISTED)
def test_a_measured_request_extends_what_its_program_said_before(api: str, tmp_path: Path) -> None:
    with onrecord.connect(f"sqlite:///{tmp_path / 'talks.db'}") as store:
        program = Program(api, store, 10)
        for _ in range(2):
            program.go_on()
            program.send()
        events = [recorded.event() for recorded in program.chat.log.read()]
    first, *others = [event for event in events if isinstance(event, RequestSent)]
    assert [event.relation for event in others] == ["extends"] * 2
    assert [event.blocks for event in others] == [first.blocks + 2, first.blocks + 4]
    assert all(isinstance(event.template.spans[0], SharedSpan) for event in others)


@pytest.mark.parametrize("api", LISTED)
def test_each_length_of_a_list_has_its_line(api: str) -> None:
    lines = [measure.line() for measure in own_lists.measures(api, (10, 20))]
    names = [f"own_lists.{api}.{which}" for which in ("10", "20", "linear")]
    assert [line["name"] for line in lines] == names
