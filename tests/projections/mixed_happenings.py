"""Anything that may happen to a conversation of all six APIs, as strategies.

Whatever is said bears a mark of its own, `<version.part>`, so that it can be found again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import itemgetter

from hypothesis import strategies as st

from onrecord.domain import events, jsontext
from onrecord.domain.content import Document, Native, Text, ToolResult
from onrecord.domain.events import Event
from onrecord.domain.head import Head, advance, effect_of
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.tools import ToolDefinition
from onrecord.projections.apis.request import APIS
from onrecord.projections.history.windows import EVERYTHING, Window, edge
from tests.projections import mixed_answers, mixed_clouds
from tests.projections.apis.bedrock import bedrock_happenings as bedrock
from tests.projections.apis.gemini import gemini_happenings as gemini
from tests.projections.apis.openai_chat import chat_happenings as chat
from tests.projections.apis.openai_responses import responses_happenings as responses
from tests.projections.happenings import (
    Story,
    text,
    tool_change,
)
from tests.projections.marked import call_ids, document_of, marked, media_types, words
from tests.projections.mixed_answers import (
    Happening,
    anthropic_compacts,
    responses_compacts,
)

ANTHROPIC, CHAT, RESPONSES, GEMINI, OLLAMA, BEDROCK = APIS
# What the caller says.


def native_prompt(story: Story, api: str, said: str) -> Native:
    """A prompt as a program's own list spells it; `named` ones have more members than a text."""
    match api:
        case "anthropic-messages":
            return Native(api=ANTHROPIC, value=text(said))
        case "openai-chat":
            return Native(api=CHAT, value={"role": "user", "content": said, "name": "Ann"})
        case "gemini":
            return Native(api=GEMINI, value={"text": said, "partMetadata": {"a": 1}})
        case "ollama":
            value: JsonObject = {"role": "user", "content": said, "images": ["iVBORw0KGgo="]}
            return Native(api=OLLAMA, value=value)
        case "bedrock-converse":
            return Native(api=BEDROCK, value={"guardContent": {"text": {"text": said}}})
        case _:
            return Native(api=RESPONSES, value={"type": "input_text", "text": said})


@st.composite
def says(draw: st.DrawFn) -> Happening:
    said = draw(st.lists(words, min_size=1, max_size=2))
    return lambda story: story.user(*(marked(story, each, n) for n, each in enumerate(said)))


@st.composite
def says_natively(draw: st.DrawFn) -> Happening:
    api = draw(st.sampled_from(list(APIS)))
    return lambda story: story.user(native_prompt(story, api, marked(story, "hello")))


@st.composite
def shows(draw: st.DrawFn) -> Happening:
    media_type, said = draw(media_types), draw(words)
    return lambda story: story.user(document_of(story, media_type), marked(story, said))


@st.composite
def signals(draw: st.DrawFn) -> Happening:
    """A signal from outside: of texts, of a document, of nothing."""
    said, interrupts = draw(st.lists(words, max_size=2)), draw(st.booleans())
    shown = draw(st.lists(media_types, max_size=1))

    def comes(story: Story) -> object:
        texts = [Text(text=marked(story, each, n)) for n, each in enumerate(said)]
        documents = [document_of(story, media_type) for media_type in shown]
        content: tuple[Text | Document, ...] = (*texts, *documents)
        return story.happen(events.SignalReceived(content=content, interrupts=interrupts))

    return comes


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


def instructs_gemini(story: Story) -> object:
    parts = [{"text": marked(story, "be kind")}, {"text": marked(story, "be short", 1)}]
    value: JsonObject = {"systemInstruction": {"parts": parts}}
    return story.happen(events.InstructionsSet(content=Native(api=GEMINI, value=value)))


def instructs_bedrock(story: Story) -> object:
    system = [{"text": marked(story, "be kind")}, {"cachePoint": {"type": "default"}}]
    content = Native(api=BEDROCK, value={"system": system})
    return story.happen(events.InstructionsSet(content=content))


