"""Whatever happened to a conversation, its Gemini request is one that the service takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from google.genai import types
from hypothesis import strategies as st

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.gemini.read import NAME
from onrecord.projections.apis.request import Options, Request
from tests.contract.histories import Histories
from tests.projections.apis.gemini import gemini_happenings as gemini
from tests.projections.apis.gemini.gemini_happenings import GEMINI, OLDER, signed
from tests.projections.happenings import (
    Story,
    document,
    search_result,
    server_tool_use,
    text,
    thinking,
    tool_use,
)

MODELS = [None, GEMINI, OLDER, "gemini-4-argon"]
OPTIONS = [
    *(Options(api=NAME, model=model) for model in MODELS),
    Options(api=NAME, thinking="drop", cache=True),
    Options(api=NAME, account="someone"),
]
PIXEL = "a" * 64
BLOBS = {PIXEL: b"\x89PNG\r\n\x1a\n"}
FOREIGN_IDS = ["call_0", "call 2", "toolu_3", "x" * 51]

Happening = Callable[[Story], object]

words = st.sampled_from(["hello", "go on ", "\n\n", "", " "])
names = st.lists(st.sampled_from(["look_up", "weather", "2fa"]), max_size=3)
stops = st.sampled_from(
    ["STOP", "MAX_TOKENS", "SAFETY", "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"]
)


def numbered(story: Story, said: str) -> str:
    """The text, made one of a kind unless it is blank, so that it can be found again."""
    return f"<{len(story.events) + 1}>{said}" if said.strip() else said


def parts_of(story: Story, said: str, called: list[str], extras: list[str]) -> list[JsonObject]:
    """A model's parts: a text, what stands beside it, and calls of which the first is signed."""
    own = numbered(story, said)
    beside: dict[str, JsonObject] = {
        "thought": gemini.thought(numbered(story, "hm")),
        "signature": signed(gemini.text("")),
        "code": signed({"executableCode": {"id": "c", "code": own, "language": "PYTHON"}}),
        "ran": {"codeExecutionResult": {"id": "c", "outcome": "OUTCOME_OK", "output": own}},
        "unknown": signed({"hologram": {"said": own}}),
        "grounding": {"groundingMetadata": {"webSearchQueries": [own]}},
    }
    calls = [gemini.call(name, {"q": place}) for place, name in enumerate(called)]
    calls[:1] = [signed(call) for call in calls[:1]]
    return [gemini.text(own), *(beside[extra] for extra in extras), *calls]


extras = st.lists(
    st.sampled_from(["thought", "signature", "code", "ran", "unknown", "grounding"]), max_size=2
)


@st.composite
def says(draw: st.DrawFn) -> Happening:
    said = draw(st.lists(words, min_size=1, max_size=2))
    return lambda story: story.user(*(numbered(story, each) for each in said))


@st.composite
def answers(draw: st.DrawFn) -> Happening:
    said, called, added = draw(words), draw(names), draw(extras)
    model, stop = draw(st.sampled_from([GEMINI, OLDER, None])), draw(stops)
    return lambda story: gemini.answers(
        story, *parts_of(story, said, called, added), model=model, stop=stop
    )


def half_answers(story: Story) -> object:
    half = gemini.text(numbered(story, "half"))
    return gemini.answers(story, half, stop="CONTINUATION", continuationToken="YQ==")


@st.composite
def breaks_off(draw: st.DrawFn) -> Happening:
    said, called = draw(words), draw(names)
    return lambda story: gemini.breaks_off(
        story,
        *parts_of(story, said, called, []),
        unfinished=gemini.text(numbered(story, "so f")),
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
        tool_use(f"{call_id}x", "2fa"),
        stop="tool_use",
    )


@st.composite
def gives_result(draw: st.DrawFn) -> Happening:
    place, said, own = draw(st.integers(0, 9)), draw(words), draw(st.booleans())

    def give(story: Story) -> object:
        known = [*gemini.call_ids(story), *FOREIGN_IDS]
        call_id = known[-1 - place % len(known)]
        if own:
            return gemini.gives(story, call_id, gemini.response(numbered(story, said)))
        return story.result(call_id, numbered(story, said), is_error=len(said) == 1)

    return give


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


plain: st.SearchStrategy[Happening] = st.sampled_from([notes, gemini.asks, pictures, calls_itself])
said = st.one_of(says(), plain, answers(), breaks_off(), another_answers(), gives_result())
everything = st.one_of(said, redacts(), st.just(half_answers))


def faults(contents: list[JsonObject], model: str | None) -> Iterator[str]:
    """What the service would say of contents: counted here by another way than the referee's."""
    before: list[JsonObject] = []
    for place, content in enumerate(contents):
        parts: list[JsonObject] = content["parts"]
        calls = [part for part in parts if "functionCall" in part]
        results = [part for part in parts if "functionResponse" in part]
        called = [part["functionCall"]["name"] for part in before]
        if [part["functionResponse"]["name"] for part in results] != called:
            yield f"{place}: not as many results as calls, or not in their order"
        if calls and (place == 0 or contents[place - 1]["role"] != "user"):
            yield f"{place}: a call does not follow the user"
        if calls and model not in (None, OLDER) and not calls[0].get("thoughtSignature"):
            yield f"{place}: the first call bears no signature"
        if content["role"] not in ("user", "model") or not all(parts) or not parts:
            yield f"{place}: of no role, or without parts"
        before = calls
    if before:
        yield "the last calls have no results"


def spoken(request: Request) -> list[tuple[str, JsonObject]]:
    """The parts of a request, each with its speaker: contents of the model's are joined."""
    contents: list[JsonObject] = request.body["contents"]
    return [(content["role"], part) for content in contents for part in content["parts"]]


def complaints(_: Story, request: Request) -> list[str]:
    """What the service would say, and google-genai, whose types forbid what they do not know."""
    for content in request["contents"]:
        types.Content.model_validate(content)
    types.GenerateContentConfig.model_validate(request.get("config", {}))
    return list(faults(request.body["contents"], request.options.model))


def steady(options: Options) -> Options:
    return options.model_copy(update={"model": options.model or GEMINI})


HISTORIES = Histories(
    NAME,
    everything,
    said,
    options=st.sampled_from(OPTIONS),
    steady=st.sampled_from([steady(options) for options in OPTIONS[1:]]),
    refused=complaints,
    spoken=spoken,
    blobs=BLOBS,
    begin=9,
)
