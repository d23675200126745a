"""Anything that may happen to a conversation of all three APIs, as strategies.

Whatever is said bears a mark of its own, `<version.part>`, so that it can be found again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from operator import itemgetter

from hypothesis import strategies as st

from hansard.domain import events
from hansard.domain.content import Blob, Document, Native, Text, ToolResult
from hansard.domain.events import Event
from hansard.domain.head import Head, advance, effect_of
from hansard.domain.jsontext import JsonObject
from hansard.domain.tools import ToolDefinition
from hansard.projections.requests.rendering import APIS
from hansard.projections.window import EVERYTHING, Window, edge
from tests.projections import chat_happenings as chat
from tests.projections import responses_happenings as responses
from tests.projections.happenings import (
    Story,
    code_of,
    search_result,
    server_tool_use,
    text,
    thinking,
    tool_change,
    tool_use,
)

Deed = Callable[[Story], object]

ANTHROPIC, CHAT, RESPONSES = APIS
CALL_IDS = ["call_1", "call_2", "toolu_3", "call 4", "c" * 51]
SERVER_IDS = ["srvtoolu_1", "srvtoolu_2"]

FILES = {
    "image/png": b"\x89PNG\r\n\x1a\n a picture",
    "application/pdf": b"%PDF-1.4 a page",
    "text/plain": b"plain words",
    "audio/wav": b"RIFF a sound",
    "application/zip": b"PK a box",
}
BLOBS = {hashlib.sha256(data).hexdigest(): data for data in FILES.values()}

words = st.sampled_from(["hello", "go on ", "\n\n", "", " "])
call_ids = st.sampled_from(CALL_IDS)
media_types = st.sampled_from(list(FILES))


def marked(story: Story, said: str, part: int = 0) -> str:
    """The words with a mark; blank ones stay blank."""
    return f"<{len(story.events) + 1}.{part}>{said}" if said.strip() else said


def document_of(story: Story, media_type: str) -> Document:
    data = FILES[media_type]
    blob = Blob(sha256=hashlib.sha256(data).hexdigest(), size=len(data))
    return Document(media_type=media_type, name=marked(story, "file", 9), blob=blob)


# What the caller says.


def native_prompt(story: Story, api: str, said: str) -> Native:
    """A prompt as a program's own list spells it; `named` ones have more members than a text."""
    match api:
        case "anthropic-messages":
            return Native(api=ANTHROPIC, value=text(said))
        case "openai-chat":
            return Native(api=CHAT, value={"role": "user", "content": said, "name": "Ann"})
        case _:
            return Native(api=RESPONSES, value={"type": "input_text", "text": said})


@st.composite
def says(draw: st.DrawFn) -> Deed:
    said = draw(st.lists(words, min_size=1, max_size=2))
    return lambda story: story.user(*(marked(story, each, n) for n, each in enumerate(said)))


@st.composite
def says_natively(draw: st.DrawFn) -> Deed:
    api = draw(st.sampled_from(list(APIS)))
    return lambda story: story.user(native_prompt(story, api, marked(story, "hello")))


@st.composite
def shows(draw: st.DrawFn) -> Deed:
    media_type, said = draw(media_types), draw(words)
    return lambda story: story.user(document_of(story, media_type), marked(story, said))


def notes(story: Story) -> object:
    return story.note(marked(story, "be kind"))


def notes_to_openai(story: Story) -> object:
    said = {"role": "developer", "content": marked(story, "be kind")}
    return story.happen(
        events.MessageRecorded(role="system", content=(Native(api=CHAT, value=said),))
    )


def changes_tools(story: Story) -> object:
    return story.note(tool_change(marked(story, "tool")))


def instructs(story: Story) -> object:
    return story.instruct(marked(story, "instructions"))


def instructs_openai(story: Story) -> object:
    system = {"role": "developer", "content": [{"type": "text", "text": marked(story, "rules")}]}
    return story.happen(
        events.InstructionsSet(content=Native(api=CHAT, value={"messages": [system]}))
    )


def defines_tools(story: Story) -> object:
    schema: JsonObject = {"type": "object", "properties": {}}
    definition = ToolDefinition(name="look_up", description="x", input_schema=schema)
    function = {"type": "function", "name": "weather", "parameters": schema, "strict": False}
    return story.happen(
        events.ToolsDefined(tools=(definition, Native(api=RESPONSES, value=function)))
    )


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
def anthropic_answers(draw: st.DrawFn) -> Deed:
    told = draw(st.lists(anthropic_blocks, max_size=4))
    stop = draw(st.sampled_from(["tool_use", "end_turn", "pause_turn", "max_tokens", "refusal"]))
    if stop == "pause_turn" and not {kind for kind, _ in told} & {"search", "whole search"}:
        stop = "end_turn"  # The service pauses amid its own tools only.
    envelope: JsonObject = {"stop_reason": stop, "container": {"id": "container_1"}}
    return lambda story: story.answer(*anthropic_said(story, told), stop=stop, envelope=envelope)


