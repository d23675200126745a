"""From one provider to another: what Anthropic's blocks become in Chat Completions, and back."""

from __future__ import annotations

from typing import Any

from onrecord.adapters.check.check import check_request
from onrecord.domain.content import Native
from onrecord.domain.events import InstructionsSet, ToolsDeclared
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.documents import PREAMBLE
from onrecord.projections.apis.openai_chat.read import NAME
from tests.projections.apis.openai_chat import chat_happenings as chat
from tests.projections.happenings import API as ANTHROPIC
from tests.projections.happenings import (
    Story,
    flat,
    result_of,
    rules,
    search_result,
    server_tool_use,
    text,
    thinking,
    tool_use,
)

SCHEMA: JsonObject = {"type": "object", "properties": {"q": {"type": "string"}}}
IMAGE: JsonObject = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="},
}
LINK: JsonObject = {
    "type": "image_url",
    "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="},
}
DEVELOPER: JsonObject = {"role": "developer", "content": "Be brief."}
TOOL: JsonObject = {"name": "look_up", "description": "Finds.", "input_schema": SCHEMA}
FUNCTION: JsonObject = {
    "type": "function",
    "function": {"name": "look_up", "description": "Finds.", "parameters": SCHEMA},
}


def anthropics(value: JsonObject) -> Native:
    return Native(api=ANTHROPIC, value=value)


def is_taken(api: str, request: Any) -> bool:
    return check_request(api, request).is_accepted


def test_an_answer_of_anthropics_is_one_message_with_its_calls() -> None:
    """Texts that a citation cut in two are one again; thoughts and signatures stay behind."""
    story = Story()
    story.user("hi", IMAGE)
    story.answer(
        thinking(),
        "It is ",
        text("sunny."),
        server_tool_use("srvtoolu_1"),
        search_result("srvtoolu_1"),
        "So",
        tool_use("toolu_1"),
        tool_use("toolu_2"),
        stop="tool_use",
    )
    story.native_result({**result_of("toolu_2", "two"), "is_error": True})
    story.native_result({**result_of("toolu_1", "one"), "content": [text("one"), IMAGE]})
    story.user("thanks")
    request = chat.chat(story)
    searched = "[web_search was used.]\nquery: x\n\n[web_search gave:]\nx\nhttps://example.com"
    tag = '<document tool-name="look_up" tool-call-id="toolu_1" />'
    assert request["messages"] == [
        {"role": "user", "content": [text("hi"), LINK]},
        {
            "role": "assistant",
            "content": f"It is sunny.\n\n{searched}\n\nSo",
            "tool_calls": [
                chat.function("toolu_1", '{"q":"toolu_1"}'),
                chat.function("toolu_2", '{"q":"toolu_2"}'),
            ],
        },
        {"role": "tool", "tool_call_id": "toolu_1", "content": f"one\n{tag}"},
        {"role": "tool", "tool_call_id": "toolu_2", "content": "two"},
        {
            "role": "user",
            "content": [text(PREAMBLE), text(tag), LINK],
        },
        {"role": "user", "content": "thanks"},
    ]
    assert rules(request) == {"foreign", "C3"}
    assert {note.version for note in request.report} >= {*range(1, 10), 11, 12}
    assert is_taken(NAME, request)


def test_an_answer_of_chat_completions_goes_to_anthropic() -> None:
    story = Story()
    story.user("hi", chat.native(LINK), chat.native({"type": "text", "text": "look"}))
    chat.asks(story, chat.DEEPSEEK)
    message = chat.says(None, chat.function("call:1"), chat.function("call_2", "{"))
    chat.answers(story, {**message, "reasoning_content": "hm"})
    chat.gives(story, "call_2", "two")
    chat.gives(story, "call:1", [{"type": "text", "text": "one"}, LINK])
    chat.asks(story)
    chat.answers(story, chat.says(None, refusal="I cannot."))
    story.user(chat.native({"role": "user", "content": "why?", "name": "ann"}))
    request = story.request()
    said = flat(request)
    call_id = said[3][1]["id"]
    assert said == [
        ("user", text("hi")),
        ("user", IMAGE),
        ("user", text("look")),
        ("assistant", {**tool_use(call_id), "input": {"q": 1}}),
        ("assistant", {**tool_use("call_2"), "input": {"arguments": "{"}}),
        ("user", {**result_of(call_id, "one"), "content": [text("one"), IMAGE]}),
        ("user", result_of("call_2", "two")),
        ("assistant", text("I cannot.")),
        ("user", text("ann: why?")),
    ]
    assert rules(request) == {"foreign", "R15"}
    assert [note.deed for note in request.report if "reasoning" in note.why] == ["left out"]
    assert is_taken(ANTHROPIC, {"model": "claude-sonnet-4-5", "max_tokens": 9, **request})


