"""What Gemini, Ollama and the models behind Bedrock's Converse may answer, as strategies."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from typing import TypeAlias
from uuid import UUID

from hypothesis import strategies as st

from onrecord.domain import events
from onrecord.domain.content import Native
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.request_template import Template
from tests.projections.apis.bedrock import bedrock_happenings as bedrock
from tests.projections.apis.gemini import gemini_happenings as gemini
from tests.projections.happenings import Story
from tests.projections.marked import MADE, call_ids, marked, words

Happening: TypeAlias = Callable[[Story], object]

OLLAMA = "ollama"
QWEN = "qwen3"
_NO_TEMPLATE = Template(spans=(), sha256="0" * 64, size=0)

# What Gemini answers.

gemini_models = st.sampled_from([gemini.GEMINI, gemini.OLDER, None])
gemini_stops = st.sampled_from(["STOP", "STOP", "MAX_TOKENS", "MALFORMED_FUNCTION_CALL"])
parts = st.one_of(
    st.tuples(st.just("text"), words),
    st.tuples(st.sampled_from(["call", "signed call"]), call_ids),
    st.tuples(
        st.sampled_from(
            ["unnamed call", "thought", "signature", "code", "searched", "picture", "grounding"]
        ),
        st.just(""),
    ),
)


def gemini_part(story: Story, part: int, kind: str, said: str) -> list[JsonObject]:
    mark = marked(story, kind, part)
    match kind:
        case "text":
            return [gemini.text(marked(story, said, part))]
        case "call":
            return [gemini.call("look_up", {"q": mark}, id=said)]
        case "signed call":
            return [gemini.signed(gemini.call("look_up", {"q": mark}, id=said))]
        case "unnamed call":
            return [gemini.call("look_up", {"q": mark}), gemini.call("look_up", {"q": mark})]
        case _:
            return gemini_beside(f"{len(story.events)}_{part}", kind, mark)


def gemini_beside(at: str, kind: str, mark: str) -> list[JsonObject]:
    match kind:
        case "thought":
            return [gemini.thought(mark)]
        case "signature":
            return [gemini.signed(gemini.text(""))]
        case "code":
            code = {"id": at, "code": mark, "language": "PYTHON"}
            ran = {"id": at, "outcome": "OUTCOME_OK", "output": mark}
            return [gemini.signed({"executableCode": code}), {"codeExecutionResult": ran}]
        case "searched":
            call = {"id": at, "toolType": "GOOGLE_SEARCH_WEB", "args": {"q": mark}}
            found = {"id": at, "toolType": "GOOGLE_SEARCH_WEB", "response": {"found": mark}}
            return [gemini.signed({"toolCall": call}), gemini.signed({"toolResponse": found})]
        case "picture":
            picture = {"mimeType": "image/png", "data": b64encode(MADE).decode()}
            return [gemini.signed({"inlineData": picture})]
        case _:
            return [{"groundingMetadata": {"webSearchQueries": [mark]}}]


def gemini_said(story: Story, told: list[tuple[str, str]]) -> list[JsonObject]:
    return [part for n, each in enumerate(told) for part in gemini_part(story, n, *each)]


@st.composite
def gemini_answers(draw: st.DrawFn) -> Happening:
    told, model, stop = draw(st.lists(parts, max_size=4)), draw(gemini_models), draw(gemini_stops)
    return lambda story: gemini.answers(story, *gemini_said(story, told), model=model, stop=stop)


@st.composite
def gemini_breaks_off(draw: st.DrawFn) -> Happening:
    told = draw(st.lists(parts, max_size=3))
    return lambda story: gemini.breaks_off(
        story, *gemini_said(story, told), unfinished=gemini.text(marked(story, "so f", 8))
    )


# What Ollama answers.


def ollama_native(value: JsonObject) -> Native:
    return Native(api=OLLAMA, value=value)


def ollama_speaks(story: Story, said: str, thought: str, ids: list[str]) -> UUID:
    """Tell the thought, the message and the calls of an answer; return its id."""
    response = UUID(int=10_000 + len(story.events))
    if thought:
        thinking = ollama_native({"thinking": thought})
        story.happen(events.ReasoningRecorded(response=response, index=0, content=thinking))
    message = (ollama_native({"role": "assistant", "content": said}),)
    story.happen(
        events.MessageRecorded(role="assistant", content=message, response=response, index=1)
    )
    for place, call_id in enumerate(ids):
        name = ("look_up", "2nd look")[place % 2]
        function = {"name": name, "arguments": {"q": marked(story, "q", place)}}
        content = ollama_native({"id": call_id, "function": function})
        story.happen(
            events.ToolCallRecorded(
                response=response, index=2 + place, call_id=call_id, name=name, content=content
            )
        )
    return response


@st.composite
def ollama_answers(draw: st.DrawFn) -> Happening:
    said, thinks = draw(words), draw(st.booleans())
    ids = draw(st.lists(call_ids, max_size=3, unique=True))
    model = draw(st.sampled_from([QWEN, "gpt-oss:20b"]))

    def answer(story: Story) -> object:
        thought = marked(story, "hm", 7) if thinks else ""
        response = ollama_speaks(story, marked(story, said, 8), thought, ids)
        return story.happen(
            events.ResponseCompleted(
                response=response, api=OLLAMA, model=model, stop_reason="stop", envelope={}
            )
        )

    return answer


@st.composite
def ollama_breaks_off(draw: st.DrawFn) -> Happening:
    said = draw(words)

    def break_off(story: Story) -> object:
        response = UUID(int=10_000 + len(story.events))
        whole = {"role": "assistant", "content": marked(story, said, 8)}
        begun = (events.Unfinished(index=1, value=whole, partial=""),)
        return story.happen(
            events.ResponseInterrupted(
                response=response, api=OLLAMA, reason="cut", unfinished=begun
            )
        )

    return break_off


def ollama_asks(story: Story) -> object:
    return story.happen(
        events.RequestSent(api=OLLAMA, endpoint="/api/chat", model=QWEN, template=_NO_TEMPLATE)
    )


# What the models behind Converse answer.

bedrock_models = st.sampled_from(
    [bedrock.CLAUDE, bedrock.NOVA, bedrock.LLAMA, bedrock.WRITER, None]
)
blocks = st.one_of(
    st.tuples(st.just("text"), words),
    st.tuples(st.just("call"), call_ids),
    st.tuples(
        st.sampled_from(["cited", "signed", "unsigned", "redacted", "searched", "asked", "found"]),
        st.just("s_1"),
    ),
)


def bedrock_block(story: Story, part: int, kind: str, said: str) -> list[JsonObject]:
    at, mark = f"s_{len(story.events)}_{part}", marked(story, kind, part)
    match kind:
        case "text":
            return [{"text": marked(story, said, part)}]
        case "call":
            return [bedrock.call(said, input={"q": mark})]
        case "cited":
            return [{"citationsContent": {"content": [{"text": mark}], "citations": []}}]
        case "signed":
            return [bedrock.reasoning(mark)]
        case "unsigned":
            return [bedrock.reasoning(mark, signature=None)]
        case "redacted":
            return [{"reasoningContent": {"redactedContent": "c2VjcmV0"}}]
        case "asked":
            return [bedrock.server_call(said)]
        case "found":
            return [bedrock.server_result(said)]
        case _:
            return [bedrock.server_call(at), bedrock.server_result(at)]


def bedrock_said(story: Story, told: list[tuple[str, str]]) -> list[JsonObject]:
    return [block for n, each in enumerate(told) for block in bedrock_block(story, n, *each)]


@st.composite
def bedrock_answers(draw: st.DrawFn) -> Happening:
    told, model = draw(st.lists(blocks, max_size=4)), draw(bedrock_models)
    stop = draw(st.sampled_from([None, "max_tokens", "guardrail_intervened"]))
    return lambda story: bedrock.answers(story, *bedrock_said(story, told), stop=stop, model=model)


@st.composite
def bedrock_breaks_off(draw: st.DrawFn) -> Happening:
    told, partial = draw(st.lists(blocks, max_size=2)), draw(words)

    def break_off(story: Story) -> object:
        begun: tuple[JsonObject, str] = ({"text": ""}, marked(story, partial, 8))
        return bedrock.breaks_off(story, *bedrock_said(story, told), begun=begun)

    return break_off


answers: st.SearchStrategy[Happening] = st.one_of(
    gemini_answers(), ollama_answers(), bedrock_answers()
)
interruptions: st.SearchStrategy[Happening] = st.one_of(
    gemini_breaks_off(), ollama_breaks_off(), bedrock_breaks_off()
)
