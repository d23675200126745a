"""Whatever happened to a conversation, its Chat Completions request is one that the service takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import strategies as st

from onrecord.adapters.check.check import check_request
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.openai_chat.read import NAME
from onrecord.projections.apis.request import Options, Request
from tests.contract.histories import Histories
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

Happening = Callable[[Story], object]

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
def says(draw: st.DrawFn) -> Happening:
    said = draw(st.lists(words, min_size=1, max_size=2))
    return lambda story: story.user(*(numbered(story, text) for text in said))


@st.composite
def answers(draw: st.DrawFn) -> Happening:
    said, ids, added = draw(words), draw(call_ids), draw(extras)
    model, stop = draw(models), draw(stops)
    return lambda story: chat.answers(
        story, message_of(story, said, ids, added), model=model, stop=stop
    )


@st.composite
def breaks_off(draw: st.DrawFn) -> Happening:
    said, ids = draw(words), draw(call_ids)
    return lambda story: chat.breaks_off(
        story,
        {},
        chat.says(numbered(story, said)),
        *({"id": call_id, "function": {"name": "look_up"}} for call_id in ids),
    )


@st.composite
def another_answers(draw: st.DrawFn) -> Happening:
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
def gives_result(draw: st.DrawFn) -> Happening:
    call_id, said, own = draw(st.sampled_from(FOREIGN_IDS)), draw(words), draw(st.booleans())
    if own:
        return lambda story: chat.gives(story, call_id, numbered(story, said))
    return lambda story: story.result(call_id, numbered(story, said), is_error=len(said) == 1)


@st.composite
def redacts(draw: st.DrawFn) -> Happening:
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


plain: st.SearchStrategy[Happening] = st.sampled_from([notes, chat.asks, pictures, calls_itself])
said = st.one_of(says(), plain, answers(), breaks_off(), another_answers(), gives_result())
everything = st.one_of(said, redacts(), st.just(gives_up))


def complaints(_: Story, request: Request) -> Sequence[object]:
    """What the rules say, and the types of OpenAI's own SDK, which forbid extra keys."""
    model = request.options.model
    named = {**request, "model": model} if model else {**request}
    mistyped = check_request(NAME, named).violations if model == "gpt-4.1" else ()
    return (*refused(NAME, named), *mistyped)


def spoken(request: Request) -> list[JsonObject]:
    messages: list[JsonObject] = request["messages"]
    return messages


def is_blind(options: Options) -> bool:
    """Whether the model reads no pictures; where none is named, the one that answered last does not."""
    return options.model in (*BLIND, None)


HISTORIES = Histories(
    NAME,
    everything,
    said,
    options=st.sampled_from(OPTIONS),
    steady=st.sampled_from(
        [each.model_copy(update={"model": each.model or "gpt-4.1"}) for each in OPTIONS[1:]]
    ),
    refused=complaints,
    spoken=spoken,
    blobs=BLOBS,
    begin=9,
    takes_no_document=is_blind,
)