@st.composite
def anthropic_breaks_off(draw: st.DrawFn) -> Deed:
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
def chat_answers(draw: st.DrawFn) -> Deed:
    said, extra = draw(words), draw(extras)
    ids = draw(st.lists(call_ids, max_size=3))
    model = draw(st.sampled_from(["gpt-4.1", "deepseek-chat"]))
    stop = draw(st.sampled_from([None, "length", "content_filter"]))
    return lambda story: chat.answers(
        story, chat_message(story, said, ids, extra), model=model, stop=stop
    )


@st.composite
def chat_breaks_off(draw: st.DrawFn) -> Deed:
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
def responses_answers(draw: st.DrawFn) -> Deed:
    told, store = draw(st.lists(items, max_size=4)), draw(st.sampled_from([True, False]))
    return lambda story: responses.answers(story, *items_of(story, told), store=store)


@st.composite
def responses_breaks_off(draw: st.DrawFn) -> Deed:
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


# What tools give.


def native_result(call_id: str, api: str, said: str) -> Native:
    match api:
        case "anthropic-messages":
            value: JsonObject = {"type": "tool_result", "tool_use_id": call_id, "content": said}
            return Native(api=ANTHROPIC, value=value)
        case "openai-chat":
            return Native(
                api=CHAT, value={"role": "tool", "tool_call_id": call_id, "content": said}
            )
        case _:
            return Native(api=RESPONSES, value=responses.output(call_id, said))


@st.composite
def gives_result(draw: st.DrawFn) -> Deed:
    call_id, said, is_error = draw(call_ids), draw(words), draw(st.booleans())
    return lambda story: story.result(call_id, marked(story, said), is_error=is_error)


@st.composite
def gives_native_result(draw: st.DrawFn) -> Deed:
    call_id, said, api = draw(call_ids), draw(words), draw(st.sampled_from(list(APIS)))

    def give(story: Story) -> object:
        content = native_result(call_id, api, marked(story, said))
        return story.happen(events.ToolResultRecorded(call_id=call_id, content=content))

    return give


@st.composite
def gives_document(draw: st.DrawFn) -> Deed:
    call_id, media_type = draw(call_ids), draw(media_types)

    def give(story: Story) -> object:
        said = (Text(text=marked(story, "see")), document_of(story, media_type))
        result = ToolResult(call_id=call_id, content=said)
        return story.happen(events.ToolResultRecorded(call_id=call_id, content=result))

    return give


def gives_up(story: Story) -> object:
    return story.cancelled("call_1")


# What else happens.


@st.composite
def redacts(draw: st.DrawFn) -> Deed:
    place = draw(st.integers(1, 30))
    return lambda story: story.redact(min(place, len(story.events) or 1))


@st.composite
def asks(draw: st.DrawFn) -> Deed:
    told: list[Deed] = [Story.ask, chat.asks, responses.asks]
    return draw(st.sampled_from(told))


answers: st.SearchStrategy[Deed] = st.one_of(
    anthropic_answers(), chat_answers(), responses_answers()
)
interruptions: st.SearchStrategy[Deed] = st.one_of(
    anthropic_breaks_off(), chat_breaks_off(), responses_breaks_off()
)
results: st.SearchStrategy[Deed] = st.one_of(
    gives_result(), gives_native_result(), gives_document()
)
speech: list[st.SearchStrategy[Deed]] = [
    *(says(), says_natively(), shows(), asks(), asks(), asks()),
    *(answers, answers, interruptions, results, results),
    st.sampled_from([notes, notes_to_openai, changes_tools]),
]
without_changes: st.SearchStrategy[Deed] = st.one_of(speech)
everything: st.SearchStrategy[Deed] = st.one_of(
    *speech,
    redacts(),
    st.sampled_from([instructs, instructs_openai, defines_tools]),
    st.sampled_from([gives_up, anthropic_compacts, responses_compacts]),
)


def happened(deeds: list[Deed]) -> Story:
    story = Story()
    for deed in deeds:
        deed(story)
    return story


def within(story: Story, window: Window | None) -> list[tuple[int, Event]]:
    """The events that a request with this window is made of, as a store would read them."""
    head, numbered = Head(), list[tuple[int, int, Event]]()
    for version, event in story.events:
        head = advance(head, effect_of(event))
        numbered.append((head.exchange, version, event))
    first = edge(max(0, head.exchange - 1), window)
    if first == EVERYTHING:
        return story.events
    before = [(version, event) for number, version, event in numbered if number < first]
    kept = [(version, event) for number, version, event in numbered if number >= first]
    return [*sorted(in_force(before), key=itemgetter(0)), *kept]


def in_force(told: list[tuple[int, Event]]) -> Iterator[tuple[int, Event]]:
    """The last events that set instructions and tools."""
    for kind in (events.InstructionsSet, events.ToolsDefined):
        yield from [each for each in told if isinstance(each[1], kind)][-1:]