def test_the_model_that_answered_last_is_that_of_this_api() -> None:
    """Whoever of another API has answered since."""
    story = Story()
    story.happen(InstructionsSet(content=chat.native({"messages": [DEVELOPER]})))
    story.user("hi")
    chat.asks(story, chat.DEEPSEEK)
    chat.answers(story, chat.says("hello"), model=chat.DEEPSEEK)
    assert chat.messages(story)[0]["role"] == "system"
    story.user("and you?")
    story.answer("hello, too")
    assert chat.messages(story)[0]["role"] == "system"


def test_an_opaque_call_of_chat_completions_stays_away_from_anthropic() -> None:
    story = Story()
    story.user("hi")
    chat.asks(story)
    call: JsonObject = {"type": "function", "function": {"name": "f", "arguments": "{}"}}
    chat.answers(story, chat.says("so", call), stop="stop")
    story.user("and?")
    request = story.request()
    assert flat(request)[1:-1] == [("assistant", text("so"))]
    assert "left out, a call that was not recorded as one [foreign]" in str(request.report)


def test_a_message_that_broke_off_goes_to_anthropic_as_its_text() -> None:
    story = Story()
    story.user("hi")
    chat.asks(story)
    chat.breaks_off(story, {}, chat.says("I will"))
    story.user("go on")
    assert flat(story.request())[1] == ("assistant", text("I will"))


def test_instructions_cross_as_their_text() -> None:
    story = Story()
    story.user("hi")
    blocks: JsonObject = {"system": [text("Be brief."), {**text("And kind."), "cache_control": {}}]}
    story.happen(InstructionsSet(content=anthropics(blocks)))
    assert chat.messages(story)[0] == {"role": "system", "content": "Be brief.\n\nAnd kind."}
    given: list[JsonObject] = [
        {"role": "developer", "content": "Be brief."},
        {"role": "system", "content": [text("And kind.")]},
    ]
    story.happen(InstructionsSet(content=chat.native({"messages": given})))
    assert story.request()["system"] == "Be brief.\n\nAnd kind."
    assert rules(story.request()) == rules(chat.chat(story)) | {"foreign"}


def test_instructions_without_text_are_left_out_and_named() -> None:
    story = Story()
    story.user("hi")
    story.happen(InstructionsSet(content=chat.native({"messages": [{"role": "system"}]})))
    request = story.request()
    assert "system" not in request
    assert [note.deed for note in request.report] == ["left out"]


def test_tools_cross_unless_the_provider_runs_them() -> None:
    story = Story()
    story.user("hi")
    own = anthropics({"type": "web_search_20250305", "name": "web_search"})
    story.happen(ToolsDeclared(tools=(anthropics(TOOL), own)))
    request = chat.chat(story)
    assert request["tools"] == [FUNCTION]
    assert [note.deed for note in request.report] == ["translated", "left out"]
    custom = chat.native({"type": "custom", "custom": {"name": "grep"}})
    story.happen(ToolsDeclared(tools=(chat.native(FUNCTION), custom)))
    request = story.request()
    assert [tool["name"] for tool in request["tools"]] == [TOOL["name"], "grep"]
    assert [note.deed for note in request.report] == ["translated"]
    assert chat.chat(story)["tools"] == [FUNCTION, custom.value]
