"""Thinking that goes back is valid where it stands, whatever happened to the conversation."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from onrecord.adapters.demo.services.anthropic import Signer
from onrecord.domain.content import Native
from onrecord.domain.events import InstructionsSet, ReasoningRecorded
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.request import Options, Request
from tests.projections.apis.anthropic.anthropic_histories import (
    Happening,
    rendered,
    without_thinking,
)
from tests.projections.happenings import (
    API,
    Story,
    flat,
    rules,
)
from tests.projections.refused import refused
from tests.search import examples

SIGNER = Signer(b"account")


@examples(200)
@given(st.lists(without_thinking, max_size=12))
def test_thinking_that_goes_back_is_valid_where_it_stands(deeds: list[Happening]) -> None:
    story = Story()
    for deed in deeds:
        deed(story)
        request = rendered(story, Options())
        if request is not None and request["messages"][-1]["role"] == "user":
            story.ask_as_rendered()
            thought: JsonObject = {"type": "thinking", "thinking": f"hm {len(story.events)}"}
            signed = SIGNER.signed([thought], body_of(request))
            story.answer(*signed, f"answer {len(story.events)}")
    story.user("and now?")
    request = story.request()
    assert refused(API, request) == ()
    assert list(SIGNER.problems(body_of(request))) == []
    if not {"redacted", "R2", "R3", "R13", "R19"} & rules(request) and not changes_prefix(story):
        assert [block for _, block in flat(request) if block["type"] == "thinking"] == [
            event.content.value
            for _, event in story.events
            if isinstance(event, ReasoningRecorded) and isinstance(event.content, Native)
        ]


def body_of(request: Request) -> JsonObject:
    return {"model": "claude", "max_tokens": 9, **request}


def changes_prefix(story: Story) -> bool:
    return any(isinstance(event, InstructionsSet) for _, event in story.events)
