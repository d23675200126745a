"""Requests to Bedrock's Converse API: what they ask, and what their messages say as events."""

import json
from collections.abc import Iterator
from itertools import count
from typing import Any
from uuid import UUID

import pytest

from onrecord.adapters.wire.bedrock.wire import WIRE
from onrecord.adapters.wire.requests import WireRequest, instructions_set, tools_declared
from onrecord.adapters.wire.wires import Purpose, endpoint_of
from onrecord.domain.blobs import LIMIT, restore
from onrecord.domain.content import Native, Text
from onrecord.domain.errors import InvalidContent, MalformedJson
from onrecord.domain.events import (
    InstructionsSet,
    MessageRecorded,
    ReasoningRecorded,
    ServerToolCallRecorded,
    ServerToolResultRecorded,
    ToolCallRecorded,
    ToolResultRecorded,
    ToolsDeclared,
)
from tests.bedrock_wire import JsonObject, call, text, thought

API = "bedrock-converse"
LINE = UUID(int=7)
ARN = "arn:aws:bedrock:us-east-1:111122223333:"
USER: JsonObject = {"role": "user", "content": [text("Hello")]}
MARK: JsonObject = {"cachePoint": {"type": "default"}}
LOOK: JsonObject = {"toolSpec": {"name": "look", "inputSchema": {"json": {"type": "object"}}}}


def result(number: int = 1, status: str = "success") -> JsonObject:
    content = [{"text": "6"}]
    return {"toolResult": {"toolUseId": f"tooluse_{number}", "content": content, "status": status}}


def user(*content: JsonObject) -> JsonObject:
    return {"role": "user", "content": list(content)}


def assistant(*content: JsonObject) -> JsonObject:
    return {"role": "assistant", "content": list(content)}


def native(value: JsonObject) -> Native:
    return Native(api=API, value=value)


def sent(*messages: Any, path: str = "/model/m/converse", **more: Any) -> WireRequest:
    return WIRE.read_request(json.dumps({"messages": messages, **more}).encode(), path)


def events(*messages: Any) -> list[Any]:
    asked = sent(*messages)
    recorded, _ = WIRE.request_events(asked, asked.pieces, ids(), None)
    return list(recorded)


def ids() -> Iterator[UUID]:
    return (UUID(int=number) for number in count(1))


class TestPaths:
    @pytest.mark.parametrize(
        "path",
        [
            "/model/us.amazon.nova-micro-v1:0/converse",
            "/model/us.amazon.nova-micro-v1%3A0/converse-stream",
            "/model/anthropic.claude-opus-4-8/converse",
            f"/model/{ARN}inference-profile/us.meta.llama4/converse",
            f"/gateway/model/{ARN}application-inference-profile%2Fabc/converse-stream",
        ],
    )
    def test_a_conversation_is_a_turn(self, path: str) -> None:
        assert endpoint_of("POST", path) == Purpose(API, "turn")

    @pytest.mark.parametrize(
        ("method", "path"),
        [
            ("POST", "/model/us.amazon.nova-micro-v1:0/count-tokens"),
            ("POST", "/model/us.amazon.nova-micro-v1:0/invoke"),
            ("POST", "/guardrail/g/version/1/apply"),
            ("GET", "/model/us.amazon.nova-micro-v1:0/converse"),
            ("POST", "/converse"),
        ],
    )
    def test_what_is_no_conversation_is_none(self, method: str, path: str) -> None:
        assert endpoint_of(method, path).kind == "none"

    @pytest.mark.parametrize(
        ("path", "model"),
        [
            ("/model/us.amazon.nova-v1:0/converse", "us.amazon.nova-v1:0"),
            ("/model/us.amazon.nova-v1%3A0/converse-stream", "us.amazon.nova-v1:0"),
            (f"/model/{ARN}prompt%2FP:1/converse", f"{ARN}prompt/P:1"),
            (f"/v/model/{ARN}custom-model/a/converse-stream", f"{ARN}custom-model/a"),
            ("/my-model/model/m/converse", "m"),
            ("/model/gateway/model/m/converse/", "m"),
            ("", None),
        ],
    )
    def test_the_path_alone_names_the_model(self, path: str, model: str | None) -> None:
        assert sent(USER, path=path).model == model


