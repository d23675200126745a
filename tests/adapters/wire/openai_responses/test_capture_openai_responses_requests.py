"""What a request to the Responses API says: each block once, in its own spelling."""

import json
from itertools import count
from typing import Any
from uuid import UUID

import pytest

from onrecord.adapters.wire.openai_responses.wire import WIRE
from onrecord.adapters.wire.requests import WireRequest, instructions_set, tools_declared
from onrecord.domain.content import Native, Text
from onrecord.domain.errors import InvalidContent
from onrecord.domain.events import (
    CompactionRecorded,
    Event,
    InstructionsSet,
    MessageRecorded,
    OpaqueRecorded,
    ReasoningRecorded,
    ServerToolCallRecorded,
    ServerToolResultRecorded,
    ToolCallRecorded,
    ToolResultRecorded,
    ToolsDeclared,
)
from onrecord.domain.request_template import encoded
from tests.openai_responses_wire import JsonObject, call, message, reasoning

API = "openai-responses"
PROMPT: JsonObject = {"role": "user", "content": "Hello"}


def sent(**members: Any) -> WireRequest:
    return WIRE.read_request(json.dumps({"model": "gpt-5.4", **members}).encode())


def said(*items: JsonObject, **members: Any) -> list[Event]:
    asked = sent(input=list(items), **members)
    responses = (UUID(int=number) for number in count(1))
    events, _ = WIRE.request_events(asked, asked.pieces, responses, None)
    return list(events)


def native(value: JsonObject) -> Native:
    return Native(api=API, value=value)


def roles(*items: JsonObject) -> list[str]:
    return [piece.role for piece in sent(input=list(items)).pieces]


def test_a_string_is_one_message_of_the_user() -> None:
    asked = sent(input="Hello")
    assert asked.model == "gpt-5.4"
    assert asked.messages == (PROMPT,)
    [piece] = asked.pieces
    assert piece.block == {"type": "input_text", "text": "Hello"}
    assert piece[:4] == (0, "user", piece.block, encoded("user", piece.block))
    events, _ = WIRE.request_events(asked, asked.pieces, iter(()), None)
    assert events == (MessageRecorded(role="user", content=(Text(text="Hello"),)),)


def test_parts_of_a_message_are_a_block_each() -> None:
    parts = [{"type": "input_text", "text": "Look"}, {"type": "input_image", "file_id": "file_1"}]
    for prompt in ({"role": "user"}, {"type": "message", "role": "user"}):
        [event] = said({**prompt, "content": parts})
        assert event == MessageRecorded(role="user", content=tuple(map(native, parts)))


def test_a_message_with_members_of_its_own_is_one_block() -> None:
    whole = {"id": "msg_1", "type": "message", "role": "user", "status": "completed"}
    item = {**whole, "content": [{"type": "input_text", "text": "Hello"}]}
    assert said(item) == [MessageRecorded(role="user", content=(native(item),))]


def test_instructions_are_a_text_or_the_items_that_lead() -> None:
    rule = {"role": "developer", "content": "Be brief."}
    cases: list[tuple[JsonObject, str | Native]] = [
        ({}, ""),
        ({"instructions": None}, ""),
        ({"instructions": "Be brief."}, "Be brief."),
        ({"input": [rule, PROMPT]}, native({"input": [rule]})),
        (
            {"input": [rule, rule, PROMPT], "instructions": "Be kind."},
            native({"instructions": "Be kind.", "input": [rule, rule]}),
        ),
    ]
    for members, wanted in cases:
        asked = sent(**{"input": [PROMPT], **members})
        events, _ = instructions_set(asked)
        assert events == (InstructionsSet(content=wanted),)
        assert asked.messages == (PROMPT,)


def test_system_messages_amid_the_conversation_are_notes_of_the_operator() -> None:
    rule = {"role": "system", "content": "Be brief."}
    assert said(PROMPT, rule)[1] == MessageRecorded(role="system", content=(native(rule),))
    tools: JsonObject = {"type": "additional_tools", "role": "developer", "tools": []}
    assert roles(PROMPT, message(), tools) == ["user", "assistant", "system"]


def test_what_leads_a_request_that_goes_on_from_a_response_is_amid_the_conversation() -> None:
    rule = {"role": "developer", "content": "Be brief."}
    asked = sent(input=[rule, PROMPT], previous_response_id="resp_1", instructions="Be kind.")
    assert (asked.system, asked.refers_to) == ("Be kind.", "resp_1")
    assert [piece.role for piece in asked.pieces] == ["system", "user"]


@pytest.mark.parametrize("held", ["conv_1", {"id": "conv_1"}])
def test_a_request_names_the_conversation_that_the_provider_holds(held: Any) -> None:
    assert sent(input="Hello", conversation=held).thread == "conv_1"


@pytest.mark.parametrize(
    "held",
    [
        {"previous_response_id": "resp_1"},
        {"conversation": "conv_1"},
        {"prompt": {"id": "pmpt_1", "variables": {"name": "Ada"}}},
        {"previous_response_id": "resp_1", "input": []},
    ],
)
def test_nothing_need_be_said_where_the_provider_holds_something(held: JsonObject) -> None:
    assert sent(**held).pieces == ()


