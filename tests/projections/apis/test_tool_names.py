"""Names of tools that a service does not take: spelled anew, in tools and calls alike."""

from __future__ import annotations

import re
from typing import Any

import pytest

from onrecord.domain.content import Native
from onrecord.domain.events import ToolCallRecorded, ToolsDeclared
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.api import known_api
from onrecord.projections.apis.openai_chat.read import NAME as CHAT
from onrecord.projections.apis.request import APIS, Options, Request
from onrecord.projections.history.tool_names import OPENAI, name_for
from tests.projections.apis.openai_chat import chat_happenings as chat
from tests.projections.happenings import API as ANTHROPIC
from tests.projections.happenings import Story, rules, tool_use
from tests.projections.refused import refused

SCHEMA: JsonObject = {"type": "object", "properties": {}}
NAMES = ["files.read now", "files_read now", "mcp__" + "a" * 130, "mcp__" + "a" * 131, "é", ""]
FITTING = r"[a-zA-Z0-9_-]{1,64}"
RULES = {
    "anthropic-messages": "R15",
    "openai-chat": "C13",
    "openai-responses": "O7",
    "ollama": "L7",
    "gemini": "G9",
    "bedrock-converse": "B11",
}


def calls(*names: str) -> Story:
    """A conversation whose tools have these names, each called once."""
    story = Story()
    story.happen(
        ToolsDeclared(tools=tuple(ToolDefinition(name=name, input_schema=SCHEMA) for name in names))
    )
    story.user("hi")
    for place, name in enumerate(names):
        story.call(f"call_{place}", name)
        story.result(f"call_{place}")
    return story


def defined(request: Request) -> list[str]:
    config = request.body.get("toolConfig", request.body)
    return [each["name"] for tool in config["tools"] for each in functions(tool)]


def functions(tool: JsonObject) -> list[JsonObject]:
    one: JsonObject = tool.get("toolSpec") or tool.get("function") or tool
    declared: list[JsonObject] = tool.get("functionDeclarations", [one])
    return declared


def called(request: Request) -> list[str]:
    said: list[Any] = request[known_api(request.api).messages]
    found: list[str] = []
    for message in said:
        found += [call["function"]["name"] for call in message.get("tool_calls", [])]
        parts: list[Any] = [message] if "type" in message else content(message)
        for kind in ("functionCall", "toolUse"):
            found += [part[kind]["name"] for part in parts if kind in part]
        found += [part["name"] for part in parts if isinstance(part, dict) and "name" in part]
    return found


def content(message: JsonObject) -> list[Any]:
    held: list[Any] = message.get("parts") or message.get("content") or []
    return held


@pytest.mark.parametrize("api", APIS)
def test_tools_and_their_calls_have_one_name_that_the_service_takes(api: str) -> None:
    request = calls("look_up", *NAMES).request(Options(api=api))
    assert defined(request) == called(request)
    assert len(set(defined(request))) == 1 + len(NAMES)
    assert defined(request)[0] == "look_up"
    longest = FITTING.replace("64", "128") if api == ANTHROPIC else FITTING
    assert all(re.fullmatch(longest, name) for name in defined(request))
    assert refused(api, request) == ()
    assert RULES[api] in rules(request)


@pytest.mark.parametrize("api", APIS)
def test_the_report_says_under_which_name_a_tool_goes(api: str) -> None:
    request = calls("files/read").request(Options(api=api))
    whys = {note.why for note in request.report.of(RULES[api])}
    (name,) = defined(request)
    assert whys == {f"the service does not take the name 'files/read': the tool goes as {name!r}"}


def test_a_name_that_anthropic_takes_may_be_too_long_for_openai() -> None:
    name = "mcp__" + "a" * 90
    story = Story()
    tool = {"name": name, "input_schema": SCHEMA}
    story.happen(ToolsDeclared(tools=(Native(api=ANTHROPIC, value=tool),)))
    story.user("hi")
    story.answer(tool_use("toolu_1", name), stop="tool_use")
    story.result("toolu_1")
    for api in ("openai-chat", "openai-responses"):
        request = story.request(Options(api=api))
        assert defined(request) == called(request)
        assert len(defined(request)[0]) == 64
        assert refused(api, request) == ()
    assert defined(story.request()) == called(story.request()) == [name]


@pytest.mark.parametrize(("model", "stays"), [("gpt-4.1", False), ("kimi-k2", True), (None, True)])
def test_a_name_that_a_compatible_server_took_stays_there(model: str | None, stays: bool) -> None:
    story = Story()
    function = {"name": "files.read", "parameters": SCHEMA}
    tool = chat.native({"type": "function", "function": function})
    story.happen(ToolsDeclared(tools=(tool,)))
    story.user("hi")
    call = chat.function("call_1")
    call["function"]["name"] = "files.read"
    chat.answers(story, chat.says(None, call), model="kimi-k2" if stays else "gpt-4.1")
    chat.gives(story, "call_1")
    request = chat.chat(story, Options(api=CHAT, model=model))
    assert defined(request) == called(request)
    assert (defined(request) == ["files.read"]) == stays


def test_a_call_of_a_custom_tool_crosses_with_its_tool() -> None:
    story = Story()
    custom = chat.native({"type": "custom", "custom": {"name": "sql", "description": "Asks."}})
    story.happen(ToolsDeclared(tools=(custom,)))
    story.user("hi")
    call = {"id": "call_1", "type": "custom", "custom": {"name": "sql", "input": "SELECT 1"}}
    chat.answers(story, chat.says(None, call))
    chat.gives(story, "call_1", "1")
    for api in (ANTHROPIC, "openai-responses"):
        request = story.request(Options(api=api))
        assert defined(request) == called(request) == ["sql"]
        assert "SELECT 1" in str(dict(request))


def test_a_neutral_call_and_its_tool_are_not_taken_apart_by_a_model() -> None:
    story = calls("files.read")
    for model in ("gpt-4.1", "kimi-k2", "mistral-large-latest"):
        request = chat.chat(story, Options(api=CHAT, model=model))
        assert defined(request) == called(request) != ["files.read"]


def test_a_call_without_a_tool_fits_as_well() -> None:
    story = Story()
    story.user("hi")
    content = chat.native(chat.function("call_1"))
    story.happen(ToolCallRecorded(call_id="call_1", name="a b", content=content))
    assert called(story.request(Options(api="openai-responses")))[0].startswith("a_b_")


def test_a_call_under_a_name_that_was_spelled_anew_crosses_with_its_tool() -> None:
    """OpenAI was told of the tool under another name than Anthropic takes."""
    name = "mcp__" + "a" * 90
    story = Story()
    story.happen(ToolsDeclared(tools=(ToolDefinition(name=name, input_schema=SCHEMA),)))
    story.user("hi")
    spelled = name_for(name, OPENAI)
    call = chat.function("call_1")
    call["function"]["name"] = spelled
    chat.answers(story, chat.says(None, call))
    chat.gives(story, "call_1")
    assert defined(story.request()) == called(story.request()) == [name]
    for api in (CHAT, "openai-responses"):
        request = story.request(Options(api=api))
        assert defined(request) == called(request) == [spelled]
        assert refused(api, request) == ()