class TestAsked:
    def test_its_members_are_read(self) -> None:
        asked = sent(USER, toolConfig={"tools": [LOOK]})
        assert (asked.api, asked.tools) == (API, [LOOK])
        assert (asked.messages, asked.system) == ((USER,), None)
        assert [(one.message, one.role, one.block) for one in asked.pieces] == [
            (0, "user", text("Hello"))
        ]

    def test_a_prompt_that_bedrock_holds_needs_no_messages(self) -> None:
        asked = WIRE.read_request(b'{"promptVariables": {"name": {"text": "Ann"}}}')
        assert asked.messages == ()

    @pytest.mark.parametrize(
        "body",
        [
            {"messages": "Hello"},
            {"messages": ["Hello"]},
            {"messages": [{"content": [{"text": "Hello"}]}]},
            {"messages": [{"role": "user", "content": "Hello"}]},
            {"messages": [{"role": "user"}]},
            {"messages": [USER], "system": "Be brief."},
            {"messages": [USER], "toolConfig": {}},
            {"messages": [USER], "toolConfig": {"tools": ["look"]}},
        ],
    )
    def test_what_is_no_request_is_refused(self, body: Any) -> None:
        with pytest.raises(InvalidContent):
            WIRE.read_request(json.dumps(body).encode())

    @pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"messages": NaN}'])
    def test_what_is_no_json_is_refused(self, body: bytes) -> None:
        with pytest.raises(MalformedJson):
            WIRE.read_request(body)

    def test_a_role_that_nobody_has_is_refused_when_it_is_recorded(self) -> None:
        with pytest.raises(InvalidContent):
            events({"role": "tool", "content": [text()]})


class TestInstructions:
    def test_one_text_is_that_text(self) -> None:
        asked = sent(USER, system=[{"text": "Be brief."}])
        assert asked.system == "Be brief."
        recorded = (InstructionsSet(content="Be brief."),)
        assert instructions_set(asked) == (recorded, {})

    @pytest.mark.parametrize(
        "system",
        [
            [{"text": "Be brief."}, {"text": "Be kind."}],
            [{"guardContent": {"text": {"text": "Be brief."}}}],
            [{"text": "Be brief.", "mood": "glad"}],
        ],
    )
    def test_any_other_is_kept_as_it_was_sent(self, system: list[JsonObject]) -> None:
        (recorded,), _ = instructions_set(sent(USER, system=system))
        assert recorded == InstructionsSet(content=native({"system": system}))

    @pytest.mark.parametrize("system", [[], [MARK]])
    def test_an_empty_list_is_none(self, system: list[JsonObject]) -> None:
        asked = sent(USER, system=system)
        assert asked.system is None
        assert instructions_set(asked) == ((InstructionsSet(content=""),), {})

    def test_tools_are_as_they_were_spelled(self) -> None:
        system: JsonObject = {"systemTool": {"name": "nova_grounding"}}
        asked = sent(USER, toolConfig={"tools": [LOOK, system], "toolChoice": {"auto": {}}})
        (recorded,), _ = tools_declared(asked)
        assert recorded == ToolsDeclared(tools=(native(LOOK), native(system)))


