"""Whatever happened to a conversation, its Chat Completions request is one that the service takes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from onrecord.adapters.check.check import check_request
from onrecord.domain.errors import NothingToSend, UnsupportedDocument
from onrecord.domain.events import RequestSent
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.openai_chat.read import NAME
from onrecord.projections.apis.request import Options, Request
from tests.projections.apis.openai_chat import chat_happenings as chat
from tests.projections.happenings import (
    Story,
    document,
    search_result,
    server_tool_use,
    text,
    thinking,
    tool_use,
)
from tests.projections.refused import refused
from tests.search import examples

CALL_IDS = ["call_0", "call_1", "call 2", "toolu_3"]
FOREIGN_IDS = [*CALL_IDS, "x" * 51]
MODELS = [None, "gpt-4.1", "o1-mini", "deepseek-reasoner", "mistral-large-latest"]
BLIND = ["deepseek-reasoner"]
OPTIONS = [
    *(Options(api=NAME, model=model) for model in MODELS),
    Options(api=NAME, thinking="drop", cache=True),
]
PIXEL = "a" * 64
BLOBS = {PIXEL: b"\x89PNG\r\n\x1a\n"}

Deed = Callable[[Story], object]

words = st.sampled_from(["hello", "go on ", "\n\n", "", " "])
call_ids = st.lists(st.sampled_from(CALL_IDS), max_size=3)
models = st.sampled_from(["gpt-4.1", "deepseek-chat", None])
stops = st.sampled_from([None, "length", "tool_calls", "content_filter"])


def numbered(story: Story, said: str) -> str:
    """The text, made one of a kind unless it is blank, so that it can be found again."""
    return f"<{len(story.events) + 1}>{said}" if said.strip() else said


def message_of(story: Story, said: str, ids: list[str], extras: list[str]) -> JsonObject:
    """An assistant's message with calls, and with what a compatible server puts beside them."""
    thought = numbered(story, "hm")
    added: dict[str, JsonObject] = {
        "reasoning_content": {"reasoning_content": thought},
        "reasoning_details": {"reasoning_details": [{"type": "reasoning.text", "text": thought}]},
        "annotations": {"annotations": []},
        "empty reasoning": {"reasoning_content": ""},
        "refusal": {"refusal": numbered(story, "I cannot")},
    }
    calls = [chat.function(call_id) for call_id in ids]
    message = chat.says(numbered(story, said) if said else None, *calls)
    return {**message, **{k: v for extra in extras for k, v in added[extra].items()}}


extras = st.lists(
    st.sampled_from(
        ["reasoning_content", "reasoning_details", "annotations", "empty reasoning", "refusal"]
    ),
    max_size=2,
)


@st.composite
def says(draw: st.DrawFn) -> Deed:
    said = draw(st.lists(words, min_size=1, max_size=2))
    return lambda story: story.user(*(numbered(story, text) for text in said))


@st.composite
def answers(draw: st.DrawFn) -> Deed:
    said, ids, added = draw(words), draw(call_ids), draw(extras)
    model, stop = draw(models), draw(stops)
    return lambda story: chat.answers(
        story, message_of(story, said, ids, added), model=model, stop=stop
    )


@st.composite
def breaks_off(draw: st.DrawFn) -> Deed:
    said, ids = draw(words), draw(call_ids)
    return lambda story: chat.breaks_off(
        story,
        {},
        chat.says(numbered(story, said)),
        *({"id": call_id, "function": {"name": "look_up"}} for call_id in ids),
    )


@st.composite
def another_answers(draw: st.DrawFn) -> Deed:
    """Another provider answers."""
    said, call_id = draw(words), draw(st.sampled_from(FOREIGN_IDS))
    return lambda story: story.answer(
        thinking(),
        text(numbered(story, said)),
        server_tool_use(f"srvtoolu_{len(story.events)}"),
        search_result(f"srvtoolu_{len(story.events)}"),
        tool_use(call_id),
        stop="tool_use",
    )


@st.composite
def gives_result(draw: st.DrawFn) -> Deed:
    call_id, said, own = draw(st.sampled_from(FOREIGN_IDS)), draw(words), draw(st.booleans())
    if own:
        return lambda story: chat.gives(story, call_id, numbered(story, said))
    return lambda story: story.result(call_id, numbered(story, said), is_error=len(said) == 1)


@st.composite
def redacts(draw: st.DrawFn) -> Deed:
    place = draw(st.integers(1, 30))
    return lambda story: story.redact(min(place, len(story.events) or 1))


