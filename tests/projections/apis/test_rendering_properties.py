"""Whatever happened to a conversation, its request is one that the service takes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from onrecord.adapters.demo.services.anthropic import Signer
from onrecord.domain.content import Native
from onrecord.domain.errors import NothingToSend
from onrecord.domain.events import InstructionsSet, MessageRecorded, ReasoningRecorded, RequestSent
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.request import Options, Request
from tests.projections.happenings import (
    API,
    Story,
    code_of,
    flat,
    rules,
    search_result,
    server_tool_use,
    thinking,
    tool_change,
    tool_use,
)
from tests.projections.refused import refused
from tests.search import examples

SIGNER = Signer(b"account")
CALL_IDS = ["toolu_1", "toolu_2", "call 3", "toolu_4", "toolu_5"]
SERVER_IDS = ["srvtoolu_1", "srvtoolu_2", "srvtoolu_3"]
OPTIONS = [
    Options(),
    Options(cache=True),
    Options(thinking="drop"),
    Options(model="claude-other", account="someone"),
]

BEGUN: list[JsonObject | None] = [{"type": "text", "text": ""}, {"type": "thinking"}, None]

Deed = Callable[[Story], object]


def numbered(story: Story, text: str) -> str:
    """The text, made one of a kind unless it is blank, so that it can be found again."""
    return f"<{len(story.events) + 1}>{text}" if text.strip() else text


words = st.sampled_from(["hello", "go on ", "\n\n", "", " "])
unsigned = st.one_of(
    st.tuples(st.just("text"), words),
    st.tuples(st.just("tool_use"), st.sampled_from(CALL_IDS)),
    st.tuples(st.just("called by code"), st.sampled_from(SERVER_IDS)),
    st.tuples(st.just("server_tool_use"), st.sampled_from(SERVER_IDS)),
    st.tuples(st.just("result"), st.sampled_from(SERVER_IDS)),
    st.just(("fallback", "")),
)
blocks = st.one_of(unsigned, st.just(("thinking", "")))


def block_of(story: Story, kind: str, said: str) -> JsonObject:
    match kind:
        case "text":
            return {"type": "text", "text": numbered(story, said)}
        case "tool_use":
            return tool_use(said)
        case "called by code":
            return tool_use(f"toolu_of_{said}_{len(story.events)}", caller=code_of(said))
        case "server_tool_use":
            return server_tool_use(said)
        case "pausing":
            return server_tool_use(f"srvtoolu_of_{len(story.events)}")
        case "result":
            return search_result(said)
        case "thinking":
            return thinking(f"thought {len(story.events)}")
        case "compaction":
            return {"type": "compaction", "content": f"summary {len(story.events)}"}
        case _:
            model = {"model": "claude"}
            return {"type": "fallback", "from": model, "to": model, "trigger": None}


@st.composite
def says(draw: st.DrawFn) -> Deed:
    said = draw(st.lists(words, min_size=1, max_size=2))
    return lambda story: story.user(*(numbered(story, text) for text in said))


@st.composite
def answers(draw: st.DrawFn, blocks: st.SearchStrategy[tuple[str, str]]) -> Deed:
    told = draw(st.lists(blocks, max_size=4))
    stop = draw(st.sampled_from(["tool_use", "end_turn", "pause_turn", "max_tokens", "refusal"]))
    if stop == "pause_turn":
        told = [*told, ("pausing", "")]  # The service pauses amid its own tools only.
    envelope: JsonObject = {"stop_reason": stop, "container": {"id": "container_1"}}
    return lambda story: story.answer(
        *(block_of(story, *block) for block in told), stop=stop, envelope=envelope
    )


@st.composite
def breaks_off(draw: st.DrawFn, blocks: st.SearchStrategy[tuple[str, str]]) -> Deed:
    told, partial = draw(st.lists(blocks, max_size=4)), draw(words)
    begun = draw(st.sampled_from(BEGUN))
    return lambda story: story.cut(
        *(block_of(story, *block) for block in told),
        unfinished=(begun, numbered(story, partial)) if begun else None,
    )


@st.composite
def gives_result(draw: st.DrawFn) -> Deed:
    call_id, text = draw(st.sampled_from(CALL_IDS)), draw(words)
    is_error = draw(st.booleans())
    return lambda story: story.result(call_id, numbered(story, text), is_error=is_error)


@st.composite
def redacts(draw: st.DrawFn) -> Deed:
    place = draw(st.integers(1, 30))
    return lambda story: story.redact(min(place, len(story.events) or 1))


def asks(story: Story) -> None:
    try:
        story.ask_as_rendered()
    except NothingToSend:
        story.ask()


def notes(story: Story) -> object:
    return story.note(numbered(story, "be kind"))


def changes_tools(story: Story) -> object:
    return story.note(tool_change(f"tool {len(story.events)}"))


def instructs(story: Story) -> object:
    return story.instruct(f"instructions {len(story.events)}")


def compacts(story: Story) -> object:
    return story.answer(block_of(story, "compaction", ""))


def gives_up(story: Story) -> object:
    return story.cancelled("toolu_1")


def said_with(blocks: st.SearchStrategy[tuple[str, str]]) -> st.SearchStrategy[Deed]:
    plain: st.SearchStrategy[Deed] = st.sampled_from([notes, changes_tools, asks])
    return st.one_of(says(), plain, answers(blocks), breaks_off(blocks), gives_result())


changes: st.SearchStrategy[Deed] = st.one_of(redacts(), st.sampled_from([instructs, gives_up]))
said = said_with(blocks)
everything = st.one_of(said, changes, st.just(compacts))
without_thinking = st.one_of(said_with(unsigned), changes)


def told(deeds: list[Deed]) -> Story:
    story = Story()
    for deed in deeds:
        deed(story)
    return story


def rendered(story: Story, options: Options, at: int | None = None) -> Request | None:
    try:
        return story.request(options, at=at)
    except NothingToSend:
        return None


@examples(300)
@given(st.lists(everything, max_size=14), st.sampled_from(OPTIONS))
def test_any_history_renders_to_a_request_that_is_not_refused(
    deeds: list[Deed], options: Options
) -> None:
    story = told(deeds)
    request = rendered(story, options)
    if request is None:
        return
    assert refused(API, request) == ()


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
    if request.report.of("R18"):
        return
    for version, event in story.events:
        for text in texts_in(event.model_dump(mode="json")):
            assert version in named or json.dumps(text)[1:-1] in body, (version, text)


def texts_in(value: Any) -> list[str]:
    """Each text, thought, query and result that an event holds."""
    if isinstance(value, list):
        return [text for held in cast("list[Any]", value) for text in texts_in(held)]
    if not isinstance(value, dict):
        return []
    members = cast("JsonObject", value)
    if members.get("type") in {"text", "thinking"} or members.get("kind") == "text":
        said = (members.get("text"), members.get("thinking"))
        return [text for text in said if isinstance(text, str) and text]
    return [text for held in members.values() for text in texts_in(held)]


@examples(300)
@given(st.lists(said, max_size=16))
def test_a_request_begins_with_the_bytes_of_every_request_before(deeds: list[Deed]) -> None:
    story = told(deeds)
    now = rendered(story, Options())
    if now is not None and has_server_tools(now):
        return
    for version, event in story.events:
        before = rendered(story, Options(), at=version - 1)
        if not isinstance(event, RequestSent) or before is None or has_server_tools(before):
            continue
        assert now is not None
        earlier, later = flat(before), flat(now)
        if has_notes(story) and next_speaker(earlier, later) != "assistant":
            continue
        assert later[: len(earlier)] == earlier, (version, earlier, later)


def has_notes(story: Story) -> bool:
    return any(isinstance(e, MessageRecorded) and e.role == "system" for _, e in story.events)


def next_speaker(earlier: list[Any], later: list[Any]) -> str | None:
    """Who spoke after a request; unless it was answered, a note moves on to the next answer."""
    return later[len(earlier)][0] if len(later) > len(earlier) else None


def has_server_tools(request: Request) -> bool:
    """A server's call that stays without result is one that the service took back."""
    return any(block["type"] in {"server_tool_use", "fallback"} for _, block in flat(request))


@examples(200)
@given(st.lists(without_thinking, max_size=12))
def test_thinking_that_goes_back_is_valid_where_it_stands(deeds: list[Deed]) -> None:
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
