"""What Anthropic and OpenAI may answer, as strategies."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from hypothesis import strategies as st

from onrecord.domain.jsontext import JsonObject
from tests.projections.apis.openai_chat import chat_happenings as chat
from tests.projections.apis.openai_responses import responses_happenings as responses
from tests.projections.happenings import (
    Story,
    code_of,
    search_result,
    server_tool_use,
    text,
    thinking,
    tool_use,
)
from tests.projections.marked import call_ids, marked, words

Happening: TypeAlias = Callable[[Story], object]

SERVER_IDS = ["srvtoolu_1", "srvtoolu_2"]

# What Anthropic answers.

anthropic_blocks = st.one_of(
    st.tuples(st.just("text"), words),
    st.tuples(st.just("tool_use"), call_ids),
    st.tuples(st.sampled_from(["called by code", "search", "found"]), st.sampled_from(SERVER_IDS)),
    st.tuples(st.sampled_from(["thinking", "redacted", "whole search"]), st.just("")),
)


def anthropic_block(story: Story, part: int, kind: str, said: str) -> list[JsonObject]:
    at, mark = f"{len(story.events)}_{part}", marked(story, kind, part)
    match kind:
        case "text":
            return [text(marked(story, said, part))]
        case "tool_use":
            return [{**tool_use(said), "input": {"q": mark}}]
        case "called by code":
            return [tool_use(f"toolu_{said}_{at}", caller=code_of(said), input={"q": mark})]
        case "search":
            return [{**server_tool_use(said), "input": {"query": mark}}]
        case "pausing":
            return [{**server_tool_use(f"srvtoolu_{at}"), "input": {"query": mark}}]
        case "found":
            return [search_result(said)]
        case "thinking":
            return [thinking(mark)]
        case "redacted":
            return [{"type": "redacted_thinking", "data": mark}]
        case _:
            call = {**server_tool_use(f"srvtoolu_{at}"), "input": {"query": mark}}
            return [call, search_result(f"srvtoolu_{at}")]


def anthropic_said(story: Story, told: list[tuple[str, str]]) -> list[JsonObject]:
    return [block for n, each in enumerate(told) for block in anthropic_block(story, n, *each)]


@st.composite
def anthropic_answers(draw: st.DrawFn) -> Happening:
    told = draw(st.lists(anthropic_blocks, max_size=4))
    stop = draw(st.sampled_from(["tool_use", "end_turn", "pause_turn", "max_tokens", "refusal"]))
    if stop == "pause_turn":
        # The service pauses amid its own tools only: for a call of the caller's it stops.
        told = [each for each in told if each[0] not in ("tool_use", "called by code")]
        told.append(("pausing", ""))
    envelope: JsonObject = {"stop_reason": stop, "container": {"id": "container_1"}}
    return lambda story: story.answer(*anthropic_said(story, told), stop=stop, envelope=envelope)


@st.composite
def anthropic_breaks_off(draw: st.DrawFn) -> Happening:
    told, partial = draw(st.lists(anthropic_blocks, max_size=3)), draw(words)
    return lambda story: story.cut(
        *anthropic_said(story, told),
        unfinished=({"type": "text", "text": ""}, marked(story, partial, 8)),
    )


def anthropic_compacts(story: Story) -> object:
    return story.answer({"type": "compaction", "content": marked(story, "summary")})


# What Chat Completions answers.

extras = st.sampled_from(["", "reasoning_content", "annotations", "refusal", "custom"])


def chat_message(story: Story, said: str, ids: list[str], extra: str) -> JsonObject:
    mark = marked(story, extra or "x", 7)
    calls = [
        chat.function(each, '{"q": "' + marked(story, "q", n) + '"}') for n, each in enumerate(ids)
    ]
    added: dict[str, JsonObject] = {
        "reasoning_content": {"reasoning_content": mark},
        "annotations": {"annotations": []},
        "refusal": {"refusal": mark},
    }
    if extra == "custom":
        custom = {"name": "sql", "input": mark}
        calls.append({"id": f"call_c{len(story.events)}", "type": "custom", "custom": custom})
    return chat.says(marked(story, said, 8) or None, *calls, **added.get(extra, {}))


@st.composite
def chat_answers(draw: st.DrawFn) -> Happening:
    said, extra = draw(words), draw(extras)
    ids = draw(st.lists(call_ids, max_size=3))
    model = draw(st.sampled_from(["gpt-4.1", "deepseek-chat"]))
    stop = draw(st.sampled_from([None, "length", "content_filter"]))
    return lambda story: chat.answers(
        story, chat_message(story, said, ids, extra), model=model, stop=stop
    )


@st.composite
def chat_breaks_off(draw: st.DrawFn) -> Happening:
    said, ids = draw(words), draw(st.lists(call_ids, max_size=2))
    return lambda story: chat.breaks_off(
        story, {}, chat_message(story, said, [], ""), *(chat.function(each, '{"q') for each in ids)
    )


# What the Responses API answers.

items = st.one_of(
    st.tuples(st.just("message"), words),
    st.tuples(st.sampled_from(["call", "custom"]), call_ids),
    st.tuples(st.sampled_from(["reasoning", "stored reasoning", "search", "code"]), st.just("")),
)


def item(story: Story, part: int, kind: str, said: str) -> JsonObject:
    at, mark = f"{len(story.events)}n{part}", marked(story, kind, part)
    match kind:
        case "message":
            return responses.message(marked(story, said, part), at)
        case "call":
            return responses.call(said, at, arguments='{"q": "' + mark + '"}')
        case "custom":
            custom = {"type": "custom_tool_call", "name": "sql", "call_id": said}
            return {"id": f"ctc_{at}", **custom, "input": mark}
        case "reasoning" | "stored reasoning":
            return responses.reasoning(at, encrypted=kind == "reasoning")
        case "code":
            ran = {"type": "code_interpreter_call", "code": mark, "outputs": None}
            return {"id": f"ci_{at}", **ran, "container_id": "cntr_1", "status": "completed"}
        case _:
            return {**responses.search(at), "action": {"type": "search", "query": mark}}


def items_of(story: Story, told: list[tuple[str, str]]) -> list[JsonObject]:
    return [item(story, part, *each) for part, each in enumerate(told)]


@st.composite
def responses_answers(draw: st.DrawFn) -> Happening:
    told, store = draw(st.lists(items, max_size=4)), draw(st.sampled_from([True, False]))
    return lambda story: responses.answers(story, *items_of(story, told), store=store)


@st.composite
def responses_breaks_off(draw: st.DrawFn) -> Happening:
    told = draw(st.lists(items, max_size=3))
    return lambda story: responses.breaks_off(
        story,
        *items_of(story, told),
        begun=(responses.message(marked(story, "so f", 8), "cut", status="in_progress"),),
    )


def responses_compacts(story: Story) -> object:
    number = len(story.events)
    value = {"id": f"cmp_{number}", "type": "compaction", "encrypted_content": "gAAA"}
    return responses.answers(story, value)


answers: st.SearchStrategy[Happening] = st.one_of(
    anthropic_answers(), chat_answers(), responses_answers()
)
interruptions: st.SearchStrategy[Happening] = st.one_of(
    anthropic_breaks_off(), chat_breaks_off(), responses_breaks_off()
)