def pictures(story: Story) -> object:
    return story.user(document("a.png", "image/png", PIXEL), numbered(story, "what is it?"))


def calls_itself(story: Story) -> object:
    """A program tells a call of its own making."""
    return story.call("call_0", arguments={"q": numbered(story, "x")})


def notes(story: Story) -> object:
    return story.note(numbered(story, "be kind"))


def gives_up(story: Story) -> object:
    return story.cancelled("call_1")


plain: st.SearchStrategy[Deed] = st.sampled_from([notes, chat.asks, pictures, calls_itself])
said = st.one_of(says(), plain, answers(), breaks_off(), another_answers(), gives_result())
everything = st.one_of(said, redacts(), st.just(gives_up))


def told(deeds: list[Deed]) -> Story:
    story = Story()
    for deed in deeds:
        deed(story)
    return story


def rendered(story: Story, options: Options, at: int | None = None) -> Request | None:
    try:
        return story.request(options, at=at, blobs=BLOBS)
    except NothingToSend:
        return None
    except UnsupportedDocument:
        assert options.model in BLIND
        return None


@examples(300)
@given(st.lists(everything, max_size=14), st.sampled_from(OPTIONS), st.integers(0, 9))
def test_any_window_of_any_history_renders_to_a_request_that_is_not_refused(
    deeds: list[Deed], options: Options, begin: int
) -> None:
    """Even one that begins amid a round of calls."""
    story = told(deeds)
    del story.events[:begin]
    request = rendered(story, options)
    if request is not None:
        named = {"model": options.model} if options.model else {}
        assert refused(NAME, {**request, **named}) == ()


@examples(100)
@given(st.lists(everything, max_size=14))
def test_any_history_has_only_members_that_openai_knows(deeds: list[Deed]) -> None:
    """Held against the types of OpenAI's own SDK, extra keys forbidden."""
    request = rendered(told(deeds), Options(api=NAME, model="gpt-4.1"))
    if request is not None:
        assert check_request(NAME, {**request, "model": "gpt-4.1"}).violations == ()


@examples(200)
@given(st.lists(everything, max_size=14), st.sampled_from(OPTIONS))
def test_the_same_events_give_the_same_bytes(deeds: list[Deed], options: Options) -> None:
    story = told(deeds)
    once, again = rendered(story, options), rendered(story, options)
    if once is None or again is None:
        assert once is again
        return
    assert once.body_parts() == again.body_parts()
    assert once.report == again.report


@examples(300)
@given(st.lists(everything, max_size=14), st.sampled_from(OPTIONS))
def test_nothing_is_lost_that_the_report_does_not_name(deeds: list[Deed], options: Options) -> None:
    story = told(deeds)
    request = rendered(story, options)
    if request is None:
        return
    body = json.dumps(dict(request))
    named = {note.version for note in request.report}
    for version, event in story.events:
        for said in texts_in(event.model_dump(mode="json")):
            assert version in named or json.dumps(said)[1:-1] in body, (version, said)


def texts_in(value: Any) -> list[str]:
    """Each text that an event holds and that is one of a kind."""
    match value:
        case str():
            return [value] if value.startswith("<") else []
        case list():
            return [text for held in cast("list[Any]", value) for text in texts_in(held)]
        case dict():
            return [text for held in cast("JsonObject", value).values() for text in texts_in(held)]
        case _:
            return []


@examples(300)
@given(st.lists(said, max_size=16), st.sampled_from(OPTIONS[1:]))
def test_a_request_begins_with_the_bytes_of_every_request_before(
    deeds: list[Deed], options: Options
) -> None:
    """Of one and the same model; what a paused turn of another provider leaves is no matter here."""
    options = options.model_copy(update={"model": options.model or "gpt-4.1"})
    story = told(deeds)
    now = rendered(story, options)
    for version, event in story.events:
        before = rendered(story, options, at=version - 1)
        if not isinstance(event, RequestSent) or before is None:
            continue
        if now is None:
            assert options.model in BLIND
            return
        earlier, later = before.body_parts()["messages"], now.body_parts()["messages"]
        assert later.startswith(earlier[:-1]), (version, earlier, later)


def test_a_picture_is_among_what_is_told() -> None:
    """The strategies above reach documents: a guard against a property that says nothing."""
    story = told([pictures])
    request = rendered(story, OPTIONS[1])
    assert request is not None
    assert "image_url" in json.dumps(dict(request))
