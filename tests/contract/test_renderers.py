"""What holds of the requests of every API, whatever happened to the conversation.

Blocks of all six APIs, interruptions, results that are late, missing or said twice, calls at once,
documents, the providers' own tools, redactions, compactions, any window.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.domain.errors import NothingToSend, UnsupportedDocument
from onrecord.domain.events import Event, InstructionsSet, RequestSent, ToolsDeclared
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.api import names
from onrecord.projections.apis.request import Options, Request, render
from onrecord.projections.history.turns import history
from onrecord.projections.history.windows import exchanges_of
from tests.contract.histories import Happening, Histories
from tests.projections.apis import mixed_histories
from tests.projections.apis.anthropic import anthropic_histories
from tests.projections.apis.bedrock import bedrock_histories
from tests.projections.apis.gemini import gemini_histories
from tests.projections.apis.openai_chat import chat_histories
from tests.projections.apis.openai_responses import responses_histories
from tests.projections.happenings import Story
from tests.projections.mixed_happenings import within
from tests.projections.recorded import recorded
from tests.search import examples

OWN = (
    *(anthropic_histories.HISTORIES, chat_histories.HISTORIES, responses_histories.HISTORIES),
    *(gemini_histories.HISTORIES, bedrock_histories.HISTORIES),
)
"""Histories in which one API answers nearly always, as deep as it goes."""
EVERY = {
    **{f"{histories.api}, its own": histories for histories in OWN},
    **{f"{api}, mixed": mixed_histories.histories(api) for api in names()},
}
# A compaction stands for all that precedes it: its note names them.
COMPACTED = ("R18", "O10")

each_kind = pytest.mark.parametrize("histories", EVERY.values(), ids=EVERY)


def happened(deeds: Sequence[Happening]) -> Story:
    story = Story()
    for deed in deeds:
        deed(story)
    return story


def drawn(
    histories: Histories, data: st.DataObject
) -> tuple[Story, list[tuple[int, Event]], Options]:
    """A story, the events of it that a request is made of, and how."""
    story = happened(data.draw(st.lists(histories.anything, max_size=14)))
    options = data.draw(histories.options)
    begin = data.draw(st.integers(0, histories.begin))
    return story, within(story, exchanges_of(options.window))[begin:], options


def rendered(
    histories: Histories, events: Sequence[tuple[int, Event]], options: Options
) -> Request | None:
    try:
        return render(events, options, histories.blobs)
    except NothingToSend:
        return None
    except UnsupportedDocument:
        assert histories.takes_no_document(options)
        return None


@each_kind
@examples(300)
@given(st.data())
def test_any_history_renders_to_a_request_that_is_not_refused(
    histories: Histories, data: st.DataObject
) -> None:
    """Even one that begins amid a round of calls."""
    story, events, options = drawn(histories, data)
    request = rendered(histories, events, options)
    if request is not None:
        assert list(histories.refused(story, request)) == []


@each_kind
@examples(200)
@given(st.data())
def test_the_same_history_gives_the_same_bytes(histories: Histories, data: st.DataObject) -> None:
    _, events, options = drawn(histories, data)
    once, again = (rendered(histories, list(events), options) for _ in range(2))
    if once is None or again is None:
        assert once is again
        return
    assert once.body_parts() == again.body_parts()
    assert dict(once) == dict(again)
    assert once.report == again.report


@each_kind
@examples(200)
@given(st.data())
def test_who_empties_a_request_changes_no_later_one(
    histories: Histories, data: st.DataObject
) -> None:
    """No words of ours, tools or cache points are one object in all requests."""
    _, events, options = drawn(histories, data)
    request = rendered(histories, copies_of(events), options)
    if request is None:
        return
    body = request.body_parts()
    empty(dict(request.body))
    again = rendered(histories, copies_of(events), options)
    assert again is not None
    assert again.body_parts() == body


@each_kind
@examples(200)
@given(st.data())
def test_who_empties_a_request_of_their_own_changes_nothing_of_what_it_was_made_of(
    histories: Histories, data: st.DataObject
) -> None:
    _, events, options = drawn(histories, data)
    if rendered(histories, events, options) is None:
        return
    story = Story()
    story.events = events
    folded = history(recorded(story), options.missing)
    request = render(folded, options, histories.blobs).own()
    body = request.body_parts()
    empty(dict(request.body))
    empty(dict(request))
    assert render(folded, options, histories.blobs).body_parts() == body


def copies_of(events: Sequence[tuple[int, Event]]) -> list[tuple[int, Event]]:
    return [(version, event.model_copy(deep=True)) for version, event in events]


def empty(value: object) -> None:
    """Take out whatever a value holds, at any depth."""
    if isinstance(value, dict):
        members = list(cast("JsonObject", value).values())
    elif isinstance(value, list):
        members = list(cast("list[object]", value))
    else:
        return
    for member in members:
        empty(member)
    cast("Any", value).clear()


@each_kind
@examples(300)
@given(st.data())
def test_nothing_is_lost_that_the_report_does_not_name(
    histories: Histories, data: st.DataObject
) -> None:
    _, events, options = drawn(histories, data)
    request = rendered(histories, events, options)
    if request is None:
        return
    body = json.dumps(dict(request.body), ensure_ascii=False)
    report = request.report
    named = {note.version for note in report}
    compacted = max(
        (note.version or 0 for rule in COMPACTED for note in report.of(rule)), default=0
    )
    for version, event in events:
        if version in named or version < compacted or is_replaced(event, version, events):
            continue
        for spellings in histories.spellings(event):
            written = [json.dumps(text, ensure_ascii=False)[1:-1] for text in spellings]
            assert any(text in body for text in written), (version, spellings)


def is_replaced(event: Event, version: int, events: Sequence[tuple[int, Event]]) -> bool:
    """Whether other instructions, or tools, came into force later."""
    later = [type(other) for at, other in events if at > version]
    return type(event) in (InstructionsSet, ToolsDeclared) and type(event) in later


@each_kind
@examples(300)
@given(st.data())
def test_a_request_begins_with_every_request_before_it_unless_the_report_says_why(
    histories: Histories, data: st.DataObject
) -> None:
    """Of one and the same model."""
    story = happened(data.draw(st.lists(histories.said, max_size=16)))
    options = data.draw(histories.steady)
    histories.last(story)
    now = rendered(histories, story.events, options)
    for version, event in story.events:
        if not isinstance(event, RequestSent):
            continue
        before = rendered(histories, story.events[: version - 1], options)
        if before is None:
            continue
        if now is None:
            assert histories.takes_no_document(options)
            return
        earlier, later = (list(map(repr, histories.spoken(it))) for it in (before, now))
        if later[: len(earlier)] != earlier:
            assert histories.excused(story, now, before, version), version


@pytest.mark.parametrize(
    ("histories", "shown", "member"),
    [
        (gemini_histories.HISTORIES, gemini_histories.pictures, "inlineData"),
        (chat_histories.HISTORIES, chat_histories.pictures, "image_url"),
    ],
    ids=["gemini", "openai-chat"],
)
def test_a_picture_is_among_what_is_told(
    histories: Histories, shown: Callable[[Story], object], member: str
) -> None:
    """The histories reach documents: a guard against a contract that says nothing of them."""
    options = Options(
        api=histories.api, model={"gemini": "gemini-2.5-pro"}.get(histories.api, "gpt-4.1")
    )
    request = rendered(histories, happened([shown]).events, options)
    assert request is not None
    assert member in json.dumps(dict(request))
