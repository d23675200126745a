"""From a model to a conversation and back: tools declared, a call made, a process's results taken."""

from pathlib import Path

import pytest

import onrecord
from onrecord.adapters.bpmn.gateways import Activation
from onrecord.adapters.bpmn.process_tools import tools_of
from onrecord.adapters.conversation.ingest import inputs_of
from onrecord.domain.content import ToolCall
from onrecord.domain.events import (
    SignalReceived,
    ToolCallRecorded,
    ToolResultRecorded,
    ToolsDeclared,
)
from onrecord.projections.api import FOLDERS

DESK = Path(__file__).parent / "parcel_desk.bpmn"


@pytest.fixture
def chat() -> onrecord.Conversation:
    chat = onrecord.connect("memory://").conversation("support/4711")
    resolved = tools_of(DESK)
    chat.tools.declare(resolved.tools, sources=[resolved.source])
    chat.user("Where is NW-20931?")
    return chat


def events(chat: onrecord.Conversation) -> list[object]:
    return [recorded.event() for recorded in chat.events(after=0)]


def test_the_record_says_which_state_of_which_model_declared_the_tools(
    chat: onrecord.Conversation,
) -> None:
    (declared,) = [event for event in events(chat) if isinstance(event, ToolsDeclared)]
    assert declared.sources == (tools_of(DESK).source,)
    assert [getattr(tool, "name", None) for tool in declared.tools] == list(
        declared.sources[0].tools
    )


@pytest.mark.parametrize("api", FOLDERS)
def test_each_api_is_told_of_the_tools(chat: onrecord.Conversation, api: str) -> None:
    told = str(dict(chat.request(api)))
    for name in ("Track", "Today", "Complain", "Call_Courier", "Reprint", "NW-20931"):
        assert name in told


def test_what_a_process_gives_back_is_recorded_as_results_and_signals(
    chat: onrecord.Conversation,
) -> None:
    call = ToolCall(id="toolu_01", name="Track", arguments={"number": "NW-20931"})
    chat.log.append(ToolCallRecorded(call_id=call.id, name=call.name, content=call))
    started = Activation(call.id, call.name, call.arguments).variable()
    meta = started.pop("_meta")
    assert started == {"number": "NW-20931"}

    rain = {"id": None, "name": "Weather", "content": "Rain"}
    assert chat.ingest(inputs_of([rain, {**meta, "content": {"place": "North"}}])) == "ready"
    (result,) = [event for event in events(chat) if isinstance(event, ToolResultRecorded)]
    assert (result.call_id, "North" in str(result.content)) == ("toolu_01", True)
    (signal,) = [event for event in events(chat) if isinstance(event, SignalReceived)]
    assert (signal.name, "Rain" in str(signal.content)) == ("Weather", True)
