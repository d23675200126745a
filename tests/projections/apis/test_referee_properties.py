"""Whatever happened to a conversation of all six APIs, each of them takes its request.

Blocks of all six, interruptions, results that are late, missing or said twice, calls at once,
documents, the providers' own tools, redactions, compactions, any window.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

import onrecord
from onrecord.domain.content import Document, ToolResult
from onrecord.domain.errors import NothingToSend, UnsupportedDocument
from onrecord.domain.events import (
    Event,
    InstructionsSet,
    MessageRecorded,
    RequestSent,
    ResponseCompleted,
    SignalReceived,
    ToolResultRecorded,
    ToolsDeclared,
)
from onrecord.projections.api import known_api, known_rules
from onrecord.projections.apis.capabilities import Given
from onrecord.projections.apis.documents import Form
from onrecord.projections.apis.rendering import APIS, render
from onrecord.projections.apis.request import Options, Request
from onrecord.projections.history.window import Window, exchanges_of
from tests.projections.happenings import Story
from tests.projections.marked import BLOBS
from tests.projections.mixed_answers import Deed
from tests.projections.mixed_happenings import (
    everything,
    happened,
    within,
    without_changes,
)
from tests.search import examples

MODELS = {
    "anthropic-messages": ["claude-sonnet-4-5"],
    "openai-chat": ["gpt-4.1", "gpt-4o-audio-preview", "deepseek-chat", "mistral-large-latest"],
    "openai-responses": ["gpt-5"],
    "gemini": ["gemini-2.5-pro", "gemini-3-pro-preview"],
    "ollama": ["qwen3"],
    "bedrock-converse": ["us.anthropic.claude-sonnet-4-5-20250929-v1:0", "us.amazon.nova-pro-v1:0"],
}
# What a call names the model with.
NAMED = {"bedrock-converse": "modelId"}
MESSAGES = {name: known_api(name).messages for name in APIS}
# APIs that have neighbours of one role as one message, and the member that holds its blocks.
JOINED = {"anthropic-messages": "content", "bedrock-converse": "content", "gemini": "parts"}
# A compaction stands for all that precedes it: its note names them.
COMPACTED = ("R18", "O10")
# The rules that change what had been sent, and why they have to.
CHANGING = {
    "anthropic-messages": {
        "R3": "a call of the service's own stays in flight until others spoke without its result",
        "R21": "a note of the operator's stands nowhere but after what the user says",
    }
}

FORMS: tuple[Form, ...] = ("seed-short-id", "doc-reference")
# What is said of a model: nothing, that its results hold texts alone, that it reads nothing else.
GIVEN = [None, Given(tool_result=("text",)), Given(user=("text",), tool_result=("text",))]

windows = st.none() | st.builds(
    Window, exchanges=st.integers(1, 3), step=st.integers(1, 3), pinned=st.just(0)
)


@st.composite
def options(draw: st.DrawFn, api: str) -> Options:
    return Options(
        api=api,
        window=draw(windows),
        thinking=draw(st.sampled_from(["keep", "keep", "drop"])),
        cache=draw(st.booleans()),
        model=draw(st.sampled_from([None, *MODELS[api]])),
        account=draw(st.sampled_from([None, "someone"])),
        missing=draw(st.sampled_from(["cancel", "cancel", "drop"])),
        tags=draw(st.sampled_from(FORMS)),
        capabilities=draw(st.sampled_from(GIVEN)),
    )


def rendered(events: Iterable[tuple[int, Event]], wished: Options) -> Request | None:
    try:
        return render(events, wished, BLOBS)
    except (NothingToSend, UnsupportedDocument):
        return None


slow = examples(150)


@pytest.mark.parametrize("api", known_rules())
@slow
@given(st.lists(everything, max_size=12), st.data())
def test_any_history_renders_to_a_request_that_is_not_refused(
    api: str, deeds: list[Deed], data: st.DataObject
) -> None:
    wished = data.draw(options(api))
    story = happened(deeds)
    request = rendered(within(story, exchanges_of(wished.window)), wished)
    if request is not None:
        model = wished.model or answered_by(story, api)
        named: dict[str, object] = {NAMED.get(api, "model"): model} if model else {}
        if model and api == "anthropic-messages":
            named["max_tokens"] = 1024
        assert onrecord.check_request(api, {**request.body, **named}).violations == ()


def answered_by(story: Story, api: str) -> str | None:
    """The model that answered last: who names none goes on with it."""
    # An answer of Bedrock's does not say whose it is: the request did.
    kind = RequestSent if api == "bedrock-converse" else ResponseCompleted
    told = [event for _, event in story.events if isinstance(event, kind)]
    return next((each.model for each in reversed(told) if each.api == api and each.model), None)


@pytest.mark.parametrize("api", APIS)
@slow
@given(st.lists(everything, max_size=12), st.data())
def test_the_same_history_gives_the_same_bytes(
    api: str, deeds: list[Deed], data: st.DataObject
) -> None:
    wished = data.draw(options(api))
    told = within(happened(deeds), exchanges_of(wished.window))
    once, again = rendered(told, wished), rendered(list(told), wished)
    if once is None or again is None:
        assert once is again
        return
    assert once.body_parts() == again.body_parts()
    assert once.report == again.report


@pytest.mark.parametrize("api", APIS)
@slow
@given(st.lists(everything, max_size=12), st.data())
def test_nothing_is_lost_that_the_report_does_not_name(
    api: str, deeds: list[Deed], data: st.DataObject
) -> None:
    wished = data.draw(options(api))
    told = within(happened(deeds), exchanges_of(wished.window))
    request = rendered(told, wished)
    if request is None:
        return
    body = json.dumps(request.body, ensure_ascii=False)
    named = {note.version for note in request.report}
    compacted = max(
        (note.version or 0 for rule in COMPACTED for note in request.report.of(rule)), default=0
    )
    for version, event in told:
        if version in named or version < compacted or is_replaced(event, version, told):
            continue
        for mark, bytes_ in marks(event):
            assert mark in body or (bytes_ and bytes_ in body), (version, mark)


def marks(event: Event) -> list[tuple[str, str]]:
    """The marks of what an event says; for a document, the bytes that may go in its stead."""
    said = event.model_dump_json()
    documents = [held for held in contents(event) if isinstance(held, Document)]
    files = {found(held.name): held for held in documents if held.name}
    return [(mark, as_sent(files[mark]) if mark in files else "") for mark in found_all(said)]


def contents(event: Event) -> tuple[object, ...]:
    match event:
        case MessageRecorded(content=content) | SignalReceived(content=content):
            return content
        case ToolResultRecorded(content=ToolResult(content=content)):
            return content
        case _:
            return ()


def found_all(text: str) -> list[str]:
    return re.findall(r"<\d+\.\d>", text)


def found(name: str) -> str:
    return found_all(name)[0]


def as_sent(document: Document) -> str:
    assert document.blob is not None
    data = BLOBS[document.blob.sha256]
    if document.media_type.startswith("text/"):
        return data.decode()
    return base64.b64encode(data).decode()


def is_replaced(event: Event, version: int, told: list[tuple[int, Event]]) -> bool:
    """Whether other instructions, or tools, came into force later."""
    later = [type(other) for at, other in told if at > version]
    return type(event) in (InstructionsSet, ToolsDeclared) and type(event) in later


@pytest.mark.parametrize("api", APIS)
@slow
@given(st.lists(without_changes, max_size=14), st.data())
def test_a_request_begins_with_every_request_before_it_unless_the_report_says_why(
    api: str, deeds: list[Deed], data: st.DataObject
) -> None:
    given = data.draw(st.sampled_from(GIVEN))
    model = data.draw(st.sampled_from(MODELS[api]))
    wished = Options(api=api, model=model, capabilities=given)
    story = happened(deeds)
    # Whoever answered it, a document that the model does not read goes in words; what was said while
    # a request was out is answered by the next one.
    story.answer("Well.")
    story.ask()
    story.answer("Well.")
    now = rendered(story.events, wished)
    for version, event in story.events:
        before = rendered(story.events[: version - 1], wished)
        if not isinstance(event, RequestSent) or before is None:
            continue
        assert now is not None
        if not begins_with(now, before):
            assert is_explained(now, before, version)


def begins_with(now: Request, before: Request) -> bool:
    name = MESSAGES[now.api]
    earlier, later = before[name], now[name]
    if now.api in JOINED:
        content = JOINED[now.api]
        earlier, later = spread(earlier, content), spread(later, content)
    return bool(later[: len(earlier)] == earlier)


def spread(messages: list[dict[str, object]], content: str) -> list[object]:
    """The blocks of messages, each with its speaker: the service joins neighbours of one role."""
    return [(each["role"], block) for each in messages for block in each[content]]  # type: ignore[attr-defined]


def is_explained(now: Request, before: Request, version: int) -> bool:
    """Whether a rule that changes what had been sent says that it did.

    One note was not there, or is on a note of the operator's: until that is answered it moves on.
    """
    moving = now.report.of("R21")
    new = set(now.report) ^ set(before.report)
    rules = CHANGING.get(now.api, {})
    return any(note.rule in rules and (note.version or 0) < version for note in (*new, *moving))
