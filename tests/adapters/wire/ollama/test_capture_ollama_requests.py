"""Requests to Ollama, read from their bodies: what they say, block by block and as events."""

import json
from typing import Any
from uuid import UUID

import pytest

from onrecord.adapters.wire.ollama.wire import WIRE
from onrecord.adapters.wire.requests import WireRequest, instructions_set, tools_declared
from onrecord.domain.content import Native, Text
from onrecord.domain.errors import InvalidContent
from onrecord.domain.events import (
    Event,
    InstructionsSet,
    MessageRecorded,
    ReasoningRecorded,
    ToolCallRecorded,
    ToolResultRecorded,
    ToolsDeclared,
)
from tests.ollama_wire import JsonObject, call

HELLO: JsonObject = {"role": "user", "content": "Hello"}
ASKED: JsonObject = {"role": "assistant", "content": "", "tool_calls": [call("f", a=1), call("g")]}


def sent(*messages: JsonObject, **more: Any) -> WireRequest:
    body = {"model": "qwen3", "messages": list(messages), **more}
    return WIRE.read_request(json.dumps(body).encode())


def said(*messages: JsonObject) -> tuple[Event, ...]:
    asked = sent(*messages)
    ids = iter([UUID(int=1), UUID(int=2)])
    return WIRE.request_events(asked, asked.pieces, ids, None)[0]


def test_a_request_names_its_model() -> None:
    assert sent(HELLO).model == "qwen3"


def test_a_plain_prompt_is_a_text_and_one_with_pictures_is_kept_whole() -> None:
    shown = {**HELLO, "images": ["iVBORw0KGgo="]}
    assert said(HELLO, shown) == (
        MessageRecorded(role="user", content=(Text(text="Hello"),)),
        MessageRecorded(role="user", content=(Native(api="ollama", value=shown),)),
    )


def test_the_systems_leading_messages_are_the_instructions() -> None:
    system = {"role": "system", "content": "Be brief."}
    assert instructions_set(sent(system, HELLO))[0] == (InstructionsSet(content="Be brief."),)
    [event] = instructions_set(sent(system, system, HELLO))[0]
    native = Native(api="ollama", value={"messages": [system, system]})
    assert event == InstructionsSet(content=native)
    [note] = said(HELLO, system)[1:]
    assert isinstance(note, MessageRecorded) and note.role == "system"


def test_results_that_name_no_call_are_of_the_first_open_one_of_their_tool() -> None:
    results = [{"role": "tool", "tool_name": name, "content": name} for name in ("g", "f")]
    found = said(HELLO, ASKED, *results)
    called = [event for event in found if isinstance(event, ToolCallRecorded)]
    given = [event for event in found if isinstance(event, ToolResultRecorded)]
    assert [event.call_id for event in given] == [called[1].call_id, called[0].call_id]


def test_two_calls_of_one_tool_are_answered_in_order() -> None:
    asked = {**ASKED, "tool_calls": [call("f", a=1), call("f", a=2)]}
    result = {"role": "tool", "tool_name": "f", "content": "r"}
    found = said(HELLO, asked, result, result)
    called = [event.call_id for event in found if isinstance(event, ToolCallRecorded)]
    assert called == [event.call_id for event in found if isinstance(event, ToolResultRecorded)]


def test_a_result_names_its_call_where_the_server_gave_it_an_id() -> None:
    asked = {**ASKED, "tool_calls": [call("f", "call_1")]}
    found = said(HELLO, asked, {"role": "tool", "tool_call_id": "call_1", "content": "r"})
    assert isinstance(found[-1], ToolResultRecorded)
    assert found[-1].call_id == "call_1"


@pytest.mark.parametrize("named", [{}, {"tool_name": ""}, {"tool_name": None}])
def test_a_result_that_names_nothing_is_of_the_first_call_that_has_none(named: JsonObject) -> None:
    nameless = {"role": "tool", "content": "r", **named}
    last = {"role": "tool", "tool_name": "f", "content": "r"}
    found = said(HELLO, {**ASKED, "tool_calls": [call("g"), call("f"), call("g")]}, *[nameless] * 2)
    called = [event.call_id for event in found if isinstance(event, ToolCallRecorded)]
    given = [event.call_id for event in found if isinstance(event, ToolResultRecorded)]
    assert given == called[:2]
    found = said(HELLO, ASKED, last, nameless, nameless)
    given = [event.call_id for event in found if isinstance(event, ToolResultRecorded)]
    assert [call_id.partition("-")[0] for call_id in given] == ["f", "g"]
    assert isinstance(found[-1], MessageRecorded) and found[-1].role == "user"


def test_a_result_of_no_known_call_is_the_users_word() -> None:
    [event] = said({"role": "tool", "tool_name": "f", "content": "r"})
    assert isinstance(event, MessageRecorded) and event.role == "user"


def test_thinking_that_a_program_sends_back_is_reasoning() -> None:
    found = said(HELLO, {"role": "assistant", "content": "a", "thinking": "hm"})
    assert [type(event) for event in found[1:]] == [ReasoningRecorded, MessageRecorded]


def test_tools_are_kept_as_they_were_spelled() -> None:
    tool: JsonObject = {"type": "function", "function": {"name": "f"}, "odd": None}
    assert tools_declared(sent(HELLO, tools=[tool]))[0] == (
        ToolsDeclared(tools=(Native(api="ollama", value=tool),)),
    )


@pytest.mark.parametrize(
    "body", [{"messages": {}}, {"messages": ["a"]}, {"messages": [{"content": "a"}]}, {"tools": 7}]
)
def test_what_is_no_request_is_refused(body: JsonObject) -> None:
    with pytest.raises(InvalidContent):
        WIRE.read_request(json.dumps(body).encode())
