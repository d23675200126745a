"""Schemas of tools that are right and refused: what goes in their stead, to which API."""

import json
from typing import Any

import ollama
import pytest
from anthropic.types import ToolParam
from google.genai import types as google
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionFunctionToolParam
from openai.types.responses import FunctionToolParam
from pydantic import TypeAdapter

from onrecord.adapters.check.check import check_request
from onrecord.domain import jsontext
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.api import FOLDERS
from onrecord.projections.apis.declared_tools import told_to
from onrecord.projections.apis.tools import OLLAMA, OPENAI, schema_for

APIS = tuple(FOLDERS)
BARE: JsonObject = {"type": "object", "properties": {"path": {"type": "string"}}}
REFUSING_UNIONS = ("anthropic-messages", "openai-chat", "openai-responses", "bedrock-converse")
WANTING_PROPERTIES = ("openai-chat", "openai-responses")
WANTING_OBJECTS = ("openai-chat", "openai-responses", "ollama")


def told(api: str, schema: JsonObject, **others: Any) -> tuple[JsonObject, JsonObject, list[str]]:
    """The definition and the schema that an API is told, and the notes on it."""
    tool = ToolDefinition(name="read", description="Reads.", input_schema=schema, **others)
    body, report = told_to([tool], api)
    said: JsonObject
    match json.loads(json.dumps(body)):
        case {"tools": [{"input_schema": said} as definition]}:
            pass
        case {"tools": [{"function": {"parameters": said} as definition}]}:
            pass
        case {"tools": [{"functionDeclarations": [{"parametersJsonSchema": said} as definition]}]}:
            pass
        case {
            "toolConfig": {"tools": [{"toolSpec": {"inputSchema": {"json": said}} as definition}]}
        }:
            pass
        case {"tools": [{"parameters": said} as definition]}:
            pass
        case other:
            raise AssertionError(other)
    return definition, said, [note.why for note in report if note.rule == "schema"]


def accept(api: str, tools: Any) -> None:
    """Hold what an API is told against its SDK's own types."""
    match api:
        case "anthropic-messages":
            TypeAdapter(list[ToolParam]).validate_python(tools["tools"], strict=True)
        case "openai-chat":
            adapter = TypeAdapter(list[ChatCompletionFunctionToolParam])
            adapter.validate_python(tools["tools"], strict=True)
        case "openai-responses":
            TypeAdapter(list[FunctionToolParam]).validate_python(tools["tools"], strict=True)
        case "gemini":
            TypeAdapter(list[google.Tool]).validate_python(tools["tools"])
        case "ollama":
            for tool in tools["tools"]:
                ollama.Tool.model_validate(tool)
        case _:
            # botocore takes any document there; the rule is in check_request.
            assert tools["toolConfig"]["tools"][0]["toolSpec"]["inputSchema"]["json"]


