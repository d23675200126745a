"""Whatever happened to a conversation, its Converse request is one that botocore sends, and that
keeps what is known of the service's rules."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from onrecord.domain.jsontext import JsonObject
from onrecord.projections.apis.request import Options, Request
from tests.contract.histories import Histories
from tests.projections.apis.bedrock import bedrock_happenings as bedrock
from tests.projections.apis.bedrock.converse_shape import objections
from tests.projections.happenings import (
    Story,
    document,
    search_result,
    server_tool_use,
    text,
    thinking,
    tool_use,
)

CALL_IDS = ["tooluse_0", "call 1", "functions.x:2", "x" * 70]
MODELS = [bedrock.CLAUDE, bedrock.NOVA, bedrock.LLAMA, bedrock.WRITER]
OPTIONS = [
    bedrock.asked_of(),
    *map(bedrock.asked_of, MODELS),
    bedrock.asked_of(bedrock.CLAUDE, thinking="drop", cache=True),
]
PIXEL, REPORT, NOTES = "a" * 64, "b" * 64, "c" * 64
BLOBS = {PIXEL: b"\x89PNG\r\n\x1a\n", REPORT: b"%PDF-1.7", NOTES: b"a note"}

Happening = Callable[[Story], object]

words = st.sampled_from(["hello", "go on ", "\n\n", "", " "])
call_ids = st.sampled_from(CALL_IDS)
kinds = st.one_of(
    st.tuples(st.just("text"), words),
    st.tuples(st.just("call"), call_ids),
    st.tuples(
        st.sampled_from(["cited", "signed", "unsigned", "redacted", "searched", "asked", "found"]),
        st.just("s_1"),
    ),
)


def numbered(story: Story, said: str, part: int = 0) -> str:
    """The text, made one of a kind unless it is blank, so that it can be found again."""
    return f"<{len(story.events) + 1}.{part}>{said}" if said.strip() else said


def block(story: Story, part: int, kind: str, said: str) -> list[JsonObject]:
    mark, at = numbered(story, "x", part), f"s_{len(story.events)}_{part}"
    match kind:
        case "text":
            return [{"text": numbered(story, said, part)}]
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


@st.composite
def says(draw: st.DrawFn) -> Happening:
    said = draw(st.lists(words, min_size=1, max_size=2))
    return lambda story: story.user(*(numbered(story, each, n) for n, each in enumerate(said)))


@st.composite
def answers(draw: st.DrawFn) -> Happening:
    told, model = draw(st.lists(kinds, max_size=4)), draw(st.sampled_from([*MODELS, None]))
    stop = draw(st.sampled_from([None, "max_tokens", "guardrail_intervened"]))

    def happens(story: Story) -> object:
        said = [held for n, each in enumerate(told) for held in block(story, n, *each)]
        return bedrock.answers(story, *said, stop=stop, model=model)

    return happens


@st.composite
def breaks_off(draw: st.DrawFn) -> Happening:
    told, partial = draw(st.lists(kinds, max_size=2)), draw(words)

    def happens(story: Story) -> object:
        said = [held for n, each in enumerate(told) for held in block(story, n, *each)]
        begun: tuple[JsonObject, str] = ({"text": ""}, numbered(story, partial, 8))
        return bedrock.breaks_off(story, *said, begun=begun)

    return happens


@st.composite
def another_answers(draw: st.DrawFn) -> Happening:
    """Another provider answers."""
    said, call_id = draw(words), draw(call_ids)
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
    call_id, said, own = draw(call_ids), draw(words), draw(st.booleans())
    if own:
        status = draw(st.sampled_from(["success", "error", None]))
        picture = {"image": {"format": "png", "source": {"bytes": "iVBORw=="}}}
        return lambda story: bedrock.gives(
            story, call_id, {"text": numbered(story, said)}, picture, status=status
        )
    return lambda story: story.result(call_id, numbered(story, said), is_error=len(said) == 1)


@st.composite
def redacts(draw: st.DrawFn) -> Happening:
    place = draw(st.integers(1, 30))
    return lambda story: story.redact(min(place, len(story.events) or 1))


def files(story: Story) -> object:
    report = document("a.pdf", "application/pdf", REPORT)
    return story.user(report, document("b.md", "text/markdown", NOTES), report)


def pictures(story: Story) -> object:
    return story.user(document("a.png", "image/png", PIXEL), numbered(story, "what is it?"))


def calls_itself(story: Story) -> object:
    """A program tells a call of its own making."""
    return story.call(CALL_IDS[0], "a.b", arguments={"q": numbered(story, "x")})


def notes(story: Story) -> object:
    return story.note(numbered(story, "be kind"))


def greets(story: Story) -> object:
    return story.assistant(numbered(story, "Welcome."))


plain: st.SearchStrategy[Happening] = st.sampled_from(
    [notes, bedrock.asks, files, pictures, calls_itself, greets]
)
said = st.one_of(says(), plain, answers(), breaks_off(), another_answers(), gives_result())
everything = st.one_of(said, redacts())


def told(deeds: list[Happening]) -> Story:
    story = Story()
    for deed in deeds:
        deed(story)
    return story


def breaches(messages: list[JsonObject]) -> list[str]:
    """What the service would say of messages, by a way that is not the product's."""
    found: list[str] = []
    before: list[JsonObject] = []
    for place, message in enumerate(messages):
        content: list[JsonObject] = message["content"]
        called = [use["toolUseId"] for use in held(before, "toolUse") if "type" not in use]
        gave = [use["toolUseId"] for use in held(content, "toolResult")]
        if message["role"] == ("assistant" if place % 2 == 0 else "user") and place:
            roles = [each["role"] for each in messages]
            if roles[place] == roles[place - 1]:
                found.append(f"{place}: neighbours of one role")
        if message["role"] == "user" and (
            gave != called or any("toolResult" in block for block in content[len(gave) :])
        ):
            found.append(f"{place}: {called} are answered by {gave}")
        if any("text" in block and not block["text"].strip() for block in content):
            found.append(f"{place}: a blank text")
        if not content:
            found.append(f"{place}: no content")
        if held(content, "document") and not any("text" in block for block in content):
            found.append(f"{place}: a document without text")
        before = content if message["role"] == "assistant" else []
    if [use for use in held(before, "toolUse") if "type" not in use]:
        found.append("calls without results at the end")
    names = [each["name"] for message in messages for each in held(message["content"], "document")]
    if len(names) != len(set(names)):
        found.append("two documents of one name")
    return found


