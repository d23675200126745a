"""The events that record a completion: their kinds, their order, how a response closes."""

import json
from typing import Any
from uuid import UUID

import pytest

from onrecord.adapters.wire.blocks import UnnamedCalls
from onrecord.adapters.wire.openai_chat.answers import read_body
from onrecord.domain.events import (
    MessageRecorded,
    OpaqueRecorded,
    ReasoningRecorded,
    ResponseCompleted,
    ResponseInterrupted,
    ToolCallRecorded,
)
from tests.adapters.wire.attempts import JSON, attempted
from tests.openai_chat_wire import JsonObject, call, choice, completion, message
from tests.sent import events_of

RESPONSE = UUID(int=1)


def recorded(*choices: JsonObject, **more: Any) -> list[Any]:
    answer = read_body(json.dumps(completion(*choices, **more)).encode())
    return list(events_of(answer, response=RESPONSE)[0])


def test_reasoning_message_and_calls_come_in_this_order() -> None:
    told = message("Looking.", reasoning="Hm.", tool_calls=[call(1), call(2, "find")])
    events = recorded(choice(told, stop="tool_calls"))
    assert [type(event) for event in events] == [
        ReasoningRecorded,
        MessageRecorded,
        ToolCallRecorded,
        ToolCallRecorded,
        ResponseCompleted,
    ]
    assert [event.index for event in events[:4]] == [0, 1, 2, 3]
    assert [(event.call_id, event.name) for event in events[2:4]] == [
        ("call_1", "look"),
        ("call_2", "find"),
    ]
    assert {event.awaited for event in events[2:4]} == {True}


def test_the_response_closes_with_its_envelope() -> None:
    *_, closing = recorded(choice(message()), system_fingerprint="fp_1", service_tier=None)
    assert isinstance(closing, ResponseCompleted)
    assert (closing.provider_id, closing.model, closing.stop_reason) == (
        "chatcmpl-1",
        "gpt-5",
        "stop",
    )
    assert (closing.input_tokens, closing.output_tokens) == (11, 22)
    assert closing.envelope["choices"] == [{"index": 0, "logprobs": None, "finish_reason": "stop"}]
    assert (closing.envelope["system_fingerprint"], closing.envelope["service_tier"]) == (
        "fp_1",
        None,
    )


@pytest.mark.parametrize("stop", ["length", "content_filter"])
def test_calls_of_an_answer_that_was_stopped_await_nothing(stop: str) -> None:
    _, made, closing = recorded(choice(message(None, tool_calls=[call(1)]), stop=stop))
    assert isinstance(closing, ResponseCompleted)
    assert not made.awaited


def test_a_server_that_says_stop_awaits_its_calls_all_the_same() -> None:
    _, made, _ = recorded(choice(message(None, tool_calls=[call(1)]), stop="stop"))
    assert (made.call_id, made.awaited) == ("call_1", True)


@pytest.mark.parametrize(
    ("block", "kind"),
    [
        ({"type": "function", "function": {"name": "", "arguments": "{}"}}, "function"),
        ({"id": 7, "type": "custom", "custom": {"name": "sh", "input": ""}}, "custom"),
        ({"id": "call_1", "type": "function"}, "function"),
        ({"id": "call_1", "type": "hologram", "hologram": {}}, "hologram"),
        ({"id": "call_1", "function": {"name": 7}}, "function"),
    ],
)
def test_a_call_whose_result_nobody_could_give_is_opaque(block: JsonObject, kind: str) -> None:
    _, made, _ = recorded(choice(message(None, tool_calls=[block]), stop="tool_calls"))
    assert isinstance(made, OpaqueRecorded)
    assert (made.type, made.content.value) == (kind, block)


@pytest.mark.parametrize("own", [{"id": ""}, {"id": None}, {}], ids=["empty", "null", "absent"])
@pytest.mark.parametrize(
    ("block", "name", "asks"),
    [
        ({"function": {"name": "look", "arguments": ' {"a": 1}'}}, "look", {"a": 1}),
        ({"function": {"name": "look", "arguments": "{"}}, "look", "{"),
        ({"type": "custom", "custom": {"name": "sh", "input": "ls"}}, "sh", "ls"),
    ],
)
def test_a_call_without_an_id_is_a_call_under_one_that_is_made(
    own: JsonObject, block: JsonObject, name: str, asks: object
) -> None:
    call = {**own, **block}
    _, made, again, _ = recorded(choice(message(None, tool_calls=[call, call]), stop="tool_calls"))
    first = UnnamedCalls().call(name, asks)
    assert [made.call_id, again.call_id] == [first, f"{first}-2"]
    assert (made.name, made.awaited, made.content.value) == (name, True, call)


def test_a_custom_call_is_a_call() -> None:
    block = {"id": "call_1", "type": "custom", "custom": {"name": "sh", "input": "ls"}}
    _, made, _ = recorded(choice(message(None, tool_calls=[block]), stop="tool_calls"))
    assert (made.call_id, made.name, made.content.value) == ("call_1", "sh", block)


def test_an_alternative_is_on_a_line_of_its_own() -> None:
    events = recorded(
        choice(message("a")), choice(message("b"), index=1), choice(message("c"), index=2)
    )
    assert [type(event) for event in events] == [MessageRecorded, ResponseCompleted] * 3
    assert [event.line is None for event in events] == [True, True] + [False] * 4
    assert len({event.response for event in events}) == 3
    assert len({event.line for event in events}) == 3
    assert events[3].envelope == {}


def test_an_error_under_status_200_is_no_answer() -> None:
    body = json.dumps({"error": {"code": 429, "message": "slow down"}}).encode()
    closed = attempted("openai-chat", [body], JSON)
    (closing,) = closed.events
    assert isinstance(closing, ResponseInterrupted)
    assert (closing.reason, closing.error) == ("error", {"code": 429, "message": "slow down"})
    assert closed.raw == body


def test_a_refusal_is_what_was_said() -> None:
    (said, _) = recorded(choice(message(None, refusal="I cannot.", annotations=[])))
    assert said.content[0].value == message(None, refusal="I cannot.", annotations=[])


def test_a_blank_call_of_the_old_spelling_does_not_break_an_answer_off() -> None:
    blank = {"name": "", "arguments": ""}
    said, closing = recorded(choice(message("a", function_call=blank), stop=""))
    assert isinstance(closing, ResponseCompleted)
    assert said.content[0].value == message("a", function_call=blank)
