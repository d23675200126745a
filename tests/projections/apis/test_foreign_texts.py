"""A text that goes to another API goes without its sources; the note says so."""

from __future__ import annotations

from typing import Any

import pytest

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.request import Options
from tests.projections.apis.openai_chat import chat_happenings as chat
from tests.projections.apis.openai_responses import responses_happenings as responses
from tests.projections.happenings import Story, text

CITED = {"type": "url_citation", "url": "https://x", "title": "X", "start_index": 0, "end_index": 1}
THOUGHT = {"type": "thinking", "thinking": [{"type": "text", "text": "why"}]}


def by_chat(message: JsonObject) -> Story:
    story = Story()
    story.user("hi")
    chat.answers(story, message)
    story.user("go on")
    return story


def by_responses(annotations: list[Any]) -> Story:
    story = Story()
    story.user("hi")
    part = {"type": "output_text", "text": "a", "annotations": annotations}
    message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
    responses.answers(story, {**message, "content": [part]})
    story.user("go on")
    return story


def by_anthropic(citations: Any) -> Story:
    story = Story()
    story.user("hi")
    story.ask()
    story.answer({**text("a"), "citations": citations})
    story.user("go on")
    return story


SAID: JsonObject = {"role": "assistant", "content": "a"}
TOLD = [
    (by_chat({**SAID, "annotations": [CITED]}), "openai-responses", "without its annotations"),
    (by_chat({**SAID, "executed_tools": [{"index": 0}]}), "anthropic-messages", "executed_tools"),
    (by_chat({**SAID, "content": [THOUGHT, text("a")]}), "anthropic-messages", "its thinking"),
    (by_responses([CITED]), "openai-chat", "without its annotations"),
    (by_anthropic([{"type": "web_search_result_location"}]), "openai-chat", "its citations"),
]


@pytest.mark.parametrize(("story", "api", "told"), TOLD)
def test_what_stands_beside_a_text_is_named(story: Story, api: str, told: str) -> None:
    report = story.request(Options(api=api)).report
    assert [told in note.why for note in report.of("foreign")] == [True]


@pytest.mark.parametrize(
    "story",
    [by_chat({**SAID, "annotations": []}), by_responses([]), by_anthropic(None), by_anthropic([])],
    ids=["chat", "responses", "anthropic, null", "anthropic"],
)
def test_nothing_is_named_where_there_is_nothing(story: Story) -> None:
    for api in ("anthropic-messages", "openai-chat", "openai-responses"):
        report = story.request(Options(api=api)).report
        assert not any("without" in note.why for note in report.of("foreign"))
