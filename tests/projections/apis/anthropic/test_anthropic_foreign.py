"""Blocks of other APIs in a request to Anthropic: what they say, without what only their maker reads.

The other API here spells its blocks as Anthropic does; what it is read by decides, not its name.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from onrecord.domain.content import Native
from onrecord.domain.events import (
    InstructionsSet,
    MessageRecorded,
    OpaqueRecorded,
    ReasoningRecorded,
    ServerToolCallRecorded,
    ServerToolResultRecorded,
    ToolCallRecorded,
    ToolResultRecorded,
)
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.api import FOLDERS
from onrecord.projections.apis.anthropic.read import NAME
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
from tests.projections.refused import refused

ELSEWHERE = "elsewhere"
IMAGE: JsonObject = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="},
}


@pytest.fixture(autouse=True)
def reader(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(FOLDERS, ELSEWHERE, FOLDERS[NAME])
    yield


def native(value: JsonObject, api: str = ELSEWHERE) -> Native:
    return Native(api=api, value=value)


def test_text_goes_and_reasoning_does_not() -> None:
    """Another provider's reasoning is never sent as thinking: its signature says nothing here."""
    story = Story()
    story.user("hi")
    response = story.speak(stop="end_turn")
    story.happen(ReasoningRecorded(response=response, index=0, content=native(thinking())))
    said = (native({"type": "text", "text": "hello", "annotations": []}),)
    story.happen(MessageRecorded(role="assistant", content=said))
    story.user("thanks")
    request = story.request()
    assert flat(request)[1:-1] == [("assistant", text("hello"))]
    assert [(note.deed, note.rule) for note in request.report] == [
        ("left out", "foreign"),
        ("translated", "foreign"),
    ]


def test_a_block_that_nobody_here_reads_is_left_out_and_named() -> None:
    story = Story()
    story.user("hi")
    response = story.speak("well", stop="end_turn")
    for api in (ELSEWHERE, "morse"):
        dark = native({"type": "dash", "text": "secret"}, api)
        story.happen(OpaqueRecorded(response=response, index=1, type="dash", content=dark))
    story.user("thanks")
    request = story.request()
    assert flat(request)[1:-1] == [("assistant", text("well"))]
    assert [str(note) for note in request.report] == [
        "version 3: left out, a dash of elsewhere that only that API can read [foreign]",
        "version 4: left out, a dash of morse that only that API can read [foreign]",
    ]


def test_a_call_keeps_its_arguments_and_a_result_its_content() -> None:
    story = Story()
    story.user("hi")
    call = native(tool_use("toolu_1"))
    story.happen(ToolCallRecorded(call_id="toolu_1", name="look_up", content=call))
    result = native({**result_of("toolu_1"), "content": [text("seen"), IMAGE]})
    story.happen(ToolResultRecorded(call_id="toolu_1", content=result))
    request = story.request()
    assert [block for _, block in flat(request)][1:] == [
        tool_use("toolu_1"),
        {**result_of("toolu_1"), "content": [text("seen"), IMAGE]},
    ]
    assert rules(request) == {"foreign"}
    assert refused("anthropic-messages", request) == ()


def test_a_call_or_result_that_nobody_here_reads_is_named() -> None:
    """Both stay, for a call without result is refused (R1): what they hold is left out."""
    story = Story()
    story.user("hi")
    call = native(tool_use("toolu_1"), "morse")
    story.happen(ToolCallRecorded(call_id="toolu_1", name="look_up", content=call))
    result = native(result_of("toolu_1"), "morse")
    story.happen(ToolResultRecorded(call_id="toolu_1", content=result))
    request = story.request()
    (_, called), (_, given) = flat(request)[1:]
    assert (called["input"], called["name"]) == ({}, "look_up")
    assert "found" not in str(given)
    assert [note.deed for note in request.report.of("foreign")] == ["left out", "left out"]
    assert refused("anthropic-messages", request) == ()


def test_what_another_providers_tools_did_goes_as_words() -> None:
    story = Story()
    story.user("hi")
    response = story.speak(stop="end_turn")
    call = native(server_tool_use("srvtoolu_1"))
    result = native(search_result("srvtoolu_1"))
    story.happen(
        ServerToolCallRecorded(
            response=response, index=0, call_id="srvtoolu_1", name="web_search", content=call
        )
    )
    story.happen(
        ServerToolResultRecorded(response=response, index=1, call_id="srvtoolu_1", content=result)
    )
    story.user("thanks")
    request = story.request()
    assert [block for _, block in flat(request)][1:-1] == [
        text("[web_search was used.]\nquery: x"),
        text("[web_search gave:]\nx\nhttps://example.com"),
    ]
    assert rules(request) == {"foreign"}


def test_a_picture_that_an_assistant_made_goes_as_words() -> None:
    """An assistant's turn holds no image: only what a user may say does ("Vision")."""
    story = Story()
    story.user("draw", native(IMAGE))
    response = story.speak("here", stop="end_turn")
    drawn = OpaqueRecorded(response=response, index=1, type="image", content=native(IMAGE))
    story.happen(drawn)
    story.user("thanks")
    request = story.request()
    assert flat(request)[1] == ("user", IMAGE)
    assert flat(request)[3] == (
        "assistant",
        text("[A picture (image/png).]"),
    )
    assert rules(request) == {"foreign"}


def test_a_stray_call_stays_away_and_a_stray_result_goes_as_words() -> None:
    """R1 and R2: a call needs its result, and a result its call."""
    story = Story()
    story.user("hi", native(result_of("toolu_1")))
    story.happen(MessageRecorded(role="assistant", content=(native(tool_use("toolu_2")),)))
    request = story.request()
    assert flat(request) == [("user", text("hi")), ("user", text("found"))]
    assert rules(request) == {"foreign"}


@pytest.mark.parametrize("data", ["", "abc", "é"])
def test_a_picture_that_cannot_be_read_goes_as_words(data: str) -> None:
    story = Story()
    source = {"type": "base64", "media_type": "image/png", "data": data}
    story.user(native({"type": "image", "source": source}))
    story.answer("I see none.")
    story.user("thanks")
    request = story.request()
    assert flat(request)[0] == ("user", text("[The document (image/png) cannot be shown here.]"))
    assert rules(request) == {"foreign", "document"}


def test_instructions_go_as_their_text() -> None:
    story = Story()
    story.happen(InstructionsSet(content=native(text("Be brief."))))
    story.user("hi")
    assert story.request()["system"] == "Be brief."
