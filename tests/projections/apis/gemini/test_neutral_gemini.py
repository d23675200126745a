"""What Gemini's parts say to other APIs."""

from __future__ import annotations

from typing import Any

import pytest

from onrecord.domain.content import (
    Document,
    NeutralBlock,
    Opaque,
    Reasoning,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
    ToolResult,
)
from onrecord.domain.events import Unfinished
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.gemini import read
from tests.projections.apis.gemini.gemini_happenings import call, response, signed, text, thought

PNG: JsonObject = {"mimeType": "image/png", "data": "-_8="}

SAID: list[tuple[JsonObject, NeutralBlock]] = [
    (text("hi"), Text(text="hi")),
    (signed(text("")), Text(text="")),
    (signed(thought("hm")), Reasoning(text="hm")),
    (call(args={"q": 1}, id="a"), ToolCall(id="a", name="look_up", arguments={"q": 1})),
    ({"functionCall": {"name": "f"}}, ToolCall(id="", name="f", arguments={})),
    ({"function_call": {"name": "f", "args": {}}}, ToolCall(id="", name="f", arguments={})),
    ({"functionCall": {"args": {}}}, Opaque(api="gemini", type="functionCall")),
    (
        {"executableCode": {"id": "x", "code": "1", "language": "PYTHON"}},
        ServerToolCall(
            id="x", name="code_execution", arguments={"code": "1", "language": "PYTHON"}
        ),
    ),
    (
        {"codeExecutionResult": {"id": "x", "outcome": "OUTCOME_OK", "output": "1"}},
        ServerToolResult(
            call_id="x",
            name="code_execution",
            content=(Text(text="1"),),
            metadata={"outcome": "OUTCOME_OK"},
        ),
    ),
    (
        {"inlineData": {**PNG, "displayName": "a.png"}},
        Document(media_type="image/png", name="a.png", url="data:image/png;base64,+/8="),
    ),
    (
        {"file_data": {"file_uri": "https://example.com/a.pdf", "mime_type": "application/pdf"}},
        Document(media_type="application/pdf", url="https://example.com/a.pdf"),
    ),
    (
        {"fileData": {"fileUri": "https://generativelanguage.googleapis.com/v1beta/files/a"}},
        Text(
            text="[file held by the provider as "
            "https://generativelanguage.googleapis.com/v1beta/files/a]"
        ),
    ),
    (signed({"hologram": {"data": 1}}), Opaque(api="gemini", type="hologram")),
    ({}, Opaque(api="gemini", type="")),
]


@pytest.mark.parametrize(("value", "block"), SAID)
def test_a_part_says_to_others_what_it_says(value: JsonObject, block: NeutralBlock) -> None:
    assert read.block(value) == block


@pytest.mark.parametrize(
    ("told", "said", "is_error"),
    [
        ({"result": "found"}, "found", False),
        ({"output": {"a": 1}}, '{"a":1}', False),
        ({"return_value": "Mexico"}, "Mexico", False),
        ({"error": "no such thing"}, "no such thing", True),
        ({"error": "half", "output": "rest"}, '{"error":"half","output":"rest"}', False),
        ({"city": "Paris"}, '{"city":"Paris"}', False),
        ({"error": None}, "null", False),
    ],
)
def test_a_response_says_what_a_function_gave_and_whether_it_failed(
    told: JsonObject, said: str, is_error: bool
) -> None:
    part = response(told)
    result = ToolResult(call_id="", content=(Text(text=said),), is_error=is_error)
    assert read.block(part) == result
    assert read.says_it_failed(part) == is_error


def test_a_response_without_anything_says_nothing() -> None:
    assert read.block(response({})) == ToolResult(call_id="", content=())


def test_files_of_a_response_are_documents() -> None:
    result = read.block(response("see", parts=[{"inlineData": PNG}]))
    assert isinstance(result, ToolResult)
    assert [part.kind for part in result.content] == ["text", "document"]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"systemInstruction": {"parts": [{"text": "a"}, {"text": "b"}]}}, "a\n\nb"),
        ({"system_instruction": {"role": "user", "parts": [{"text": "a"}]}}, "a"),
        ({"systemInstruction": {"parts": [{"inlineData": PNG}]}}, ""),
        ({"systemInstruction": "a"}, "a"),
        ({}, ""),
    ],
)
def test_instructions_are_the_texts_of_their_parts(value: JsonObject, said: str) -> None:
    assert read.instructions(value) == said


def test_a_function_is_told_with_its_json_schema() -> None:
    schema: JsonObject = {"type": "object", "$defs": {"a": {}}}
    value = {"functionDeclarations": [{"name": "f", "parameters_json_schema": schema}]}
    told = read.tool(value)
    assert told is not None
    assert (told.name, told.description, told.input_schema) == ("f", None, schema)


def test_a_schema_of_geminis_is_told_as_json_schema() -> None:
    parameters = {
        "type": "OBJECT",
        "properties": {
            "type": {"type": "STRING", "nullable": True, "maxLength": "9"},
            "tags": {"type": "ARRAY", "items": {"type": "INTEGER"}, "minItems": "1"},
            "either": {"anyOf": [{"type": "NUMBER"}, {"type": "BOOLEAN"}]},
        },
        "required": ["type"],
        "propertyOrdering": ["type", "tags", "either"],
    }
    value = {"function_declarations": [{"name": "f", "parameters": parameters}]}
    told = read.tool(value)
    assert told is not None
    assert told.input_schema == {
        "type": "object",
        "properties": {
            "type": {"type": ["string", "null"], "maxLength": 9},
            "tags": {"type": "array", "items": {"type": "integer"}, "minItems": 1},
            "either": {"anyOf": [{"type": "number"}, {"type": "boolean"}]},
        },
        "required": ["type"],
    }


OWN: list[JsonObject] = [
    {"googleSearch": {}},
    {"functionDeclarations": []},
    {"functionDeclarations": [{}]},
]


@pytest.mark.parametrize("value", OWN)
def test_a_tool_of_the_service_is_told_to_nobody(value: JsonObject) -> None:
    assert read.tool(value) is None


@pytest.mark.parametrize(
    ("value", "stays"),
    [(text("so f"), True), (text(" \n"), False), (thought("hm"), False), (call(), False)],
)
def test_of_what_broke_off_only_text_stays(value: JsonObject, stays: bool) -> None:
    kept = read.partial(Unfinished(index=0, value=value, partial=""))
    assert kept == (value if stays else None)


@pytest.mark.parametrize("odd", [None, 1, [], ["a"], {"a": []}, True])
@pytest.mark.parametrize(
    "name", ["text", "functionCall", "functionResponse", "inlineData", "fileData", "thought"]
)
def test_a_member_of_another_shape_breaks_nothing(name: str, odd: Any) -> None:
    read.block({name: odd})
    read.says_it_failed({name: odd})
    read.instructions({"systemInstruction": {name: odd}})
    read.tool({"functionDeclarations": [{"name": "f", "parameters": odd}]})
