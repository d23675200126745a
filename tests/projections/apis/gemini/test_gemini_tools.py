"""Instructions and tools in Gemini's requests."""

from __future__ import annotations

import pytest

from onrecord.domain.content import Native
from onrecord.domain.errors import UnsupportedTool
from onrecord.domain.events import InstructionsSet, ToolsDeclared
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import BuiltinTool, ToolDefinition
from onrecord.projections.apis.request import Options
from onrecord.projections.history.tool_names import given_names, is_spelled_anew, name_for_gemini
from tests.projections.apis.gemini import gemini_happenings as gemini
from tests.projections.apis.openai_chat import chat_happenings as chat
from tests.projections.happenings import Story, rules

SCHEMA: JsonObject = {"type": "object", "properties": {}, "$defs": {"a": {}}}


def with_tools(*tools: ToolDefinition | BuiltinTool | Native) -> Story:
    story = Story()
    story.happen(ToolsDeclared(tools=tools))
    story.user("hi")
    return story


def function(name: str) -> JsonObject:
    return {"name": name, "parametersJsonSchema": SCHEMA}


def test_all_functions_go_in_one_tool_the_service_s_own_beside_it() -> None:
    story = with_tools(
        gemini.native({"functionDeclarations": [function("a")]}),
        gemini.native({"googleSearch": {}}),
        gemini.native({"function_declarations": [{"name": "b", "parameters": {"type": "OBJECT"}}]}),
        ToolDefinition(name="c", description="C.", input_schema=SCHEMA),
        chat.native({"type": "function", "function": {"name": "d", "parameters": SCHEMA}}),
        chat.native({"type": "web_search"}),
        BuiltinTool(name="code_execution"),
    )
    request = gemini.gemini(story)
    declared = [
        function("a"),
        {"name": "b", "parameters": {"type": "OBJECT"}},
        {**function("c"), "description": "C."},
        function("d"),
    ]
    tools: list[JsonObject] = [
        {"functionDeclarations": declared},
        {"googleSearch": {}},
        {"codeExecution": {}},
    ]
    assert request.body["tools"] == request["config"]["tools"] == tools
    assert rules(request) == {"foreign"}


def test_a_tool_that_the_service_has_not_is_refused() -> None:
    with pytest.raises(UnsupportedTool):
        gemini.gemini(with_tools(BuiltinTool(name="shell")))


def test_without_tools_and_instructions_there_is_no_configuration() -> None:
    story = Story()
    story.user("hi")
    request = gemini.gemini(story)
    assert dict(request) == request.body == {"contents": [gemini.of_user("hi")]}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("be kind", {"parts": [{"text": "be kind"}]}),
        (" ", None),
        (
            gemini.native({"systemInstruction": {"role": "user", "parts": [{"text": "a"}] * 2}}),
            {"role": "user", "parts": [{"text": "a"}] * 2},
        ),
        (
            chat.native({"messages": [{"role": "developer", "content": "a"}]}),
            {"parts": [{"text": "a"}]},
        ),
    ],
)
def test_instructions_go_in_a_place_of_their_own(
    content: str | Native, told: JsonObject | None
) -> None:
    story = Story()
    story.happen(InstructionsSet(content=content))
    story.user("hi")
    request = gemini.gemini(story)
    assert request.body.get("systemInstruction") == told
    assert request.get("config", {}).get("systemInstruction") == told


@pytest.mark.parametrize("name", ["look_up", "files.read", "a:b-c", "_x", "a" * 64])
def test_a_name_that_the_service_takes_stays(name: str) -> None:
    assert name_for_gemini(name) == name


@pytest.mark.parametrize("name", ["2fa", "-x", "files/read", "é", "", "a" * 65, "9" * 80])
def test_a_name_that_it_does_not_take_is_spelled_anew_and_known_again(name: str) -> None:
    spelled = name_for_gemini(name)
    assert name_for_gemini(spelled) == spelled
    assert is_spelled_anew(spelled)
    defined = ToolsDeclared(tools=(ToolDefinition(name=name, input_schema=SCHEMA),))
    assert given_names(defined)[spelled] == name


def test_a_tool_that_goes_nowhere_else_is_named_as_the_service_names_it() -> None:
    story = Story()
    story.happen(ToolsDeclared(tools=(Native(api="gemini", value={"googleSearch": {}}),)))
    story.user("hi")
    (note,) = story.request(Options(api="openai-chat")).report.of("foreign")
    assert note.why == "googleSearch, in the form of gemini"
