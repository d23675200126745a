"""Texts, documents, notes and the ends of a request to Anthropic: R5, R10, R11, R17, R20 to R23."""

from __future__ import annotations

import hashlib

import pytest

from onrecord.domain.content import Reasoning
from onrecord.domain.errors import NothingToSend, UnknownApi
from onrecord.domain.events import (
    ReasoningRecorded,
)
from onrecord.domain.request_template import Recipe
from onrecord.projections.apis.request import Options, options_of, render, renderer_digest
from onrecord.projections.history.windows import MessageWindow, Window
from tests.projections.happenings import (
    API,
    Story,
    flat,
    rules,
    text,
    thinking,
    tool_change,
    tool_use,
)

PDF = b"%PDF-1.7"
DIGEST = hashlib.sha256(PDF).hexdigest()


def test_a_conversation_without_turns_has_no_request() -> None:
    story = Story()
    story.instruct("Be brief.")
    with pytest.raises(NothingToSend, match="say something first"):
        story.request()


def test_a_window_without_turns_says_that_it_is_the_window() -> None:
    story = Story()
    story.user("Hello")
    with pytest.raises(NothingToSend, match="let it keep more"):
        render(story.events, Options(window=MessageWindow(messages=0)))


def test_an_api_that_is_not_known_is_an_error() -> None:
    with pytest.raises(UnknownApi, match="anthropic-messages"):
        render([], Options(api="morse"))


@pytest.mark.parametrize("blank", ["", " ", "\n\n"])
def test_blank_text_is_left_out(blank: str) -> None:
    """R10: "messages: text content blocks must contain non-whitespace text"."""
    story = Story()
    story.user("hi")
    story.answer(blank, tool_use("toolu_1"), stop="tool_use")
    story.result("toolu_1")
    request = story.request()
    assert flat(request)[1] == ("assistant", tool_use("toolu_1"))
    assert rules(request) == {"R10"}


def test_whitespace_beside_a_real_text_stays_but_empty_text_does_not() -> None:
    """R10: [" ", "real"] is accepted; "messages: text content blocks must be non-empty"."""
    story = Story()
    story.user(" ", "real", "")
    request = story.request()
    assert flat(request) == [("user", text(" ")), ("user", text("real"))]
    assert [note.rule for note in request.report] == ["R10"]


def test_a_turn_with_nothing_left_vanishes_and_its_neighbours_join() -> None:
    """R5: content must not be empty; consecutive messages of one role are one."""
    story = Story()
    story.user("hi")
    story.ask()
    story.answer("\n\n")
    story.user("well?")
    assert story.request()["messages"] == [{"role": "user", "content": [text("hi"), text("well?")]}]


def test_a_last_assistant_text_does_not_end_with_whitespace() -> None:
    """R11: "messages: final assistant content cannot end with trailing whitespace"."""
    story = Story()
    story.user("hi")
    story.answer("Hello \n")
    request = story.request()
    assert flat(request)[-1] == ("assistant", text("Hello"))
    assert [note.deed for note in request.report.of("R11")] == ["noted", "repaired"]
    story.user("go on")
    assert flat(story.request())[1] == ("assistant", text("Hello \n"))


def test_a_last_assistant_block_is_not_thinking() -> None:
    """R11: the final block of an assistant's message may not be thinking."""
    story = Story()
    story.user("hi")
    story.cut("Hello", thinking())
    assert flat(story.request())[-1] == ("assistant", text("Hello"))


def test_native_blocks_go_back_as_they_came() -> None:
    """R12, R17: nothing is added, nulls and order of keys stay."""
    citation = {"type": "char_location", "document_title": None, "file_id": None}
    block = {"text": "so", "citations": [citation], "type": "text"}
    unknown = {"type": "of_tomorrow", "held": {"a": None}}
    story = Story()
    story.user("hi")
    story.answer(block, unknown)
    story.user("thanks")
    request = story.request()
    assert [list(held) for _, held in flat(request)[1:3]] == [
        ["text", "citations", "type"],
        ["type", "held"],
    ]
    assert [held for _, held in flat(request)[1:3]] == [block, unknown]
    assert rules(request) == set()


