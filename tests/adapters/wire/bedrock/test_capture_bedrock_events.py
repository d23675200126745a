"""Which event each block of a Converse answer becomes, and what closes it."""

import json
from uuid import UUID

import pytest

from onrecord.adapters.wire.bedrock.stream import read_body
from onrecord.adapters.wire.blocks import Recording
from onrecord.domain.content import Native
from onrecord.domain.events import (
    Event,
    MessageRecorded,
    OpaqueRecorded,
    ReasoningRecorded,
    ResponseCompleted,
    ResponseInterrupted,
    ServerToolCallRecorded,
    ServerToolResultRecorded,
    ToolCallRecorded,
)
from tests.adapters.wire.bedrock.bedrock_streams import fed
from tests.bedrock_wire import METRICS, USAGE, JsonObject, body, call, exception, text, thought
from tests.sent import events_of

API = "bedrock-converse"
RESPONSE, REQUEST = UUID(int=1), UUID(int=2)


def recorded(said: JsonObject) -> Recording:
    answer = read_body(json.dumps(said).encode())
    return events_of(answer, response=RESPONSE, request=REQUEST)


def event_of(block: JsonObject, stop: str = "tool_use") -> Event:
    return recorded(body(block, stop=stop))[0][0]


def native(block: JsonObject) -> Native:
    return Native(api=API, value=block)


@pytest.mark.parametrize(
    "block",
    [
        text(),
        {"type": "text", "text": "Hi"},
        {"citationsContent": {"content": [{"text": "Hi"}], "citations": []}},
        {"image": {"format": "png", "source": {"bytes": "YQ=="}}},
        {"document": {"name": "r", "source": {"text": "a"}}},
        {"video": {"format": "mp4", "source": {"bytes": "YQ=="}}},
        {"audio": {"format": "mp3", "source": {"bytes": "YQ=="}}},
        {"searchResult": {"source": "s", "title": "t", "content": []}},
    ],
)
def test_what_a_model_says_is_a_message(block: JsonObject) -> None:
    assert event_of(block) == MessageRecorded(
        role="assistant", content=(native(block),), response=RESPONSE, index=0
    )


@pytest.mark.parametrize("block", [thought(), {"reasoningContent": {"redactedContent": "YQ=="}}])
def test_reasoning_is_reasoning(block: JsonObject) -> None:
    assert event_of(block) == ReasoningRecorded(response=RESPONSE, index=0, content=native(block))


@pytest.mark.parametrize("more", [{}, {"type": "tool_use"}])
def test_a_call_is_awaited_where_the_turn_ended_with_it(more: JsonObject) -> None:
    block: JsonObject = {"toolUse": {**call()["toolUse"], **more}}
    asked = ToolCallRecorded(
        response=RESPONSE,
        index=0,
        call_id="tooluse_1",
        name="look",
        content=native(block),
        awaited=True,
    )
    assert event_of(block) == asked
    assert event_of(block, "max_tokens") == asked.model_copy(update={"awaited": False})


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("nova_grounding", "web_search"),
        ("nova_code_interpreter", "code_execution"),
        ("other", "other"),
    ],
)
def test_a_call_of_a_tool_that_bedrock_runs_has_the_name_that_all_apis_share(
    name: str, canonical: str
) -> None:
    asked = {"toolUseId": "s_1", "name": name, "input": {"q": "x"}, "type": "server_tool_use"}
    block: JsonObject = {"toolUse": asked}
    assert event_of(block) == ServerToolCallRecorded(
        response=RESPONSE, index=0, call_id="s_1", name=canonical, content=native(block)
    )


def test_a_result_in_an_answer_is_of_a_tool_that_bedrock_runs() -> None:
    block: JsonObject = {
        "toolResult": {"toolUseId": "s_1", "type": "nova_grounding_result", "content": []}
    }
    assert event_of(block) == ServerToolResultRecorded(
        response=RESPONSE, index=0, call_id="s_1", content=native(block)
    )


@pytest.mark.parametrize(
    ("block", "kind"),
    [
        ({"hologram": {"depth": 3}}, "hologram"),
        ({"toolUse": {"name": "look", "input": {}}}, "toolUse"),
        ({"toolUse": {"toolUseId": "", "name": "look", "input": {}}}, "toolUse"),
        ({"toolUse": {"toolUseId": "t", "type": "server_tool_use"}}, "toolUse"),
        ({"toolUse": 5}, "toolUse"),
        ({"toolResult": {"toolUseId": "", "content": []}}, "toolResult"),
        ({}, ""),
    ],
)
def test_what_nobody_knows_or_could_answer_is_opaque(block: JsonObject, kind: str) -> None:
    assert event_of(block) == OpaqueRecorded(
        response=RESPONSE, index=0, type=kind, content=native(block)
    )


def test_a_response_is_closed_with_its_envelope() -> None:
    trace = {"guardrail": {"actionReason": "No action."}}
    *_, closing = recorded(body(text(), trace=trace))[0]
    assert closing == ResponseCompleted(
        response=RESPONSE,
        request=REQUEST,
        api=API,
        stop_reason="end_turn",
        envelope={
            "output": {"message": {"role": "assistant"}},
            "stopReason": "end_turn",
            "usage": USAGE,
            "metrics": METRICS,
            "trace": trace,
        },
        input_tokens=11,
        output_tokens=22,
    )


def test_an_exception_closes_it_as_interrupted() -> None:
    answer = fed(exception("throttlingException", "Too many.")).finish()
    (closing,), _ = events_of(answer, response=RESPONSE, request=REQUEST)
    assert isinstance(closing, ResponseInterrupted)
    assert (closing.reason, closing.detail) == ("error", "throttlingException")
    assert closing.error == {"type": "throttlingException", "message": "Too many."}
