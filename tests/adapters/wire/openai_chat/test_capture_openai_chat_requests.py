"""Requests to Chat Completions: what they ask, and what their messages say as events."""

import json
from collections.abc import Iterator
from itertools import count
from typing import Any
from uuid import UUID

import pytest

from onrecord.adapters.wire.openai_chat.wire import read_request, request_events
from onrecord.adapters.wire.requests import WireRequest, instructions_set, tools_declared
from onrecord.domain.blobs import restore
from onrecord.domain.content import Native, Text
from onrecord.domain.errors import InvalidContent, MalformedJson
from onrecord.domain.events import (
    InstructionsSet,
    MessageRecorded,
    OpaqueRecorded,
    ReasoningRecorded,
    ToolCallRecorded,
    ToolResultRecorded,
)
from tests.openai_chat_wire import JsonObject, call, message

LINE = UUID(int=7)
USER: JsonObject = {"role": "user", "content": "Hello"}
RESULT: JsonObject = {"role": "tool", "tool_call_id": "call_1", "content": "6"}


def sent(*messages: Any, **more: Any) -> WireRequest:
    return read_request(json.dumps({"model": "gpt-5", "messages": messages, **more}).encode())


def events(*messages: Any) -> list[Any]:
    asked = sent(*messages)
    recorded, _ = request_events(asked, asked.pieces, ids())
    return list(recorded)


def ids() -> Iterator[UUID]:
    return (UUID(int=number) for number in count(1))


def blocks(*messages: Any) -> list[tuple[int, str, JsonObject]]:
    return [(piece.message, piece.role, piece.block) for piece in sent(*messages).pieces]


class TestAsked:
    def test_its_members_are_read(self) -> None:
        asked = sent(USER, tools=[{"type": "function"}])
        assert (asked.api, asked.model) == ("openai-chat", "gpt-5")
        assert asked.tools == [{"type": "function"}]
        assert (asked.refers_to, asked.thread, asked.compacts) == (None, None, False)
        assert asked.body["messages"] == [USER]

    @pytest.mark.parametrize(
        "body",
        [
            {},
            {"messages": "Hello"},
            {"messages": ["Hello"]},
            {"messages": [{"content": "Hello"}]},
            {"messages": [{"role": 7}]},
            {"messages": [USER], "tools": "none"},
            {"messages": [USER], "tools": ["look"]},
        ],
    )
    def test_what_is_no_request_is_refused(self, body: Any) -> None:
        with pytest.raises(InvalidContent):
            read_request(json.dumps(body).encode())

    @pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"messages": NaN}'])
    def test_what_is_no_json_is_refused(self, body: bytes) -> None:
        with pytest.raises(MalformedJson):
            read_request(body)


class TestInstructions:
    def test_a_plain_text_of_the_system_is_that_text(self) -> None:
        asked = sent({"role": "system", "content": "Be brief."}, USER)
        assert asked.system == "Be brief."
        assert asked.messages == (USER,)
        recorded = (InstructionsSet(content="Be brief."),)
        assert instructions_set(asked) == (recorded, {})

    @pytest.mark.parametrize(
        "leading",
        [
            [{"role": "developer", "content": "Be brief."}],
            [{"role": "system", "content": "a"}, {"role": "developer", "content": "b"}],
            [{"role": "system", "content": [{"type": "text", "text": "a"}]}],
            [{"role": "system", "content": "a", "name": "ops"}],
        ],
    )
    def test_any_other_is_kept_as_it_was_sent(self, leading: list[JsonObject]) -> None:
        asked = sent(*leading, USER)
        (recorded,), _ = instructions_set(asked)
        native = Native(api="openai-chat", value={"messages": leading})
        assert recorded == InstructionsSet(content=native)
        assert [piece.message for piece in asked.pieces] == [0]

    def test_none_are_blank(self) -> None:
        assert instructions_set(sent(USER)) == ((InstructionsSet(content=""),), {})

    def test_tools_are_as_they_were_spelled(self) -> None:
        look = {"type": "function", "function": {"name": "look", "parameters": None}}
        (recorded,), _ = tools_declared(sent(USER, tools=[look]))
        assert recorded.tools == (Native(api="openai-chat", value=look),)  # type: ignore[union-attr]


