"""Tools that providers have themselves: each API is told of them in its own spelling."""

from __future__ import annotations

import pytest

import onrecord
from onrecord.domain.content import Native
from onrecord.domain.events import ToolsDeclared
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import BuiltinTool, ToolDefinition
from onrecord.projections.apis.tools import ENCODERS, encode_tool
from onrecord.projections.matching.recorded_units import same_tools

SEARCH = BuiltinTool(name="web_search")
CLOCK = ToolDefinition(name="clock", input_schema={"type": "object"})

OPENAI_SERVER = {"server_label": "maps", "server_url": "https://maps.example/mcp"}

SPELLED: list[tuple[str, str, JsonObject]] = [
    ("anthropic-messages", "web_search", {"type": "web_search_20250305", "name": "web_search"}),
    (
        "anthropic-messages",
        "tool_search",
        {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"},
    ),
    ("openai-responses", "web_search", {"type": "web_search"}),
    (
        "openai-responses",
        "code_execution",
        {"type": "code_interpreter", "container": {"type": "auto"}},
    ),
    ("openai-responses", "program", {"type": "programmatic_tool_calling"}),
    ("gemini", "web_search", {"googleSearch": {}}),
    ("gemini", "web_fetch", {"urlContext": {}}),
    ("gemini", "code_execution", {"codeExecution": {}}),
    ("bedrock-converse", "web_search", {"systemTool": {"name": "nova_grounding"}}),
]


@pytest.mark.parametrize(("api", "name", "value"), SPELLED)
def test_each_api_spells_a_tool_its_own_way(api: str, name: str, value: JsonObject) -> None:
    assert encode_tool(BuiltinTool(name=name), api) == Native(api=api, value=value)


def test_the_name_of_an_anthropic_tool_is_what_its_calls_say() -> None:
    search = encode_tool(BuiltinTool(name="tool_search"), "anthropic-messages").value
    assert search["type"].startswith(search["name"])


def test_a_version_takes_the_place_of_the_date() -> None:
    tool = BuiltinTool(name="web_search", version="20260209")
    assert encode_tool(tool, "anthropic-messages").value["type"] == "web_search_20260209"
    assert encode_tool(tool, "openai-responses").value == {"type": "web_search"}


def test_options_go_to_their_own_api_alone() -> None:
    tool = BuiltinTool(name="web_search", options={"anthropic-messages": {"max_uses": 3}})
    assert encode_tool(tool, "anthropic-messages").value["max_uses"] == 3
    assert encode_tool(tool, "openai-responses").value == {"type": "web_search"}
    hosted = BuiltinTool(
        name="code_execution", options={"openai-responses": {"container": "cntr_1"}}
    )
    assert encode_tool(hosted, "openai-responses").value["container"] == "cntr_1"


@pytest.mark.parametrize(
    ("name", "api", "able"),
    [
        ("shell", "anthropic-messages", ("openai-responses",)),
        ("image_generation", "gemini", ("openai-responses",)),
        ("web_search", "openai-chat", tuple(ENCODERS)),
        ("web_search", "ollama", tuple(ENCODERS)),
        ("tea", "gemini", ()),
    ],
)
def test_a_tool_that_an_api_has_not_is_refused(name: str, api: str, able: tuple[str, ...]) -> None:
    with pytest.raises(onrecord.UnsupportedTool, match=name) as refused:
        encode_tool(BuiltinTool(name=name), api)
    assert (refused.value.tool, refused.value.api, refused.value.able) == (name, api, able)
    assert api in str(refused.value)
    assert all(other in str(refused.value) for other in able)


def test_anthropic_has_tools_of_a_server_by_its_name_alone() -> None:
    own = {"mcp_server_name": "maps", "default_config": {"defer_loading": True}}
    named = BuiltinTool(name="mcp", options={"anthropic-messages": own})
    value = {"type": "mcp_toolset", **own}
    assert encode_tool(named, "anthropic-messages") == Native(api="anthropic-messages", value=value)
    asked = chat()
    asked.tools.declare([BuiltinTool(name="mcp", options={"openai-responses": OPENAI_SERVER})])
    asked.user("Look.")
    assert asked.request("openai-responses")["tools"] == [{"type": "mcp", **OPENAI_SERVER}]
    with pytest.raises(
        onrecord.UnsupportedTool, match=r"mcp_server_name.* mcp_servers="
    ) as refused:
        asked.request("anthropic-messages")
    assert refused.value.able == ("anthropic-messages", "openai-responses")
    assert not same_tools(
        ToolsDeclared(tools=(BuiltinTool(name="mcp"),)),
        ToolsDeclared(tools=(Native(api="anthropic-messages", value=value),)),
    )


def test_the_report_names_the_server_that_the_call_wants_for_its_tools() -> None:
    own = {"mcp_server_name": "maps"}
    toolset = {"type": "mcp_toolset", **own}
    for tool in (
        BuiltinTool(name="mcp", options={"anthropic-messages": own}),
        Native(api="anthropic-messages", value=toolset),
    ):
        asked = chat()
        asked.tools.declare([tool])
        asked.user("Look.")
        request = asked.request("anthropic-messages")
        assert request["tools"] == [toolset]
        [note] = request.report.of("R24")
        assert note.deed == "noted"
        assert "mcp_servers" in note.why
        assert "'maps'" in note.why
        server = {"type": "url", "name": "maps", "url": "https://maps.example"}
        rest = {"model": "claude-sonnet-4-5", "max_tokens": 99}
        call = {**request, **rest}
        [breach] = onrecord.check_request("anthropic-messages", call).violations
        assert breach.rule == "R24"
        whole = {**call, "mcp_servers": [server]}
        assert onrecord.check_request("anthropic-messages", whole).violations == ()


def test_what_was_rendered_is_what_is_in_force() -> None:
    defined = ToolsDeclared(tools=(SEARCH, CLOCK))
    sent = ToolsDeclared(tools=(encode_tool(SEARCH, "openai-responses"), CLOCK))
    assert same_tools(defined, sent)
    dated = BuiltinTool(name="web_search", version="20260209")
    assert not same_tools(
        ToolsDeclared(tools=(SEARCH,)),
        ToolsDeclared(tools=(encode_tool(dated, "anthropic-messages"),)),
    )
    foreign = Native(api="openai-chat", value={"type": "function"})
    assert not same_tools(ToolsDeclared(tools=(SEARCH,)), ToolsDeclared(tools=(foreign,)))


def chat() -> onrecord.Conversation:
    return onrecord.connect("memory://").conversation("talk")


def test_a_request_has_the_tools_that_were_given() -> None:
    asked = chat()
    own = {"type": "image_generation", "size": "auto"}
    asked.tools.declare([SEARCH, CLOCK, Native(api="openai-responses", value=own)])
    asked.user("Look.")
    tools = asked.request("openai-responses")["tools"]
    assert [tool["type"] for tool in tools] == ["web_search", "function", "image_generation"]
    assert tools[2] == own
    assert asked.request("anthropic-messages")["tools"][0]["type"] == "web_search_20250305"


def test_a_request_for_an_api_that_has_not_the_tool_is_refused() -> None:
    asked = chat()
    asked.tools.declare([SEARCH])
    asked.user("Look.")
    with pytest.raises(onrecord.UnsupportedTool, match="openai-chat cannot run 'web_search'"):
        asked.request("openai-chat")
    asked.tools.declare([])
    assert "tools" not in asked.request("openai-chat")


def test_a_tool_of_another_api_that_was_recorded_is_left_out() -> None:
    asked = chat()
    asked.tools.declare([Native(api="gemini", value={"googleSearch": {}}), CLOCK])
    asked.user("Look.")
    request = asked.request("openai-chat")
    assert [tool["function"]["name"] for tool in request["tools"]] == ["clock"]
    assert [note.deed for note in request.report if note.rule == "foreign"] == ["left out"]


def test_a_tool_that_no_api_has_is_refused_with_the_names_of_those_there_are() -> None:
    asked = onrecord.connect("memory://").conversation("a")
    with pytest.raises(onrecord.InvalidContent, match=r"'websearch': name one of .*web_search"):
        asked.tools.declare([BuiltinTool(name="websearch")])


def test_options_for_an_api_that_is_none_are_refused() -> None:
    asked = chat()
    with pytest.raises(onrecord.UnknownApi, match="anthropic"):
        asked.tools.declare(
            [BuiltinTool(name="web_search", options={"anthropic": {"max_uses": 3}})]
        )
    assert asked.head().version == 0


SKILL: JsonObject = {"type": "anthropic", "skill_id": "pptx", "version": "latest"}
REFERENCE: JsonObject = {"type": "skill_reference", "skill_id": "skill_1"}
SKILLS = BuiltinTool(
    name="skills",
    options={
        "anthropic-messages": {"skills": [SKILL]},
        "openai-responses": {"skills": [REFERENCE]},
    },
)


def test_skills_stand_where_each_api_runs_them() -> None:
    asked = chat()
    asked.tools.declare([SKILLS, BuiltinTool(name="code_execution"), CLOCK])
    asked.user("Make slides.")
    request = asked.request("anthropic-messages")
    assert request["container"] == {"skills": [SKILL]}
    assert [tool["name"] for tool in request["tools"]] == ["code_execution", "clock"]
    assert not onrecord.check_request("anthropic-messages", request).violations
    with pytest.raises(onrecord.UnsupportedTool, match="gemini cannot run 'skills'"):
        asked.request("gemini")
    asked.tools.declare([SKILLS])
    request = asked.request("openai-responses")
    environment = {"type": "container_auto", "skills": [REFERENCE]}
    assert request["tools"] == [{"type": "shell", "environment": environment}]
    assert not onrecord.check_request("openai-responses", request).violations


@pytest.mark.parametrize(
    "runner",
    [
        BuiltinTool(name="code_execution", version="20260120"),
        Native(
            api="anthropic-messages",
            value={"type": "code_execution_20260120", "name": "code_execution"},
        ),
    ],
)
def test_skills_bring_nothing_where_a_tool_that_runs_code_is_declared(
    runner: BuiltinTool | Native,
) -> None:
    asked = chat()
    asked.tools.declare([SKILLS, CLOCK, runner])
    asked.user("Make slides.")
    request = asked.request("anthropic-messages")
    kinds = [tool.get("type") for tool in request["tools"]]
    assert kinds == [None, "code_execution_20260120"]
    assert not onrecord.check_request("anthropic-messages", request).violations