class TestSaid:
    def test_a_plain_text_is_text(self) -> None:
        assert events(USER) == [MessageRecorded(role="user", content=(Text(text="Hello"),))]

    @pytest.mark.parametrize(
        "block",
        [
            {"document": {"format": "pdf", "name": "r", "source": {"bytes": "JVBERi0="}}},
            {"image": {"format": "png", "source": {"s3Location": {"uri": "s3://b/k"}}}},
            {"guardContent": {"text": {"text": "Hi"}}},
            {"text": "Hi", "mood": "glad"},
            {"hologram": {}},
            {"toolResult": {"toolUseId": "", "content": []}},
            {"toolAddition": {"tools": [LOOK]}},
        ],
    )
    def test_any_other_block_is_kept_as_it_came(self, block: JsonObject) -> None:
        (event,) = events(user(text("See:"), block))
        assert event == MessageRecorded(role="user", content=(Text(text="See:"), native(block)))

    def test_a_message_of_the_system_amid_the_others_is_the_systems(self) -> None:
        (event,) = events({"role": "system", "content": [text("Be brief.")]})
        assert event == MessageRecorded(role="system", content=(Text(text="Be brief."),))

    def test_each_result_is_an_event(self) -> None:
        first, second, said = events(user(result(1), result(2, "error"), text("Go on.")))
        assert first == ToolResultRecorded(call_id="tooluse_1", content=native(result(1)))
        assert (second.call_id, second.is_error) == ("tooluse_2", True)
        assert said == MessageRecorded(role="user", content=(Text(text="Go on."),))

    def test_what_is_said_between_results_stays_there(self) -> None:
        told = events(user(text("a"), result(1), text("b")))
        assert [type(event) for event in told] == [
            MessageRecorded,
            ToolResultRecorded,
            MessageRecorded,
        ]

    def test_the_blocks_of_an_answer_are_of_one_response(self) -> None:
        server: JsonObject = {
            "toolUse": {
                "toolUseId": "s_1",
                "name": "nova_grounding",
                "input": {},
                "type": "server_tool_use",
            }
        }
        gave: JsonObject = {"toolResult": {"toolUseId": "s_1", "content": [], "status": "success"}}
        told = events(USER, assistant(thought(), text("Hi"), server, gave, call()), user(result()))
        assert [type(event) for event in told] == [
            MessageRecorded,
            ReasoningRecorded,
            MessageRecorded,
            ServerToolCallRecorded,
            ServerToolResultRecorded,
            ToolCallRecorded,
            ToolResultRecorded,
        ]
        answer = told[1:6]
        assert {event.response for event in answer} == {UUID(int=1)}
        assert [event.index for event in answer] == [0, 1, 2, 3, 4]
        assert (answer[2].call_id, answer[2].name) == ("s_1", "web_search")
        assert (answer[4].call_id, answer[4].name, answer[4].awaited) == ("tooluse_1", "look", True)

    def test_only_what_is_new_is_told(self) -> None:
        asked = sent(USER, assistant(text("Hi"), call()), user(result(), text("Go on.")))
        told, _ = WIRE.request_events(asked, asked.pieces[2:], ids(), LINE)
        assert [type(event) for event in told] == [
            ToolCallRecorded,
            ToolResultRecorded,
            MessageRecorded,
        ]
        assert {getattr(event, "line", None) for event in told} == {LINE}

    def test_long_texts_move_to_blobs(self) -> None:
        block: JsonObject = {"image": {"format": "png", "source": {"bytes": "QUJD" * LIMIT}}}
        asked = sent(user(block))
        (event,), blobs = WIRE.request_events(asked, asked.pieces, ids(), None)
        assert len(blobs) == 1
        assert isinstance(event, MessageRecorded)
        (held,) = event.content
        assert isinstance(held, Native)
        assert restore(held.value, blobs) == block


class TestCachePoints:
    def test_they_are_no_part_of_what_is_said(self) -> None:
        marked = sent(
            user(text("Hello"), MARK),
            system=[{"text": "Be brief."}, MARK],
            toolConfig={"tools": [LOOK, MARK]},
        )
        plain = sent(USER, system=[{"text": "Be brief."}], toolConfig={"tools": [LOOK]})
        assert marked.pieces == plain.pieces
        assert (marked.system, marked.tools) == (plain.system, plain.tools)

    def test_the_body_keeps_them(self) -> None:
        asked = sent(user(text("Hello"), MARK))
        assert asked.body["messages"][0]["content"][1] == MARK
