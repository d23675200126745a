"""Whatever happened to a conversation, its request is one that the service takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from hypothesis import strategies as st

from onrecord.domain.errors import NothingToSend
from onrecord.domain.events import Event, MessageRecorded
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.request import Options, Request
from tests.contract.histories import Histories
from tests.projections.happenings import (
    API,
    Story,
    code_of,
    flat,
    search_result,
    server_tool_use,
    thinking,
    tool_change,
    tool_use,
)
from tests.projections.refused import refused

CALL_IDS = ["toolu_1", "toolu_2", "call 3", "toolu_4", "toolu_5"]
SERVER_IDS = ["srvtoolu_1", "srvtoolu_2", "srvtoolu_3"]
OPTIONS = [
    Options(),
    Options(cache=True),
    Options(thinking="drop"),
    Options(model="claude-other", account="someone"),
]

BEGUN: list[JsonObject | None] = [{"type": "text", "text": ""}, {"type": "thinking"}, None]

Happening = Callable[[Story], object]


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
def says(draw: st.DrawFn) -> Happening:
    said = draw(st.lists(words, min_size=1, max_size=2))
    return lambda story: story.user(*(numbered(story, text) for text in said))


@st.composite
def answers(draw: st.DrawFn, blocks: st.SearchStrategy[tuple[str, str]]) -> Happening:
    told = draw(st.lists(blocks, max_size=4))
    stop = draw(st.sampled_from(["tool_use", "end_turn", "pause_turn", "max_tokens", "refusal"]))
    if stop == "pause_turn":
        told = [*told, ("pausing", "")]  # The service pauses amid its own tools only.
    envelope: JsonObject = {"stop_reason": stop, "container": {"id": "container_1"}}
    return lambda story: story.answer(
        *(block_of(story, *block) for block in told), stop=stop, envelope=envelope
    )


@st.composite
def breaks_off(draw: st.DrawFn, blocks: st.SearchStrategy[tuple[str, str]]) -> Happening:
    told, partial = draw(st.lists(blocks, max_size=4)), draw(words)
    begun = draw(st.sampled_from(BEGUN))
    return lambda story: story.cut(
        *(block_of(story, *block) for block in told),
        unfinished=(begun, numbered(story, partial)) if begun else None,
    )


@st.composite
def gives_result(draw: st.DrawFn) -> Happening:
    call_id, text = draw(st.sampled_from(CALL_IDS)), draw(words)
    is_error = draw(st.booleans())
    return lambda story: story.result(call_id, numbered(story, text), is_error=is_error)


@st.composite
def redacts(draw: st.DrawFn) -> Happening:
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


def said_with(blocks: st.SearchStrategy[tuple[str, str]]) -> st.SearchStrategy[Happening]:
    plain: st.SearchStrategy[Happening] = st.sampled_from([notes, changes_tools, asks])
    return st.one_of(says(), plain, answers(blocks), breaks_off(blocks), gives_result())


changes: st.SearchStrategy[Happening] = st.one_of(redacts(), st.sampled_from([instructs, gives_up]))
said = said_with(blocks)
everything = st.one_of(said, changes, st.just(compacts))
without_thinking = st.one_of(said_with(unsigned), changes)


def told(deeds: list[Happening]) -> Story:
    story = Story()
    for deed in deeds:
        deed(story)
    return story


def rendered(story: Story, options: Options, at: int | None = None) -> Request | None:
    try:
        return story.request(options, at=at)
    except NothingToSend:
        return None


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


def has_notes(story: Story) -> bool:
    return any(isinstance(e, MessageRecorded) and e.role == "system" for _, e in story.events)


def next_speaker(earlier: list[Any], later: list[Any]) -> str | None:
    """Who spoke after a request; unless it was answered, a note moves on to the next answer."""
    return later[len(earlier)][0] if len(later) > len(earlier) else None


def has_server_tools(request: Request) -> bool:
    """A server's call that stays without result is one that the service took back."""
    return any(block["type"] in {"server_tool_use", "fallback"} for _, block in flat(request))


def spellings(event: Event) -> list[tuple[str, ...]]:
    return [(text,) for text in texts_in(event.model_dump(mode="json"))]


def refused_by_rules(_: Story, request: Request) -> Sequence[object]:
    return refused(API, request)


def excused(story: Story, now: Request, before: Request, _: int) -> bool:
    """A server's call in flight, or a note of the operator's that moves on until it is answered."""
    if has_server_tools(now) or has_server_tools(before):
        return True
    return has_notes(story) and next_speaker(flat(before), flat(now)) != "assistant"


HISTORIES = Histories(
    API,
    everything,
    said,
    options=st.sampled_from(OPTIONS),
    steady=st.just(Options()),
    refused=refused_by_rules,
    spoken=flat,
    excused=excused,
    spellings=spellings,
)