def defines_tools(story: Story) -> object:
    schema: JsonObject = {"type": "object", "properties": {}}
    definition = ToolDefinition(name="look_up", description="x", input_schema=schema)
    function = {"type": "function", "name": "weather", "parameters": schema, "strict": False}
    declared = {"functionDeclarations": [{"name": "stocks", "parameters": {"type": "OBJECT"}}]}
    spec = {"toolSpec": {"name": "trains", "inputSchema": {"json": schema}}}
    natives = (
        Native(api=RESPONSES, value=function),
        Native(api=GEMINI, value=declared),
        Native(api=GEMINI, value={"googleSearch": {}}),
        Native(api=OLLAMA, value={"type": "function", "function": {"name": "tides"}}),
        Native(api=BEDROCK, value=spec),
    )
    return story.happen(events.ToolsDeclared(tools=(definition, *natives)))


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
        case "gemini":
            return Native(api=GEMINI, value=gemini.response(said, id=call_id))
        case "ollama":
            value = {"role": "tool", "content": said, "tool_name": "look_up"}
            return Native(api=OLLAMA, value=value)
        case "bedrock-converse":
            held = {"toolUseId": call_id, "content": [{"text": said or "-"}], "status": "error"}
            return Native(api=BEDROCK, value={"toolResult": held})
        case _:
            return Native(api=RESPONSES, value=responses.output(call_id, said))


def object_with(text: str) -> str:
    """The JSON of an object that says it, in the form in which results are recorded."""
    return jsontext.write({"said": text}).decode()


def list_with(text: str) -> str:
    """The JSON of a list that says it."""
    return jsontext.write([text, 1.5, None]).decode()


ENCODERS: tuple[Callable[[str], str], ...] = (str, str, object_with, list_with)


@st.composite
def gives_result(draw: st.DrawFn) -> Happening:
    call_id, said, is_error = draw(call_ids), draw(words), draw(st.booleans())
    encode = draw(st.sampled_from(ENCODERS))

    def give(story: Story) -> object:
        text = encode(marked(story, said))
        return story.result(call_id, text, is_error=is_error, is_json=encode is not str)

    return give


@st.composite
def gives_native_result(draw: st.DrawFn) -> Happening:
    call_id, said, api = draw(call_ids), draw(words), draw(st.sampled_from(list(APIS)))

    def give(story: Story) -> object:
        content = native_result(call_id, api, marked(story, said))
        return story.happen(events.ToolResultRecorded(call_id=call_id, content=content))

    return give


@st.composite
def gives_document(draw: st.DrawFn) -> Happening:
    call_id, media_type = draw(call_ids), draw(media_types)

    def give(story: Story) -> object:
        said = (Text(text=marked(story, "see")), document_of(story, media_type))
        result = ToolResult(call_id=call_id, content=said)
        return story.happen(events.ToolResultRecorded(call_id=call_id, content=result))

    return give


@st.composite
def gives_what_was_asked(draw: st.DrawFn) -> Happening:
    """The result of a call that was made, whatever its id, by any API."""
    place, said, api = draw(st.integers(0, 3)), draw(words), draw(st.sampled_from([None, *APIS]))
    encode = draw(st.sampled_from(ENCODERS))

    def give(story: Story) -> object:
        known = gemini.call_ids(story) or ["call_1"]
        call_id = known[-1 - place % len(known)]
        if api is None:
            text = encode(marked(story, said))
            return story.result(call_id, text, is_json=encode is not str)
        content = native_result(call_id, api, marked(story, said))
        return story.happen(events.ToolResultRecorded(call_id=call_id, content=content))

    return give


def gives_up(story: Story) -> object:
    return story.cancelled("call_1")


# What else happens.


@st.composite
def redacts(draw: st.DrawFn) -> Happening:
    place = draw(st.integers(1, 30))
    return lambda story: story.redact(min(place, len(story.events) or 1))


@st.composite
def asks(draw: st.DrawFn) -> Happening:
    told: list[Happening] = [
        *(Story.ask, chat.asks, responses.asks),
        *(gemini.asks, mixed_clouds.ollama_asks, bedrock.asks),
    ]
    return draw(st.sampled_from(told))


results: st.SearchStrategy[Happening] = st.one_of(
    gives_result(), gives_native_result(), gives_document(), gives_what_was_asked()
)
answers = st.one_of(mixed_answers.answers, mixed_clouds.answers)
interruptions = st.one_of(mixed_answers.interruptions, mixed_clouds.interruptions)
speech: list[st.SearchStrategy[Happening]] = [
    *(says(), says_natively(), shows(), asks(), asks(), asks()),
    *(answers, answers, interruptions, results, results, signals()),
    st.sampled_from([notes, notes_to_openai, changes_tools]),
]
without_changes: st.SearchStrategy[Happening] = st.one_of(speech)
everything: st.SearchStrategy[Happening] = st.one_of(
    *speech,
    redacts(),
    st.sampled_from([instructs, instructs_openai, defines_tools]),
    st.sampled_from([instructs_gemini, instructs_bedrock]),
    st.sampled_from([gives_up, anthropic_compacts, responses_compacts]),
)


def happened(deeds: list[Happening]) -> Story:
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
    for kind in (events.InstructionsSet, events.ToolsDeclared):
        yield from [each for each in told if isinstance(each[1], kind)][-1:]