class TestPieces:
    def test_a_plain_text_is_a_block_of_text(self) -> None:
        assert blocks(USER) == [(0, "user", {"type": "text", "text": "Hello"})]

    def test_parts_are_a_block_each(self) -> None:
        parts = [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "u"}}]
        assert blocks({"role": "user", "content": parts}) == [(0, "user", one) for one in parts]

    def test_a_message_with_members_of_its_own_is_one_block(self) -> None:
        named = {"role": "user", "content": [{"type": "text", "text": "a"}], "name": "eva"}
        assert blocks(named) == [(0, "user", named)]

    def test_an_assistants_message_is_its_reasoning_its_message_and_its_calls(self) -> None:
        spoken = message("Looking.", refusal=None)
        thought = {"reasoning_content": "Hm."}
        told = {**spoken, **thought, "tool_calls": [call(1), call(2)]}
        assert blocks(USER, told, RESULT) == [
            (0, "user", {"type": "text", "text": "Hello"}),
            (1, "assistant", thought),
            (1, "assistant", spoken),
            (1, "assistant", call(1)),
            (1, "assistant", call(2)),
            (2, "tool", RESULT),
        ]

    @pytest.mark.parametrize(
        ("told", "role"),
        [
            ({"role": "developer", "content": "Now in French."}, "system"),
            ({"role": "system", "content": "a", "name": "ops"}, "system"),
            ({"role": "function", "name": "look", "content": "6"}, "user"),
            ({"role": "tool", "content": "6"}, "user"),
            ({"role": "user", "content": None}, "user"),
            ({"role": "user", "content": ["a"]}, "user"),
            ({"role": "critic", "content": "a"}, "user"),
        ],
    )
    def test_any_other_message_is_one_block(self, told: JsonObject, role: str) -> None:
        assert blocks(USER, told)[1:] == [(1, role, told)]

    def test_a_text_of_the_system_amid_the_conversation_is_a_block_of_text(self) -> None:
        later = {"role": "system", "content": "Now in French."}
        assert blocks(USER, later)[1:] == [
            (1, "system", {"type": "text", "text": "Now in French."})
        ]


class TestSaid:
    def test_a_plain_text_is_text_and_a_part_of_text_is_native(self) -> None:
        part = {"type": "text", "text": "Hello"}
        plain, listed = events(USER, {"role": "user", "content": [part]})
        assert plain == MessageRecorded(role="user", content=(Text(text="Hello"),))
        native = Native(api="openai-chat", value=part)
        assert listed == MessageRecorded(role="user", content=(native,))

    def test_the_parts_of_a_message_are_one_event(self) -> None:
        parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
        (recorded,) = events({"role": "user", "content": parts})
        assert [native.value for native in recorded.content] == parts

    def test_a_result_is_that_of_its_call(self) -> None:
        (recorded,) = events(RESULT)
        native = Native(api="openai-chat", value=RESULT)
        assert recorded == ToolResultRecorded(call_id="call_1", content=native)

    def test_each_message_of_the_assistant_is_a_response_of_its_own(self) -> None:
        told = message("Looking.", reasoning="Hm.", tool_calls=[call(1), {"type": "function"}])
        recorded = events(told, RESULT, message("Six."))
        assert [type(event) for event in recorded] == [
            ReasoningRecorded,
            MessageRecorded,
            ToolCallRecorded,
            OpaqueRecorded,
            ToolResultRecorded,
            MessageRecorded,
        ]
        first, second = UUID(int=1), UUID(int=2)
        assert [getattr(event, "response", None) for event in recorded] == [
            *[first] * 4,
            None,
            second,
        ]
        assert [event.index for event in recorded[:4]] == [0, 1, 2, 3]
        assert (recorded[2].call_id, recorded[2].name, recorded[2].awaited) == (
            "call_1",
            "look",
            True,
        )
        assert recorded[3].type == "function"

    def test_of_a_message_that_is_known_in_part_only_the_rest_is_new(self) -> None:
        asked = sent(message("Looking.", tool_calls=[call(1)]), RESULT, USER)
        recorded, _ = request_events(asked, asked.pieces[2:], ids(), LINE)
        assert [type(event) for event in recorded] == [ToolResultRecorded, MessageRecorded]
        assert {event.line for event in recorded} == {LINE}

    def test_a_call_of_the_old_spelling_is_opaque(self) -> None:
        old = {"name": "look", "arguments": "{}"}
        _, recorded = events(message(None, function_call=old))
        assert recorded.type == "function_call"
        assert recorded.content.value == {"function_call": old}

    def test_long_texts_go_to_blobs(self) -> None:
        image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 99_999}}
        asked = sent({"role": "user", "content": [image]})
        (recorded,), blobs = request_events(asked, asked.pieces, ids())
        assert isinstance(recorded, MessageRecorded)
        (native,) = recorded.content
        assert isinstance(native, Native)
        assert len(blobs) == 1
        assert restore(native.value, blobs) == image

    def test_nothing_new_is_nothing(self) -> None:
        assert request_events(sent(USER), [], ids()) == ((), {})