SCHEMAS: dict[str, JsonObject] = {
    "as it should be": BARE,
    "no type": {"properties": {"path": {"type": "string"}}},
    "nothing at all": {},
    "no properties": {"type": "object"},
    "its dialect": {"$schema": "http://json-schema.org/draft-07/schema#", **BARE},
    "booleans": {"type": "object", "properties": {"any": True, "none": False}},
    "a union": {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
    "closed": {**BARE, "additionalProperties": False},
}


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_the_types_of_the_sdk_take_every_schema(api: str, schema: JsonObject) -> None:
    tool = ToolDefinition(
        name="read",
        description="Reads.",
        title="Read",
        input_schema=schema,
        output_schema={"type": "object"},
        annotations={"readOnlyHint": True},
    )
    members, _ = told_to([tool], api)
    accept(api, members)


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_a_request_with_any_schema_breaks_no_rule(api: str, schema: JsonObject) -> None:
    members, _ = told_to([ToolDefinition(name="read", input_schema=schema)], api)
    said = {"role": "user", "content": "?"}
    match api:
        case "openai-responses":
            request: JsonObject = {"input": [said]}
        case "gemini":
            request = {"contents": [{"role": "user", "parts": [{"text": "?"}]}]}
        case "bedrock-converse":
            request = {"messages": [{"role": "user", "content": [{"text": "?"}]}]}
        case _:
            request = {"messages": [said]}
    assert check_request(api, {**request, **members}).violations == ()


@pytest.mark.parametrize("api", APIS)
class TestEveryApi:
    def test_is_told_of_no_title_no_output_and_no_hints(self, api: str) -> None:
        more: JsonObject = {
            "title": "Read a file",
            "output_schema": {"type": "object", "properties": {"text": {"type": "string"}}},
            "annotations": {"readOnlyHint": True},
        }
        assert told(api, BARE, **more) == told(api, BARE)

    def test_gets_a_schema_that_is_as_it_should_be_as_it_is(self, api: str) -> None:
        _, said, notes = told(api, BARE)
        assert (said, notes) == (BARE, [])

    def test_gets_the_dialect_of_a_schema(self, api: str) -> None:
        schema = SCHEMAS["its dialect"]
        _, said, notes = told(api, schema)
        assert (said, notes) == (schema, [])

    def test_keeps_closed_what_is_closed(self, api: str) -> None:
        schema = {**BARE, "additionalProperties": False}
        assert told(api, schema)[1] == schema

    @pytest.mark.parametrize("kind", [None, ["object", "null"]])
    def test_is_told_that_a_tool_takes_an_object(self, api: str, kind: object) -> None:
        schema = {**BARE, "type": kind}
        if kind is None:
            del schema["type"]
        _, said, (note,) = told(api, schema)
        assert said == BARE
        assert note == "the schema of read: it says `type: object`"


@pytest.mark.parametrize("api", WANTING_PROPERTIES)
def test_openai_is_told_of_no_properties_where_there_are_none(api: str) -> None:
    _, said, notes = told(api, {"type": "object"})
    assert said == {"type": "object", "properties": {}}
    assert notes == ["the schema of read: it says that there are no properties"]


@pytest.mark.parametrize("api", sorted({*APIS} - {*WANTING_PROPERTIES}))
def test_others_need_no_properties(api: str) -> None:
    assert told(api, {"type": "object"})[1:] == ({"type": "object"}, [])


class TestAUnionAtTheRoot:
    @pytest.mark.parametrize("api", sorted({*APIS} - {*REFUSING_UNIONS}))
    def test_goes_as_it_is_where_it_is_taken(self, api: str) -> None:
        schema = {**BARE, "oneOf": [{"required": ["path"]}]}
        assert told(api, schema)[1:] == (schema, [])

    @pytest.mark.parametrize("api", REFUSING_UNIONS)
    @pytest.mark.parametrize("union", ["anyOf", "oneOf", "allOf"])
    def test_goes_away_with_a_note(self, api: str, union: str) -> None:
        _, said, (note,) = told(api, {**BARE, union: [{"required": ["path"]}]})
        assert said == {**BARE, "required": ["path"]}
        assert note == f"the schema of read: {union} at its root went into its properties or away"

    @pytest.mark.parametrize("api", REFUSING_UNIONS)
    def test_leaves_the_properties_of_its_alternatives(self, api: str) -> None:
        by_name = {"properties": {"by": {"const": "name"}, "name": {"type": "string"}}}
        by_id = {"properties": {"by": {"const": "id"}, "id": {"type": "integer"}}}
        alternatives = [
            {**by_name, "required": ["by", "name"]},
            {**by_id, "required": ["by", "id"]},
        ]
        assert told(api, {"type": "object", "oneOf": alternatives})[1] == {
            "type": "object",
            "properties": {
                "by": {"anyOf": [{"const": "name"}, {"const": "id"}]},
                "name": {"type": "string"},
                "id": {"type": "integer"},
            },
            "required": ["by"],
        }

    def test_is_found_where_a_definition_holds_its_alternatives(self) -> None:
        definitions = {"A": {"properties": {"a": {"type": "string"}}, "required": ["a"]}}
        schema: JsonObject = {"anyOf": [{"$ref": "#/$defs/A"}], "$defs": definitions}
        said = told("anthropic-messages", schema)[1]
        assert said["properties"] == {"a": {"type": "string"}}
        assert said["required"] == ["a"]

    def test_requires_all_that_all_of_it_requires(self) -> None:
        parts = [{"required": ["a"]}, {"required": ["b"]}]
        assert told("anthropic-messages", {"allOf": parts})[1]["required"] == ["a", "b"]

    @pytest.mark.parametrize("word", ["enum", "const", "not"])
    def test_is_not_the_only_thing_that_openai_refuses_there(self, word: str) -> None:
        _, said, notes = told("openai-chat", {**BARE, word: [{}] if word == "enum" else {}})
        assert said == BARE
        assert len(notes) == 1

    @pytest.mark.parametrize("odd", [None, "x", 7, {"a": 1}, [None, 7, "x", []], [{"required": 7}]])
    def test_may_be_odd(self, odd: object) -> None:
        said = told("anthropic-messages", {**BARE, "anyOf": odd})[1]
        assert said == BARE


class TestATrueOrFalseSchema:
    @pytest.mark.parametrize("api", WANTING_OBJECTS)
    def test_goes_as_an_object_that_allows_the_same(self, api: str) -> None:
        schema: JsonObject = {
            "type": "object",
            "properties": {
                "any": True,
                "none": False,
                "list": {"type": "array", "items": True},
                "pair": {"type": "array", "prefixItems": [True, {"type": "string"}]},
                "open": {"type": "object", "additionalProperties": True},
            },
            "$defs": {"X": True},
        }
        _, said, (note,) = told(api, schema)
        assert said == {
            "type": "object",
            "properties": {
                "any": {},
                "none": {"not": {}},
                "list": {"type": "array", "items": {}},
                "pair": {"type": "array", "prefixItems": [{}, {"type": "string"}]},
                "open": {"type": "object", "additionalProperties": True},
            },
            "$defs": {"X": {}},
        }
        assert note == "the schema of read: schemas that are `true` or `false` are objects"
        assert schema["properties"]["any"] is True

    @pytest.mark.parametrize("api", sorted({*APIS} - {*WANTING_OBJECTS}))
    def test_goes_as_it_is_to_others(self, api: str) -> None:
        assert told(api, SCHEMAS["booleans"])[1:] == (SCHEMAS["booleans"], [])

    def test_that_is_a_value_stays_one(self) -> None:
        schema = {"type": "object", "properties": {"on": {"default": True, "enum": [True, False]}}}
        assert told("ollama", schema)[1:] == (schema, [])

    def test_is_found_however_deep_it_stands(self) -> None:
        schema: JsonObject = {"items": True}
        for _ in range(300):
            schema = {"items": schema}
        said, done = schema_for({"type": "object", **schema}, OLLAMA)
        assert done
        for _ in range(301):
            said = said["items"]
        assert said == {}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda held: (
        st.lists(held, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "properties", "required", "anyOf", "allOf", "items", "$ref", "x"]
            ),
            held,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(
    st.dictionaries(st.sampled_from(["type", "properties", "required", "anyOf", "x"]), json_values)
)
def test_whatever_a_schema_says_a_schema_comes_of_it_and_stays_it(schema: JsonObject) -> None:
    before = jsontext.write(schema)
    said, done = schema_for(schema, OPENAI)
    assert jsontext.write(schema) == before
    assert bool(done) == (said != schema)
    assert schema_for(said, OPENAI) == (said, "")
