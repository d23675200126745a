"""Whatever happened to a conversation, the Responses API takes the request made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, cast
from uuid import UUID

from hypothesis import strategies as st

from onrecord.domain.content import Native
from onrecord.domain.events import Event
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.openai_responses.read import NAME
from onrecord.projections.apis.request import Request
from tests.contract.histories import Histories
from tests.projections.apis.openai_responses import responses_happenings as told
from tests.projections.happenings import Story, text, tool_use
from tests.projections.refused import refused

CALL_IDS = ["call_1", "call_2", "toolu 3", "c" * 80]
OPTIONS = [
    told.for_(),
    told.for_(thinking="drop"),
    told.for_(model="gpt-other"),
    told.for_(account="someone"),
]

Happening = Callable[[Story], object]

words = st.sampled_from(["hello", "go on ", "\n\n", "", " "])
blocks = st.one_of(
    st.tuples(st.just("message"), words),
    st.tuples(st.just("call"), st.sampled_from(CALL_IDS)),
    st.tuples(st.just("custom"), st.sampled_from(CALL_IDS)),
    st.tuples(st.sampled_from(["reasoning", "bare reasoning", "again"]), words),
    st.tuples(st.sampled_from(["search", "tool search", "tools", "shell", "ran"]), words),
    st.tuples(st.sampled_from(["computer", "approval", "program", "finished", "new"]), words),
)


def numbered(story: Story, said: str) -> str:
    return f"<{len(story.events) + 1}>{said}" if said.strip() else said


def item_of(number: str, kind: str, said: str) -> JsonObject:
    match kind:
        case "message":
            return told.message(f"{said} <{number}>", number)
        case "call":
            return told.call(said, number)
        case "custom":
            custom = {"id": f"ctc_{number}", "type": "custom_tool_call", "name": "sql"}
            return {**custom, "call_id": said, "input": "SELECT 1"}
        case "reasoning" | "bare reasoning":
            return told.reasoning(number, encrypted=kind == "reasoning")
        case "again":
            return told.reasoning(1)
        case "search":
            return told.search(number)
        case _:
            prefix, kind, members = ODD[kind]
            return {
                "id": f"{prefix}_{number}",
                "type": kind,
                "call_id": f"call_{number}",
                **members,
            }


HOSTED = {"type": "container_reference", "container_id": "cntr_1"}
BY_SERVER = {"call_id": None, "execution": "server"}
ASKED: JsonObject = {"action": {"type": "screenshot"}, "pending_safety_checks": []}
ODD: dict[str, tuple[str, str, JsonObject]] = {
    "tool search": ("tsc", "tool_search_call", {**BY_SERVER, "arguments": {}}),
    "tools": ("tso", "tool_search_output", {**BY_SERVER, "tools": []}),
    "shell": (
        "sh",
        "shell_call",
        {"call_id": "call_sh", "action": {"commands": ["ls"]}, "environment": HOSTED},
    ),
    "ran": ("sho", "shell_call_output", {"call_id": "call_sh", "output": []}),
    "computer": ("cu", "computer_call", ASKED),
    "approval": ("mcpr", "mcp_approval_request", {"name": "ask", "arguments": "{}"}),
    "program": ("prog", "program", {"call_id": "call_p", "code": "1", "fingerprint": "f"}),
    "finished": ("po", "program_output", {"call_id": "call_p", "result": "1"}),
    "new": ("new", "something_new", {}),
}
"""Items that are seldom said: what their ids begin with, their type, and more members."""


def items_of(story: Story, blocks: list[tuple[str, str]]) -> list[JsonObject]:
    first = len(story.events)
    return [item_of(f"{first}n{n}", kind, said) for n, (kind, said) in enumerate(blocks)]


@st.composite
def says(draw: st.DrawFn) -> Happening:
    said = draw(st.lists(words, min_size=1, max_size=2))
    return lambda story: story.user(*(numbered(story, text) for text in said))


@st.composite
def answers(draw: st.DrawFn) -> Happening:
    said, store = draw(st.lists(blocks, max_size=5)), draw(st.sampled_from([True, False, None]))
    return lambda story: told.answers(story, *items_of(story, said), store=store)


@st.composite
def breaks_off(draw: st.DrawFn) -> Happening:
    said, begun = draw(st.lists(blocks, max_size=4)), draw(st.booleans())
    partial = told.message("so f", "cut", status="in_progress")
    return lambda story: told.breaks_off(
        story, *items_of(story, said), begun=(partial,) if begun else ()
    )


@st.composite
def gives_result(draw: st.DrawFn) -> Happening:
    call_id, said = draw(st.sampled_from(CALL_IDS)), draw(words)
    is_error, is_native = draw(st.booleans()), draw(st.booleans())
    if is_native:
        return lambda story: told.gives(story, told.output(call_id, numbered(story, said)))
    return lambda story: story.result(call_id, numbered(story, said), is_error=is_error)


@st.composite
def redacts(draw: st.DrawFn) -> Happening:
    place = draw(st.integers(1, 30))
    return lambda story: story.redact(min(place, len(story.events) or 1))


def hears_anthropic(story: Story) -> object:
    return story.answer(text(numbered(story, "hm")), tool_use("call_1"), stop="tool_use")


def notes(story: Story) -> object:
    return story.note(numbered(story, "be kind"))


def gives_up(story: Story) -> object:
    return story.cancelled("call_1")


def compacts(story: Story) -> object:
    number = len(story.events)
    value = {"id": f"cmp_{number}", "type": "compaction", "encrypted_content": "gAAA"}
    return told.answers(story, value)


plain: st.SearchStrategy[Happening] = st.sampled_from([notes, told.asks, hears_anthropic])
said = st.one_of(says(), answers(), breaks_off(), gives_result(), plain)
everything = st.one_of(said, redacts(), redacts(), st.sampled_from([gives_up, compacts]))


def happened(deeds: list[Happening]) -> Story:
    story = Story()
    for deed in deeds:
        deed(story)
    return story


def torn(story: Story, request: Request) -> list[tuple[str, str]]:
    """Items that go by their id without the reasoning before them, and reasoning without what
    followed it: each with the one that it lacks."""
    # The id of "again" stands in several responses: of which one it goes, it does not tell.
    going = {item["id"] for item in request["input"] if "id" in item} - {"rs_1"}
    found: list[tuple[str, str]] = []
    for ids in said_at_once(story):
        thoughts = [item_id for item_id in ids if item_id.startswith("rs_") and item_id != "rs_1"]
        for before, after in pairwise(ids):
            if before in thoughts and before in going and after not in {*going, "rs_1"}:
                found.append((before, after))
        for thought in thoughts:
            later = ids[ids.index(thought) + 1 :]
            found += [(one, thought) for one in later if one in going and thought not in going]
    return found


def said_at_once(story: Story) -> Iterator[list[str]]:
    """The ids of the items of each response, in order."""
    responses: dict[UUID, list[str]] = {}
    for _, event in story.events:
        response, content = getattr(event, "response", None), getattr(event, "content", None)
        held = cast("tuple[object, ...]", content)[0] if isinstance(content, tuple) else content
        if response is not None and isinstance(held, Native) and held.api == NAME:
            responses.setdefault(response, []).append(held.value["id"])
    return iter(responses.values())


def texts_in(value: Any) -> list[str]:
    """Each text, thought, query and output that an event holds."""
    if isinstance(value, list):
        return [said for held in cast("list[Any]", value) for said in texts_in(held)]
    if not isinstance(value, dict):
        return []
    members = cast("JsonObject", value)
    if "text" in members or "output" in members or "query" in members:
        found = (members.get("text"), members.get("output"), members.get("query"))
        return [said for said in found if isinstance(said, str) and said]
    return [said for held in members.values() for said in texts_in(held)]


def complaints(story: Story, request: Request) -> list[object]:
    return [*refused(NAME, request), *torn(story, request)]


def spellings(event: Event) -> list[tuple[str, ...]]:
    return [(said,) for said in texts_in(event.model_dump(mode="json"))]


def spoken(request: Request) -> list[JsonObject]:
    items: list[JsonObject] = request["input"]
    return items


def excused(_: Story, now: Request, before: Request, __: int) -> bool:
    return bool(now.report.of("O8") or before.report.of("O8"))


HISTORIES = Histories(
    NAME,
    everything,
    said,
    options=st.sampled_from(OPTIONS),
    steady=st.just(told.for_()),
    refused=complaints,
    spoken=spoken,
    excused=excused,
    spellings=spellings,
)