def held(content: list[JsonObject], kind: str) -> list[JsonObject]:
    return [block[kind] for block in content if kind in block]


def complaints(_: Story, request: Request) -> list[str]:
    found = [*breaches(request.body["messages"]), *filter(None, [objections(request)])]
    has_tools = "toolUse" in str(request.body["messages"])
    return found if ("toolConfig" in request) >= has_tools else [*found, "calls without tools"]


def spread(request: Request) -> list[tuple[str, JsonObject]]:
    return [(told["role"], held) for told in request.body["messages"] for held in told["content"]]


def excused(_: Story, now: Request, before: Request, __: int) -> bool:
    """What stood in for a result of Bedrock's own tools: a half of a pair may become a whole."""
    return set(now.report.of("B15")) != set(before.report.of("B15"))


def last(story: Story) -> object:
    """Whoever answered it, a document that the model does not read goes in words."""
    return bedrock.answers(story, "Well.", model=bedrock.NOVA)


def any_options(_: Options) -> bool:
    return True


HISTORIES = Histories(
    "bedrock-converse",
    everything,
    said,
    options=st.sampled_from(OPTIONS),
    # Without reasoning, which what is said later may forbid.
    steady=st.sampled_from([bedrock.asked_of(model, thinking="drop") for model in MODELS]),
    refused=complaints,
    spoken=spread,
    excused=excused,
    last=last,
    blobs=BLOBS,
    begin=9,
    takes_no_document=any_options,
)
