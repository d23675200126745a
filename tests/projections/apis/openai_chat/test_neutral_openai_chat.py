"""What blocks of Chat Completions say to other APIs, and to people."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.domain.content import (
    Document,
    NeutralBlock,
    Opaque,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
)
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.apis.openai_chat import read
from onrecord.projections.apis.openai_chat.read import NAME, instructions, tool
from tests.projections.apis.openai_chat.chat_happenings import function, says

PIXEL = "data:image/png;base64,iVBORw0KGgo="
SCHEMA: JsonObject = {"type": "object", "properties": {"q": {"type": "string"}}}


def image(url: object) -> JsonObject:
    return {"type": "image_url", "image_url": url}


def file(**held: str) -> JsonObject:
    return {"type": "file", "file": held}


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (says("hello", annotations=[]), "hello"),
        ({"content": "hello"}, "hello"),
        (says(None), ""),
        (says(None, refusal="I cannot."), "I cannot."),
        (says(None, audio={"id": "audio_1", "transcript": "hello"}), "hello"),
        (says([{"type": "text", "text": "one "}, {"type": "text", "text": "two"}]), "one two"),
        (says([{"type": "refusal", "refusal": "No."}]), "No."),
        (says([{"type": "thinking", "thinking": []}, {"type": "text", "text": "so"}]), "so"),
        ({"role": "user", "name": "ann", "content": "hi"}, "hi"),
        ({"role": "system", "content": [{"type": "text", "text": "Be kind."}]}, "Be kind."),
        ({"type": "text", "text": "hi"}, "hi"),
        ({"type": "refusal", "refusal": "No."}, "No."),
        (file(file_id="file-1"), "[file held by the provider as file-1]"),
    ],
)
def test_what_is_said_is_its_text(value: JsonObject, wanted: str) -> None:
    assert read.block(value) == Text(text=wanted)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ({"reasoning_content": "hm"}, "hm"),
        ({"reasoning": "hm", "reasoning_details": [{"text": "other"}]}, "hm"),
        ({"reasoning_details": [{"text": "h"}, {"data": "x"}, {"summary": "m"}]}, "hm"),
        ({"reasoning": None, "reasoning_content": ""}, ""),
    ],
)
def test_reasoning_is_what_is_shown_of_it(value: JsonObject, wanted: str) -> None:
    assert read.block(value) == Reasoning(text=wanted)


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ('{"q": 12345678901234567890}', {"q": 12345678901234567890}),
        ("", {}),
        ("[1]", [1]),
        ('{"q": ', '{"q": '),
        ('{"a": 1, "a": 2}', '{"a": 1, "a": 2}'),
    ],
)
def test_the_arguments_of_a_call_are_what_its_string_holds(arguments: str, wanted: Any) -> None:
    assert read.block(function("call_1", arguments)) == ToolCall(
        id="call_1", name="look_up", arguments=wanted
    )


def test_a_custom_tools_call_has_its_input_as_arguments() -> None:
    custom = {"id": "call_1", "type": "custom", "custom": {"name": "grep", "input": "a.*"}}
    assert read.block(custom) == ToolCall(id="call_1", name="grep", arguments="a.*")


def test_a_call_with_a_decoy_beside_it_is_the_call() -> None:
    """As Snowflake sends it."""
    assert isinstance(read.block({**function("call_1"), "custom": {}}), ToolCall)


def test_arguments_that_a_server_has_read_already_stay() -> None:
    call = {"id": "call_1", "function": {"name": "f", "arguments": {"q": 1}}}
    assert read.block(call) == ToolCall(id="call_1", name="f", arguments={"q": 1})
    without = {"id": "call_1", "function": {"name": "f"}}
    assert read.block(without) == ToolCall(id="call_1", name="f", arguments={})


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ({"id": 7, "function": {"name": "f"}, "type": "function"}, "function"),
        ({"function_call": {"name": "f", "arguments": "{}"}}, "function_call"),
        ({"id": "call_1", "function": {}, "type": "function"}, "function"),
        ({"type": "hologram", "hologram": {}}, "hologram"),
        ({"executed_tools": []}, "executed_tools"),
        ({}, ""),
    ],
)
def test_what_says_nothing_to_others_is_opaque(value: JsonObject, kind: str) -> None:
    assert read.block(value) == Opaque(api=NAME, type=kind)


@pytest.mark.parametrize("own", [{"id": ""}, {"id": None}, {}])
def test_a_call_without_an_id_is_a_call(own: JsonObject) -> None:
    assert read.block({**own, "function": {"name": "f"}}) == ToolCall(id="", name="f", arguments={})
    gave = {"role": "tool", "content": "found"}
    assert read.block(gave) == ToolResult(call_id="", content=(Text(text="found"),))


def test_a_tools_message_is_a_result() -> None:
    message = {"role": "tool", "tool_call_id": "call_1", "content": "found"}
    assert read.block(message) == ToolResult(call_id="call_1", content=(Text(text="found"),))
    parts = [{"type": "text", "text": "a"}, image({"url": PIXEL}), {"type": "hologram"}]
    assert read.block({**message, "content": parts}) == ToolResult(
        call_id="call_1",
        content=(Text(text="a"), Document(media_type="image/png", url=PIXEL)),
    )
    assert read.block({**message, "content": None}) == ToolResult(call_id="call_1", content=())
    older = {"role": "function", "name": "f", "content": "found"}
    assert read.block(older) == ToolResult(call_id="f", content=(Text(text="found"),))


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (image({"url": PIXEL, "detail": "low"}), Document(media_type="image/png", url=PIXEL)),
        (image(PIXEL), Document(media_type="image/png", url=PIXEL)),
        (
            image({"url": "https://example.com/a.jpeg?b=1"}),
            Document(media_type="image/jpeg", url="https://example.com/a.jpeg?b=1"),
        ),
        (
            image({"url": "https://example.com/a"}),
            Document(media_type="image/*", url="https://example.com/a"),
        ),
        (
            file(filename="a.pdf", file_data="data:application/pdf;base64,JVBERi0="),
            Document(
                media_type="application/pdf",
                name="a.pdf",
                url="data:application/pdf;base64,JVBERi0=",
            ),
        ),
        (
            file(filename="a.pdf", file_data="JVBERi0="),
            Document(
                media_type="application/pdf",
                name="a.pdf",
                url="data:application/pdf;base64,JVBERi0=",
            ),
        ),
        (
            {"type": "input_audio", "input_audio": {"data": "UklG", "format": "mp3"}},
            Document(media_type="audio/mpeg", url="data:audio/mpeg;base64,UklG"),
        ),
    ],
)
def test_a_file_is_a_document(value: JsonObject, wanted: NeutralBlock) -> None:
    assert read.block(value) == wanted


def test_instructions_are_the_text_of_the_messages_that_come_first() -> None:
    told: list[JsonObject] = [
        {"role": "system", "content": "Be brief."},
        {"role": "developer", "content": [{"type": "text", "text": "And kind."}]},
    ]
    assert instructions({"messages": told}) == "Be brief.\n\nAnd kind."
    assert instructions({"messages": None}) == ""


def test_a_function_is_a_tool_and_nothing_else_is() -> None:
    described = {"name": "f", "description": "Finds.", "parameters": SCHEMA, "strict": True}
    assert tool({"type": "function", "function": described}) == ToolDefinition(
        name="f", description="Finds.", input_schema=SCHEMA
    )
    bare = tool({"type": "function", "function": {"name": "f"}})
    assert bare is not None
    assert bare.input_schema == {"type": "object", "properties": {}}
    assert tool({"type": "web_search"}) is None


def test_a_custom_tool_takes_one_text() -> None:
    custom: JsonObject = {"name": "grep", "description": "Finds.", "format": {"type": "text"}}
    told = tool({"type": "custom", "custom": custom})
    assert told is not None
    assert (told.name, told.description) == ("grep", "Finds.")
    assert told.input_schema["required"] == ["arguments"]


KEYS = st.sampled_from(
    [
        *("role", "content", "type", "text", "image_url", "url", "file", "file_data", "id"),
        *("function", "name", "arguments", "custom", "input", "reasoning", "reasoning_details"),
        *("refusal", "audio", "transcript", "tool_call_id", "input_audio", "data", "format"),
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda held: st.lists(held, max_size=3) | st.dictionaries(KEYS, held, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(KEYS, JSON, max_size=6))
def test_no_block_is_too_odd_to_be_told(value: JsonObject) -> None:
    """What a server sends is checked by nobody: whatever it is, it is a block."""
    assert read.block(value).kind
    tool(value)
