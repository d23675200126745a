"""Requests to Ollama: what its models and templates can read."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import ollama
import pytest
from ollama._client import (
    _copy_messages,  # pyright: ignore[reportPrivateUsage] - what `chat` sends is made by it
)

from onrecord.domain import events
from onrecord.domain.content import Document, Native, Text, ToolCall, ToolResult
from onrecord.domain.conversation import CANCELLED
from onrecord.domain.errors import UnsupportedDocument
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.capabilities import CapabilityOverride
from onrecord.projections.apis.documents import PREAMBLE
from onrecord.projections.apis.request import Options, Request
from tests.ollama_wire import call
from tests.projections.happenings import Story, document, rules, thinking, tool_use
from tests.projections.refused import refused

API = "ollama"
IMAGE = "iVBORw0KGgo="
PNG = b"\x89PNG\r\n\x1a\n"
BLOBS = {"a" * 64: PNG}


def native(value: JsonObject) -> Native:
    return Native(api=API, value=value)


def answers(
    story: Story, message: JsonObject, thought: str = "", *calls: JsonObject, model: str = "qwen3"
) -> UUID:
    """Tell that Ollama answered."""
    response = UUID(int=10_000 + len(story.events))
    if thought:
        value = native({"thinking": thought})
        story.happen(events.ReasoningRecorded(response=response, index=0, content=value))
    spoken = (native({"role": "assistant", **message}),)
    story.happen(
        events.MessageRecorded(role="assistant", content=spoken, response=response, index=1)
    )
    for place, each in enumerate(calls):
        name = each["function"]["name"]
        story.happen(
            events.ToolCallRecorded(
                response=response,
                index=2 + place,
                call_id=each.get("id", f"{name}-{place}"),
                name=name,
                content=native(each),
            )
        )
    story.happen(
        events.ResponseCompleted(
            response=response, api=API, model=model, stop_reason="stop", envelope={}
        )
    )
    return response


def request(story: Story, **options: Any) -> Request:
    return story.request(Options(api=API, **options))


def test_an_answer_goes_back_as_it_came() -> None:
    story = Story()
    story.instruct("Be brief.")
    story.user("hi")
    answers(story, {"content": "", "odd": None}, "hm", call("f", a=1))
    story.result("f-0", "found")
    assert request(story).body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": "",
            "odd": None,
            "thinking": "hm",
            "tool_calls": [call("f", a=1)],
        },
        {"role": "tool", "content": "found", "tool_name": "f"},
    ]
    assert list(request(story).report) == []


def test_results_stand_in_call_order_and_name_the_calls_that_have_ids() -> None:
    story = Story()
    story.user("hi")
    answers(story, {"content": "a"}, "", call("f", "c1"), call("f", "c2"))
    story.result("c2", "two")
    story.result("c1", "one")
    told = request(story).body["messages"][2:]
    assert [(each["tool_call_id"], each["content"]) for each in told] == [
        ("c1", "one"),
        ("c2", "two"),
    ]


def test_a_missing_result_is_a_cancelled_one() -> None:
    story = Story()
    story.user("hi")
    answers(story, {"content": ""}, "", call("f"))
    story.user("go on")
    made = request(story)
    assert made.body["messages"][2]["content"] == CANCELLED
    assert "L1" in rules(made)


def test_thinking_goes_to_the_model_that_thought_it_and_to_no_other() -> None:
    story = Story()
    story.user("hi")
    answers(story, {"content": "a"}, "hm")
    story.user("go on")
    assert request(story).body["messages"][1]["thinking"] == "hm"
    other, dropped = request(story, model="llama4"), request(story, thinking="drop")
    assert "thinking" not in other.body["messages"][1]
    assert "thinking" not in dropped.body["messages"][1]
    assert ("L6" in rules(other), "thinking" in rules(dropped)) == (True, True)


def test_what_another_api_said_goes_in_neutral_form() -> None:
    story = Story()
    story.user("hi")
    story.answer(thinking(), tool_use("toolu_1", input={"a": 1}), stop="tool_use")
    story.result("toolu_1", "found")
    called = {"id": "toolu_1", "function": {"name": "look_up", "arguments": {"a": 1}}}
    assert request(story).body["messages"][1:] == [
        {"role": "assistant", "content": "", "tool_calls": [called]},
        {"role": "tool", "content": "found", "tool_name": "look_up", "tool_call_id": "toolu_1"},
    ]


def test_arguments_are_an_object() -> None:
    story = Story()
    story.user("hi")
    story.call("c", "f", ["a"])
    story.result("c")
    made = request(story)
    [called] = made.body["messages"][1]["tool_calls"]
    assert called["function"]["arguments"] == {"arguments": ["a"]}
    assert "L5" in rules(made)


def test_pictures_of_the_user_stand_in_images() -> None:
    story = Story()
    story.user(document("a.png", "image/png", "a" * 64, len(PNG)), "look")
    made = story.request(Options(api=API), blobs=BLOBS)
    assert made.body["messages"] == [{"role": "user", "content": "look", "images": [IMAGE]}]
    assert made["messages"][0]["images"] == [PNG]


def test_pictures_of_results_follow_them_behind_a_tag() -> None:
    story = Story()
    story.user("hi")
    answers(story, {"content": ""}, "", call("f", "c1"))
    picture = document("a.png", "image/png", "a" * 64, len(PNG))
    story.happen(
        events.ToolResultRecorded(
            call_id="c1", content=ToolResult(call_id="c1", content=(picture,))
        )
    )
    result, shown = story.request(Options(api=API), blobs=BLOBS).body["messages"][2:]
    assert result["content"].startswith('<document tool-name="f" tool-call-id="c1"')
    assert shown == {
        "role": "user",
        "content": f"{PREAMBLE}\n{result['content']}",
        "images": [IMAGE],
    }


def test_a_result_holds_pictures_where_the_caller_says_that_it_may() -> None:
    story = Story()
    story.user("hi")
    answers(story, {"content": ""}, "", call("f", "c1"))
    picture = document("a.png", "image/png", "a" * 64, len(PNG))
    content = ToolResult(call_id="c1", content=(Text(text="see"), picture))
    story.happen(events.ToolResultRecorded(call_id="c1", content=content))
    taken = CapabilityOverride(tool_result=("text", "image"))
    made = story.request(Options(api=API, capabilities=taken), blobs=BLOBS)
    assert made.body["messages"][2:] == [
        {
            "role": "tool",
            "content": "see",
            "images": [IMAGE],
            "tool_name": "f",
            "tool_call_id": "c1",
        }
    ]
    assert made["messages"][2]["images"] == [PNG]
    assert refused(API, made) == ()


@pytest.mark.parametrize("kind", ["application/pdf", "audio/wav"])
def test_a_document_that_is_no_picture_goes_as_words_once_it_was_answered(kind: str) -> None:
    story = Story()
    story.user(document("a.bin", kind, "a" * 64), "look")
    with pytest.raises(UnsupportedDocument, match=r"it takes image, text"):
        request(story)
    answers(story, {"content": "I see."})
    made = request(story)
    assert "cannot be shown here" in made.body["messages"][0]["content"]
    assert "document" in rules(made)


def test_the_report_says_that_a_picture_was_given_by_an_address() -> None:
    story = Story()
    story.user(Document(media_type="image/png", url="https://example.com/a.png"))
    answers(story, {"content": "I see."})
    (note,) = request(story).report.of("document")
    assert "is given by an address" in note.why


def test_an_answer_that_says_nothing_is_left_out() -> None:
    story = Story()
    story.user("hi")
    answers(story, {"content": " "})
    story.user("hello?")
    made = request(story)
    assert [each["content"] for each in made.body["messages"]] == ["hi", "hello?"]
    assert "L4" in rules(made)


def test_a_result_of_no_call_goes_as_the_users_words() -> None:
    story = Story()
    story.user("hi")
    story.result("lost", "found")
    made = request(story)
    assert "found" in json.dumps(made.body["messages"])
    assert {each["role"] for each in made.body["messages"]} == {"user"}


def test_a_call_that_was_not_recorded_as_one_stays_away() -> None:
    story = Story()
    story.user("hi")
    spoken = (native({"role": "assistant", "content": "I look."}), native(call("look_up")))
    for index, block in enumerate(spoken):
        story.happen(
            events.MessageRecorded(
                role="assistant", content=(block,), response=UUID(int=1), index=index
            )
        )
    story.user("and?")
    made = request(story)
    assert "tool_calls" not in str(made.body["messages"])
    assert "L1" in rules(made)


def test_the_sdk_takes_the_arguments_and_reads_no_file(tmp_path: Any, monkeypatch: Any) -> None:
    """ollama 0.6.3 sends the content of the file that a text among the pictures names."""
    (tmp_path / IMAGE).write_bytes(b"a secret")
    monkeypatch.chdir(tmp_path)
    story = Story()
    story.user(native({"role": "user", "content": "look", "images": [IMAGE]}))
    [message] = _copy_messages(request(story)["messages"])
    assert isinstance(message, ollama.Message)
    assert message.model_dump(exclude_none=True)["images"] == [IMAGE]


def test_a_picture_of_another_api_that_is_no_base64_goes_as_words() -> None:
    """The server refuses it: "illegal base64 data at input byte 0"."""
    story = Story()
    broken = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO...<cut>"}}
    story.user(Native(api="openai-chat", value=broken))
    answers(story, {"content": "I see."})
    made = request(story)
    assert "cannot be shown here" in made.body["messages"][0]["content"]
    assert refused(API, made) == ()


def test_a_picture_that_is_no_base64_stays_out_of_the_arguments() -> None:
    story = Story()
    story.user(native({"role": "user", "content": "look", "images": ["/etc/passwd"]}))
    made = request(story)
    assert made["messages"][0]["images"] == []
    assert "L3" in rules(made)


def test_marks_of_a_cache_are_none_of_this_api() -> None:
    story = Story()
    story.user("hi")
    assert "L8" in rules(request(story, cache=True))


def test_numbers_and_characters_that_the_server_cannot_read_go_as_it_reads_them() -> None:
    story = Story()
    story.user("hi")
    huge = 10**400
    story.happen(
        events.ToolCallRecorded(
            call_id="c1",
            name="f",
            content=ToolCall(
                id="c1", name="f", arguments={"n": [huge, -huge, 2**70, True], "s\ud83d": "a\ud83d"}
            ),
        )
    )
    story.result("c1", "found")
    made = request(story)
    (called,) = made.body["messages"][1]["tool_calls"]
    assert called["function"]["arguments"] == {
        "n": [str(huge), str(-huge), 2**70, True],
        "s\ufffd": "a\ufffd",
    }
    assert [note.rule for note in made.report] == ["L5"]