def test_items_of_the_assistant_take_one_response_a_run() -> None:
    easy = {"role": "assistant", "content": "Hello."}
    output = {"type": "function_call_output", "call_id": "call_1", "output": "found"}
    events = said(PROMPT, reasoning(), call(), output, easy, message())
    assert events == [
        MessageRecorded(role="user", content=(Text(text="Hello"),)),
        ReasoningRecorded(response=UUID(int=1), index=0, content=native(reasoning())),
        ToolCallRecorded(
            response=UUID(int=1), index=1, call_id="call_1", name="look_up", content=native(call())
        ),
        ToolResultRecorded(call_id="call_1", content=native(output)),
        MessageRecorded(role="assistant", content=(native(easy),), response=UUID(int=2), index=0),
        MessageRecorded(
            role="assistant", content=(native(message()),), response=UUID(int=2), index=1
        ),
    ]


def test_runs_on_both_sides_of_what_is_known_are_two() -> None:
    asked = sent(input=[message("a"), PROMPT, message("b")])
    new = [piece for piece in asked.pieces if piece.role == "assistant"]
    events, _ = WIRE.request_events(asked, new, (UUID(int=number) for number in count(1)), None)
    assert [getattr(event, "response", None) for event in events] == [UUID(int=1), UUID(int=2)]


@pytest.mark.parametrize(
    ("item", "call_id"),
    [
        ({"type": "function_call_output", "call_id": "c", "output": ""}, "c"),
        ({"type": "custom_tool_call_output", "call_id": "c", "output": ""}, "c"),
        ({"type": "computer_call_output", "call_id": "c", "output": {}}, "c"),
        ({"type": "local_shell_call_output", "id": "c", "output": ""}, "c"),
        ({"type": "shell_call_output", "call_id": "c", "output": []}, "c"),
        ({"type": "apply_patch_call_output", "call_id": "c", "status": "completed"}, "c"),
        ({"type": "tool_search_output", "call_id": "c", "execution": "client", "tools": []}, "c"),
        ({"type": "mcp_approval_response", "approval_request_id": "c", "approve": True}, "c"),
        ({"type": "hologram_call_output", "call_id": "c"}, "c"),
    ],
)
def test_what_a_tool_gave_is_the_result_of_its_call(item: JsonObject, call_id: str) -> None:
    for position in ([], [message()]):
        event = said(*position, item)[-1]
        assert event == ToolResultRecorded(call_id=call_id, content=native(item))


@pytest.mark.parametrize(
    "item",
    [
        {"type": "function_call_output", "call_id": "c", "output": "", "status": "incomplete"},
        {"type": "apply_patch_call_output", "call_id": "c", "status": "failed"},
        {"type": "mcp_approval_response", "approval_request_id": "c", "approve": False},
    ],
)
def test_a_result_that_says_that_it_failed_is_an_error(item: JsonObject) -> None:
    [event] = said(item)
    assert event == ToolResultRecorded(call_id="c", content=native(item), is_error=True)


def test_what_the_provider_ran_is_given_back_as_its_own() -> None:
    shell = {
        "type": "shell_call",
        "call_id": "call_s",
        "action": {"commands": ["ls"]},
        "environment": {"type": "container_reference", "container_id": "cntr_1"},
    }
    printed: JsonObject = {"type": "shell_call_output", "call_id": "call_s", "output": []}
    search = {"type": "tool_search_call", "id": "tsc_1", "call_id": None, "execution": "server"}
    found = {"type": "tool_search_output", "id": "tso_1", "call_id": None, "execution": "server"}
    events = said(shell, printed, search, found)
    assert [type(event) for event in events] == [
        ServerToolCallRecorded,
        ServerToolResultRecorded,
        ServerToolCallRecorded,
        ServerToolResultRecorded,
    ]
    local = {**shell, "environment": {"type": "local"}}
    assert [type(event) for event in said(local, printed)] == [ToolCallRecorded, ToolResultRecorded]


def test_what_is_not_known_is_said_by_who_spoke_before() -> None:
    strange = {"type": "hologram", "scene": 1}
    trigger = {"type": "compaction_trigger"}
    assert roles(strange, PROMPT, strange, message(), strange, trigger) == [
        "user",
        "user",
        "user",
        "assistant",
        "assistant",
        "assistant",
    ]
    assert isinstance(said(message(), strange)[1], OpaqueRecorded)
    assert said(strange) == [MessageRecorded(role="user", content=(native(strange),))]


def test_a_reference_and_a_compaction_are_the_assistants() -> None:
    reference = {"type": "item_reference", "id": "rs_1"}
    summary = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAAA"}
    assert [type(event) for event in said(summary, reference)] == [
        CompactionRecorded,
        OpaqueRecorded,
    ]


def test_a_call_without_an_id_is_opaque() -> None:
    assert isinstance(said(call(call_id=None))[0], OpaqueRecorded)


def test_tools_are_kept_as_they_were_spelled() -> None:
    definitions: list[JsonObject] = [
        {"type": "function", "name": "look_up", "parameters": {}, "strict": None},
        {"type": "web_search"},
    ]
    events, _ = tools_declared(sent(input="Hello", tools=definitions))
    assert events == (ToolsDeclared(tools=tuple(native(tool) for tool in definitions)),)
    assert tools_declared(sent(input="Hello"))[0] == (ToolsDeclared(tools=()),)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"input": None},
        {"input": 5},
        {"input": ["text"]},
        {"input": [{"role": "user", "content": 5}]},
        {"input": [{"role": "user", "content": ["text"]}]},
        {"input": "Hello", "instructions": ["Be brief."]},
        {"input": "Hello", "tools": "web_search"},
    ],
)
def test_what_is_no_request_is_refused_by_name(body: JsonObject) -> None:
    with pytest.raises(InvalidContent):
        WIRE.read_request(json.dumps(body).encode())
