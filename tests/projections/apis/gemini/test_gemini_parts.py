"""Parts of Gemini's requests: as they came, in order; what holds nothing stays away."""

from __future__ import annotations

import pytest

from onrecord.domain.events import MessageRecorded
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.gemini.read import NAME
from onrecord.projections.apis.request import Options
from tests.projections.apis.gemini import gemini_happenings as gemini
from tests.projections.apis.gemini.gemini_happenings import (
    call,
    of_model,
    of_user,
    signed,
    text,
    thought,
)
from tests.projections.apis.openai_chat import chat_happenings as chat
from tests.projections.happenings import (
    Story,
    rules,
    search_result,
    server_tool_use,
    tool_change,
)
from tests.projections.happenings import text as anthropic_text
from tests.projections.happenings import thinking as anthropic_thinking

CODE = signed({"executableCode": {"id": "c", "code": "print(1)", "language": "PYTHON"}})
RAN = {"codeExecutionResult": {"id": "c", "outcome": "OUTCOME_OK", "output": "1\n"}}
LOOKED = signed({"toolCall": {"id": "t", "tool_type": "FILE_SEARCH", "args": {}}})
FOUND = signed({"toolResponse": {"id": "t", "tool_type": "FILE_SEARCH", "response": {"a": 1.0}}})
UNKNOWN = signed({"hologram": {"big": 12345678901234567890, "none": None}})
PICTURE = {"inlineData": {"data": "-_8=", "mimeType": "image/png"}}


def answered(*parts: JsonObject) -> Story:
    story = Story()
    story.user("hi")
    gemini.asks(story)
    gemini.answers(story, *parts)
    story.user("go on")
    return story


@pytest.mark.parametrize(
    "parts",
    [
        (thought(), text("a"), CODE, RAN, text("b")),
        (LOOKED, FOUND, signed(text("c"))),
        (UNKNOWN, text("d")),
        (text("e"), text("f"), PICTURE),
        (text("\n"), signed(text(""))),
    ],
)
def test_parts_go_back_as_they_came_in_their_order(parts: tuple[JsonObject, ...]) -> None:
    assert gemini.contents(answered(*parts)) == [of_user("hi"), of_model(*parts), of_user("go on")]


@pytest.mark.parametrize(
    "part",
    [
        {"groundingMetadata": {"webSearchQueries": ["x"], "groundingChunks": []}},
        {"urlContextMetadata": {"urlMetadata": []}},
    ],
)
def test_what_is_told_of_grounding_is_recorded_only(part: JsonObject) -> None:
    story = answered(text("a"), part)
    assert gemini.contents(story)[1] == of_model("a")
    assert rules(gemini.gemini(story)) == {"G11"}


@pytest.mark.parametrize("part", [text(""), {}, {"thought": True}, {"text": None}, {"a": None}])
def test_a_part_that_holds_nothing_is_left_out(part: JsonObject) -> None:
    story = answered(text("a"), part)
    assert gemini.contents(story)[1] == of_model("a")
    assert "G6" in rules(gemini.gemini(story))


@pytest.mark.parametrize("part", [call(), {"functionCall": {}}, gemini.response()])
def test_a_call_that_was_not_recorded_as_one_is_left_out(part: JsonObject) -> None:
    """A call without a result is refused, and so is a result without a call."""
    story = Story()
    story.user("hi")
    story.happen(MessageRecorded(role="assistant", content=(gemini.native(part),)))
    story.user("go on", gemini.native(part))
    assert "functionCall" not in str(gemini.contents(story))
    assert {"G1", "G2"} & rules(gemini.gemini(story))


def test_parts_of_tools_that_the_service_runs_want_a_word_in_the_configuration() -> None:
    assert rules(gemini.gemini(answered(LOOKED, FOUND))) == {"G15"}


def test_each_event_of_the_user_s_is_a_content() -> None:
    story = Story()
    story.user("one", "two")
    story.user("three", " ")
    story.user("", "\n")
    assert gemini.contents(story) == [of_user("one", "two"), of_user("three")]
    assert "G6" in rules(gemini.gemini(story))


def test_notes_of_the_operator_s_go_as_the_user_s() -> None:
    story = answered(text("a"))
    story.note("be kind")
    story.note(tool_change("weather"))
    assert gemini.contents(story)[-1] == of_user("be kind")
    assert "G7" in rules(gemini.gemini(story))


def test_what_a_tool_of_another_provider_did_goes_in_words() -> None:
    story = Story()
    story.user("hi")
    story.answer(
        anthropic_thinking(),
        anthropic_text("I look: "),
        server_tool_use("srvtoolu_1"),
        search_result("srvtoolu_1"),
        anthropic_text("It is "),
        anthropic_text("so."),
    )
    story.user("go on")
    _, said, _ = gemini.contents(story)
    assert said == of_model(
        "I look: ",
        "[web_search was used.]\nquery: x",
        "[web_search gave:]\nx\nhttps://example.com",
        "It is so.",
    )


def test_what_a_tool_of_gemini_s_did_goes_to_others_in_words() -> None:
    story = answered(CODE, RAN, text("done"))
    said = str(story.request(Options(api="openai-chat"))["messages"])
    assert "print(1)" in said
    assert "executableCode" not in said


def test_a_part_of_the_user_s_goes_as_it_came() -> None:
    story = Story()
    film = {"fileData": {"fileUri": "https://youtu.be/x"}, "videoMetadata": {"fps": 1}}
    story.user(gemini.native(film), "What is it?")
    assert gemini.contents(story) == [of_user(film, "What is it?")]


def test_a_file_that_the_service_holds_may_be_gone() -> None:
    story = Story()
    uri = "https://generativelanguage.googleapis.com/v1beta/files/a"
    story.user(gemini.native({"file_data": {"file_uri": uri}}))
    assert rules(gemini.gemini(story)) == {"G16"}


def test_a_message_of_another_api_goes_in_its_words() -> None:
    story = Story()
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,+/8="}}
    said = {"role": "user", "content": [{"type": "text", "text": "look"}, image], "name": "Ann"}
    story.user(chat.native(said))
    picture = {"inlineData": {"mimeType": "image/png", "data": "+/8="}}
    assert gemini.contents(story) == [of_user("Ann: look", picture)]


def test_of_an_answer_that_broke_off_its_text_stays() -> None:
    story = Story()
    story.user("hi")
    gemini.asks(story)
    gemini.breaks_off(story, thought(), unfinished=text("so f"))
    story.user("go on")
    assert gemini.contents(story) == [of_user("hi"), of_model(thought(), "so f"), of_user("go on")]


def test_caching_needs_no_marks() -> None:
    request = gemini.gemini(answered(text("a")), Options(api=NAME, cache=True))
    assert rules(request) == {"G14"}
    assert request.body == gemini.gemini(answered(text("a"))).body


def test_what_a_piece_of_a_text_goes_on_with_is_a_text() -> None:
    """Of the pieces into which Anthropic cuts a text the first may be blank."""
    story = Story()
    story.user("hi")
    gemini.asks(story)
    gemini.answers(story, signed(text("a")))
    story.answer(anthropic_text(" "), anthropic_text("b"), anthropic_text("c"))
    assert gemini.contents(story)[1] == of_model(signed(text("a")), "bc")
