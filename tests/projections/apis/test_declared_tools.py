"""What tools are in force: where each comes from, and what it takes, in words."""

from typing import Any
from uuid import UUID

import pytest

from onrecord.domain.content import Native
from onrecord.domain.errors import UnsupportedTool
from onrecord.domain.events import InstructionsSet, ToolsDeclared
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import BuiltinTool, ToolDefinition, ToolSource, tools_digest
from onrecord.projections.apis.declared_tools import (
    Declared,
    declared_in,
    definition_of,
    parameters,
    told_to,
)
from onrecord.projections.matching.recorded_units import same_tools

READ = ToolDefinition(name="read", description="Reads.", input_schema={"type": "object"})
SEARCH = BuiltinTool(name="web_search")
OWN = Native(
    api="anthropic-messages",
    value={"name": "look", "description": "Looks.", "input_schema": {"type": "object"}},
)
THEIRS = Native(api="gemini", value={"googleSearch": {}})
FILES = ToolSource(origin="mcp", name="files", version="2.1.0", tools=("read",))
PROVIDER = ToolSource(origin="provider", tools=("web_search",))


class TestADeclaration:
    def test_puts_its_tools_in_force(self) -> None:
        event = ToolsDeclared(tools=(READ, SEARCH), sources=(FILES,), sha256="ab")
        assert declared_in(event, 7, UUID(int=1)) == Declared(
            (READ, SEARCH), (FILES,), "ab", 7, UUID(int=1)
        )

    def test_without_a_digest_gets_that_of_its_tools(self) -> None:
        found = declared_in(ToolsDeclared(tools=(READ,)), 7, None)
        assert found.sha256 == tools_digest((READ,))

    def test_is_nothing_else(self) -> None:
        assert declared_in(InstructionsSet(content="Be kind."), 7, None) == Declared()


class TestWhereATool:
    def test_comes_from_is_told_by_its_name(self) -> None:
        declared = Declared((READ, SEARCH), (FILES, PROVIDER))
        assert [declared.source_of(tool) for tool in declared.tools] == [FILES, PROVIDER]

    def test_comes_from_may_be_unknown(self) -> None:
        assert Declared((READ, OWN)).source_of(READ) is None
        assert Declared((READ, OWN)).source_of(OWN) is None

    def test_comes_from_is_who_alone_can_run_it(self) -> None:
        source = Declared((THEIRS,)).source_of(THEIRS)
        assert source is not None
        assert (source.origin, source.name) == ("provider", "gemini")


class TestWhatATool:
    def test_is_told_as_to_any_model(self) -> None:
        own = definition_of(OWN)
        assert definition_of(READ) == READ
        assert own is not None
        assert (own.name, own.description) == ("look", "Looks.")

    def test_that_only_a_provider_runs_is_not_told_so(self) -> None:
        assert (definition_of(SEARCH), definition_of(THEIRS)) == (None, None)

    @pytest.mark.parametrize(
        ("schema", "kind"),
        [
            ({"type": "string"}, "string"),
            ({"type": ["string", "null"]}, "string | null"),
            ({"type": "array", "items": {"type": "integer"}}, "array of integer"),
            ({"type": "array"}, "array"),
            ({"type": "array", "items": True}, "array of anything"),
            ({"enum": ["a", 1, None]}, '"a" | 1 | null'),
            ({"type": "string", "enum": []}, "string"),
            ({"const": "a"}, '"a"'),
            (
                {"anyOf": [{"type": "string"}, {"type": "string"}, {"type": "null"}]},
                "string | null",
            ),
            ({"oneOf": [{"$ref": "#/$defs/Place"}, False]}, "Place | anything"),
            ({"$ref": "#/$defs/Place"}, "Place"),
            ({}, "anything"),
            (True, "anything"),
            (None, "anything"),
            ({"type": 7}, "anything"),
            ({"anyOf": []}, "anything"),
        ],
    )
    def test_takes_is_told_in_words(self, schema: Any, kind: str) -> None:
        (parameter,) = parameters(taking({"x": schema}))
        assert (parameter.name, parameter.kind, parameter.required) == ("x", kind, False)
        assert str(parameter) == f"x?: {kind}"

    def test_takes_is_told_in_the_order_of_its_schema(self) -> None:
        tool = taking(
            {"to": {"type": "string", "description": "Whom."}, "cc": {"type": "string"}}, ["to"]
        )
        assert [str(parameter) for parameter in parameters(tool)] == ["to: string", "cc?: string"]
        assert [parameter.description for parameter in parameters(tool)] == ["Whom.", None]

    @pytest.mark.parametrize("odd", [None, [], "x", 7, True])
    def test_takes_may_be_said_oddly(self, odd: Any) -> None:
        tool = ToolDefinition(name="f", input_schema={"properties": odd, "required": odd})
        assert parameters(tool) == ()


class TestWhatAnApi:
    def test_is_told_stands_where_its_requests_have_tools(self) -> None:
        assert list(told_to([READ], "bedrock-converse")[0]) == ["toolConfig"]
        assert list(told_to([READ], "ollama")[0]) == ["tools"]

    def test_is_told_where_there_are_none_is_nothing(self) -> None:
        assert told_to([], "gemini")[0] == {}

    def test_has_not_is_refused(self) -> None:
        with pytest.raises(UnsupportedTool, match="web_search"):
            told_to([SEARCH], "ollama")

    def test_cannot_read_is_left_out_with_a_note(self) -> None:
        members, report = told_to([THEIRS, READ], "ollama")
        assert len(members["tools"]) == 1
        assert [note.deed for note in report] == ["left out"]


def test_what_no_model_is_told_makes_no_other_tools() -> None:
    more = READ.model_copy(
        update={"title": "Read", "annotations": {"readOnlyHint": True}, "output_schema": {}}
    )
    value: JsonObject = {
        "name": "read",
        "description": "Reads.",
        "input_schema": {"type": "object"},
    }
    sent = ToolsDeclared(tools=(Native(api="anthropic-messages", value=value),))
    assert same_tools(ToolsDeclared(tools=(more,)), sent)
    other = more.model_copy(update={"description": "Reads a file."})
    assert not same_tools(ToolsDeclared(tools=(other,)), sent)


def taking(properties: JsonObject, required: list[str] | None = None) -> ToolDefinition:
    schema = {"type": "object", "properties": properties, "required": required or []}
    return ToolDefinition(name="f", input_schema=schema)
