"""A tool whose name an API refuses goes under another: its caller still gets its own."""

from __future__ import annotations

import pytest

import onrecord
from onrecord.domain.content import Native
from onrecord.domain.events import ToolCallRecorded
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.history.timeline import timeline
from onrecord.projections.history.tool_names import ANTHROPIC, OPENAI, name_for

GIVEN = "files.read now"
LONG = "mcp__" + "a" * 90
TOOLS = [{"name": name, "input_schema": {"type": "object"}} for name in (GIVEN, LONG, "look_up")]


def native_call(api: str, name: str) -> JsonObject:
    match api:
        case "anthropic-messages":
            return {"type": "tool_use", "id": "call_1", "name": name, "input": {"q": 1}}
        case "openai-chat":
            function = {"name": name, "arguments": '{"q": 1}'}
            return {"type": "function", "id": "call_1", "function": function}
        case _:
            asked = {"call_id": "call_1", "name": name, "arguments": '{"q": 1}'}
            return {"type": "function_call", "id": "fc_1", **asked}


@pytest.fixture
def chat() -> onrecord.Conversation:
    chat = onrecord.connect("memory://").conversation("support/4711")
    chat.tools.declare(TOOLS)
    chat.user("hi")
    return chat


def calls(chat: onrecord.Conversation, api: str, name: str) -> None:
    content = Native(api=api, value=native_call(api, name))
    chat.log.append(ToolCallRecorded(call_id="call_1", name=name, content=content))


@pytest.mark.parametrize(
    ("api", "longest"),
    [("anthropic-messages", ANTHROPIC), ("openai-chat", OPENAI), ("openai-responses", OPENAI)],
)
@pytest.mark.parametrize("given", [GIVEN, LONG, "look_up"])
def test_an_open_call_has_the_name_that_its_caller_gave(
    chat: onrecord.Conversation, api: str, longest: int, given: str
) -> None:
    calls(chat, api, name_for(given, longest))
    (call,) = chat.open_calls()
    assert (call.name, call.arguments) == (given, {"q": 1})


def test_a_name_that_no_tool_in_force_has_stays(chat: onrecord.Conversation) -> None:
    calls(chat, "openai-chat", "look_up_0123abcd")
    assert [call.name for call in chat.open_calls()] == ["look_up_0123abcd"]


def test_a_tool_of_just_that_name_is_the_one_that_is_called(chat: onrecord.Conversation) -> None:
    spelled = name_for(GIVEN, OPENAI)
    chat.tools.declare([*TOOLS, {"name": spelled, "input_schema": {"type": "object"}}])
    calls(chat, "openai-chat", spelled)
    assert [call.name for call in chat.open_calls()] == [spelled]


def test_a_fork_has_the_names_of_its_origin(chat: onrecord.Conversation) -> None:
    calls(chat, "openai-chat", name_for(GIVEN, OPENAI))
    assert [call.name for call in chat.fork("another").open_calls()] == [GIVEN]


def test_what_is_shown_bears_the_names_that_the_caller_gave(chat: onrecord.Conversation) -> None:
    calls(chat, "openai-chat", name_for(GIVEN, OPENAI))
    chat.tool_result("call_1", "found")
    told = [
        row.text for row in timeline(chat.events(after=0)) if row.kind in ("tool call", "result")
    ]
    assert told == [f'{GIVEN} {{"q":1}}', f"{GIVEN}: found"]
