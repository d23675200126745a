"""Blocks of Bedrock's Converse API in neutral form."""

from __future__ import annotations

import pytest

from onrecord.domain.content import (
    Document,
    Native,
    NeutralBlock,
    Opaque,
    Reasoning,
    ServerToolCall,
    Text,
    ToolCall,
    ToolResult,
)
from onrecord.domain.events import Unfinished
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.api import instructions_of, neutral_of, tool_of
from onrecord.projections.apis.bedrock import read
from onrecord.projections.apis.bedrock.read import NAME, partial
from tests.projections.apis.bedrock import bedrock_happenings as bedrock

S3: JsonObject = {"s3Location": {"uri": "s3://bucket/a.png"}}
PAGE: JsonObject = {"source": "https://example.com", "title": "T", "content": [{"text": "x"}]}


def of(media_type: str, url: str, name: str | None = None) -> Document:
    return Document(media_type=media_type, name=name, url=url)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"text": "Hi"}, Text(text="Hi")),
        ({"type": "text", "text": "Hi"}, Text(text="Hi")),
        (
            {"citationsContent": {"content": [{"text": "a"}, {"text": "b"}], "citations": []}},
            Text(text="ab"),
        ),
        (bedrock.reasoning("hm"), Reasoning(text="hm")),
        ({"reasoningContent": {"redactedContent": "c2Vj"}}, Reasoning(text="")),
        (bedrock.call("t1"), ToolCall(id="t1", name="look_up", arguments={"q": "t1"})),
        (
            {"toolUse": {"toolUseId": "t1", "name": "f"}},
            ToolCall(id="t1", name="f", arguments={}),
        ),
        (
            bedrock.server_call("s1"),
            ServerToolCall(id="s1", name="web_search", arguments={"q": "s1"}),
        ),
        (
            {"image": {"format": "png", "source": {"bytes": "YQ=="}}},
            of("image/png", "data:image/png;base64,YQ=="),
        ),
        ({"image": {"format": "png", "source": S3}}, of("image/png", "s3://bucket/a.png")),
        (
            {"document": {"format": "docx", "name": "A", "source": {"bytes": "YQ=="}}},
            of(
                "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
                "data:application/vnd.openxmlformats-officedocument.wordprocessingml.document"
                ";base64,YQ==",
                "A",
            ),
        ),
        ({"document": {"name": "A", "source": {"text": "x"}}}, Text(text="A\nx")),
        (
            {"document": {"name": "A", "source": {"content": [{"text": "x"}, {"text": "y"}]}}},
            Text(text="A\nxy"),
        ),
        ({"video": {"format": "mov", "source": S3}}, of("video/quicktime", "s3://bucket/a.png")),
        (
            {"audio": {"format": "wav", "source": {"bytes": "YQ=="}}},
            of("audio/wav", "data:audio/wav;base64,YQ=="),
        ),
        ({"guardContent": {"text": {"text": "x", "qualifiers": ["query"]}}}, Text(text="x")),
        ({"searchResult": PAGE}, Text(text="T\nhttps://example.com\nx")),
        ({"cachePoint": {"type": "default"}}, Opaque(api=NAME, type="cachePoint")),
        ({"hologram": {}}, Opaque(api=NAME, type="hologram")),
        ({}, Opaque(api=NAME, type="")),
        ({"image": {"format": "png", "source": {}}}, Opaque(api=NAME, type="image")),
        ({"image": {"format": 1, "source": None}}, Opaque(api=NAME, type="image")),
        ({"toolUse": "odd"}, Opaque(api=NAME, type="toolUse")),
        ({"toolResult": {"content": []}}, Opaque(api=NAME, type="toolResult")),
        ({"document": {"source": "odd"}}, Opaque(api=NAME, type="document")),
    ],
)
def test_a_block_says_what_it_says(value: JsonObject, said: NeutralBlock) -> None:
    assert read.block(value) == said


def test_a_result_holds_texts_json_and_files() -> None:
    content: list[JsonObject] = [
        {"text": "a"},
        {"json": {"n": 1}},
        {"image": {"format": "png", "source": {"bytes": "YQ=="}}},
        {"searchResult": PAGE},
        {"hologram": {}},
    ]
    value = {"toolResult": {"toolUseId": "t1", "content": content, "status": "error"}}
    assert neutral_of(NAME, value) == ToolResult(
        call_id="t1",
        content=(
            Text(text="a"),
            Text(text='{"n":1}'),
            of("image/png", "data:image/png;base64,YQ=="),
            Text(text="T\nhttps://example.com\nx"),
        ),
        is_error=True,
    )


def test_instructions_are_texts() -> None:
    guarded = {"guardContent": {"text": {"text": "b"}}}
    value = {"system": [{"text": "a"}, {"cachePoint": {"type": "default"}}, guarded]}
    assert instructions_of(Native(api=NAME, value=value)) == "a\n\nb"
    assert instructions_of(Native(api=NAME, value={"text": "a"})) == "a"


@pytest.mark.parametrize(
    ("value", "tool"),
    [
        (
            {"toolSpec": {"name": "f", "description": "F", "inputSchema": {"json": {"a": 1}}}},
            ToolDefinition(name="f", description="F", input_schema={"a": 1}),
        ),
        (
            {"toolSpec": {"name": "f", "inputSchema": {"json": {}}}},
            ToolDefinition(name="f", input_schema={}),
        ),
        ({"systemTool": {"name": "nova_grounding"}}, None),
        ({"cachePoint": {"type": "default"}}, None),
        ({"toolSpec": {"name": "f"}}, None),
    ],
)
def test_a_tool_is_defined(value: JsonObject, tool: ToolDefinition | None) -> None:
    assert tool_of(Native(api=NAME, value=value)) == tool


@pytest.mark.parametrize(
    ("value", "rest", "stays"),
    [
        ({"text": ""}, "so f", {"text": "so f"}),
        ({"text": "so "}, "far", {"text": "so far"}),
        ({"text": ""}, " ", None),
        (
            {"citationsContent": {"content": [{"text": ""}], "citations": [{"title": "t"}]}},
            "so f",
            {"citationsContent": {"content": [{"text": "so f"}], "citations": [{"title": "t"}]}},
        ),
        ({"toolUse": {"toolUseId": "t1", "name": "f"}}, '{"q', None),
        (bedrock.reasoning(""), "hm", None),
    ],
)
def test_only_text_stays_of_a_block_that_broke_off(
    value: JsonObject, rest: str, stays: JsonObject | None
) -> None:
    assert partial(Unfinished(index=0, value=value, partial=rest)) == stays