def test_a_file_that_code_left_in_its_container_is_told_of_and_not_sent_back() -> None:
    upload = {"type": "container_upload", "file_id": "file_1"}
    story = Story()
    story.user("hi")
    story.answer("Here it is.", upload)
    story.user("thanks")
    request = story.request()
    assert upload not in [held for _, held in flat(request)]
    assert rules(request) == {"record"}


def test_the_operators_notes_stand_after_the_users_turn() -> None:
    """R21: accepted only before an assistant's turn or at the end, after a user's turn."""
    story = Story()
    story.note("the user is a lawyer")
    story.user("hi")
    story.answer("Hello")
    story.user("and")
    story.note("be brief")
    request = story.request()
    assert [message["role"] for message in request["messages"]] == [
        *("user", "system", "assistant", "user", "system"),
    ]
    assert [note.deed for note in request.report] == ["moved"]


def test_the_operators_changes_of_tools_go_as_they_came() -> None:
    """R21: beside text, a system message takes `tool_addition` and `tool_removal`; nothing else."""
    story = Story()
    story.user("hi")
    definition = {"name": "f", "input_schema": {"type": "object"}}
    inline = {"type": "tool_definition", "definition": definition}
    changes = [{"type": "tool_addition", "tool": inline}, tool_change("g", "tool_removal")]
    story.note("here you are", *changes)
    assert story.request()["messages"][-1] == {
        "role": "system",
        "content": [text("here you are"), *changes],
    }
    assert len(story.request().report) == 0
    story.note({"type": "image", "source": {"type": "url", "url": "https://example.com/x.png"}})
    assert rules(story.request()) == {"R21"}


def test_a_change_of_tools_stands_only_after_a_users_turn() -> None:
    """R21: a system message must follow a user's, and no other may hold a change of tools."""
    story = Story()
    story.user("hi")
    story.answer("Hello")
    story.note(tool_change("f"))
    request = story.request()
    assert flat(request)[-1] == ("assistant", text("Hello"))
    assert [note.deed for note in request.report.of("R21")] == ["left out"]
    story.note("you may look things up now")
    assert flat(story.request())[2:] == [
        ("user", text("you may look things up now")),
        ("system", tool_change("f")),
    ]
    story.user("and?")
    assert flat(story.request())[2:] == [
        ("user", text("and?")),
        ("system", tool_change("f")),
        ("system", text("you may look things up now")),
    ]


def test_a_note_without_a_users_turn_goes_as_the_users() -> None:
    story = Story()
    story.note("be brief")
    request = story.request()
    assert request["messages"] == [{"role": "user", "content": [text("be brief")]}]
    assert [note.deed for note in request.report.of("R21")] == ["translated"]


def test_reasoning_that_is_not_signed_is_never_sent_as_thinking() -> None:
    """R9: never send another provider's reasoning as thinking."""
    story = Story()
    story.user("hi")
    response = story.speak("hello", stop="end_turn")
    story.happen(
        ReasoningRecorded(response=response, index=1, content=Reasoning(text="well, well"))
    )
    story.user("thanks")
    request = story.request()
    assert "well" not in str(request["messages"])
    assert rules(request) == {"R9"}


def test_a_request_is_arguments_and_says_what_was_done() -> None:
    story = Story()
    story.user("hi")
    story.answer(" ")
    story.user("well?")
    request = story.request()

    def create(*, messages: list[object]) -> int:
        return len(messages)

    assert create(**request) == 1
    assert request.api == API
    assert "says" not in repr(request)
    assert str(request.report) == "version 2: left out, blank text [R10]"
    assert request.body_parts() == {
        "messages": b'[{"role":"user","content":[{"type":"text","text":"hi"},'
        b'{"type":"text","text":"well?"}]}]'
    }


def test_options_are_read_back_from_a_recipe() -> None:
    for options in (
        Options(),
        Options(window=Window(exchanges=3, pinned=1), cache=True, thinking="drop", account="a"),
    ):
        recipe = Recipe(api=options.api, version=1, options=options.plain(), renderer="")
        assert options_of(recipe) == options
    assert Options().plain() == {}


def test_the_renderer_has_one_digest() -> None:
    assert len(renderer_digest("anthropic-messages")) == 64
    assert renderer_digest("anthropic-messages") == renderer_digest("anthropic-messages")
