"""Whatever an answer of Bedrock says, in whatever pieces it is streamed, the same is read of it."""

import base64
import json
from typing import Any
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from onrecord.adapters.wire.answer import Answer
from onrecord.adapters.wire.bedrock.stream import ConverseStream, read_body
from onrecord.domain.blobs import restore
from onrecord.domain.encoding import encode
from onrecord.domain.events import ResponseCompleted
from tests.adapters.wire.bedrock.bedrock_streams import blocks, fed
from tests.bedrock_wire import JsonObject, body, chunks, event, spelled
from tests.corpus.kept import stored
from tests.sent import events_of

RESPONSE = UUID(int=1)
WORDS = st.text(max_size=20)
ODD_WORDS = st.text(st.characters(exclude_categories=()), max_size=20).filter(
    lambda text: text == json.loads(json.dumps(text))
)
NAMES = st.text("abcdefgh_", min_size=1, max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=5,
)
SIZES = st.lists(st.integers(1, 90), min_size=1, max_size=4)
DATA = st.binary(max_size=30).map(lambda data: base64.b64encode(data).decode())
OPENED = {"toolUseId": NAMES, "name": NAMES}
SERVED = {"type": st.just("server_tool_use")}


def one(member: str, value: st.SearchStrategy[Any]) -> st.SearchStrategy[JsonObject]:
    return st.fixed_dictionaries({member: value})


CITATION: st.SearchStrategy[JsonObject] = st.dictionaries(
    st.sampled_from(["title", "source", "location"]), VALUES, max_size=3
)
CITATIONS = st.lists(CITATION, min_size=1, max_size=3)
PARTS = st.lists(one("json", VALUES), max_size=3)
BLOCKS = st.one_of(
    one("text", ODD_WORDS),
    one(
        "citationsContent",
        st.fixed_dictionaries(
            {"content": one("text", WORDS).map(lambda x: [x]), "citations": CITATIONS}
        ),
    ),
    one(
        "reasoningContent",
        one(
            "reasoningText",
            st.fixed_dictionaries({"text": ODD_WORDS}, optional={"signature": WORDS}),
        )
        | one("redactedContent", DATA),
    ),
    one("toolUse", st.fixed_dictionaries({**OPENED, "input": VALUES}, optional=SERVED)),
    one(
        "toolResult",
        st.fixed_dictionaries(
            {"toolUseId": NAMES, "content": PARTS},
            optional={"type": WORDS, "status": st.sampled_from(["success", "error"])},
        ),
    ),
    one(
        "image",
        st.fixed_dictionaries({"format": st.just("png"), "source": one("bytes", DATA)}),
    ),
    one("somethingNew", VALUES.filter(lambda value: value is not None)),
)


def made(content: list[JsonObject], stop: str, more: JsonObject) -> JsonObject:
    return body(*content, stop=stop, **more)


BODIES = st.builds(
    made,
    st.lists(BLOCKS, max_size=6),
    st.sampled_from(["end_turn", "tool_use", "max_tokens", "guardrail_intervened"]),
    st.fixed_dictionaries(
        {},
        optional={
            "trace": VALUES,
            "serviceTier": one("type", WORDS),
            "additionalModelResponseFields": VALUES,
        },
    ),
)


def told(answer: Answer) -> list[JsonObject]:
    """The events of an answer, as the log gives them back."""
    events, blobs = events_of(answer, response=RESPONSE)
    return [restore(json.loads(encode(stored(event))), blobs) for event in events]


@given(BODIES, st.integers(1, 9), SIZES)
def test_streamed_equals_not_streamed_event_for_event(
    whole: JsonObject, piece: int, sizes: list[int]
) -> None:
    data = spelled(whole, piece=piece)
    streamed = fed(*chunks(data, sizes)).finish()
    plain = read_body(json.dumps(whole).encode())
    assert blocks(plain) == whole["output"]["message"]["content"]
    assert told(streamed) == told(plain)
    assert (streamed.needs_raw, plain.needs_raw) == (False, False)


@given(BODIES, st.data())
def test_a_stream_that_is_cut_anywhere_has_of_its_blocks_what_came_whole(
    whole: JsonObject, data: st.DataObject
) -> None:
    frames = spelled(whole)
    cut = data.draw(st.integers(0, len(frames)))
    answer = fed(frames[:cut]).finish()
    said = whole["output"]["message"]["content"]
    assert blocks(answer) == said[: len(answer.blocks)]
    assert len(answer.unfinished) <= 1
    assert answer.is_complete or answer.interruption == "cut"
    events, _ = events_of(answer, response=RESPONSE)
    assert answer.is_complete == isinstance(events[-1], ResponseCompleted)


KINDS = (
    *("messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop"),
    *("messageStop", "metadata", "unknown"),
)
MEMBERS = st.dictionaries(
    st.sampled_from(["contentBlockIndex", "delta", "start", "stopReason", "role", "usage", "p"]),
    st.integers(-1, 3)
    | VALUES
    | st.dictionaries(
        st.sampled_from(["text", "citation", "toolUse", "toolResult", "image", "reasoningContent"]),
        VALUES | st.dictionaries(st.sampled_from(["text", "input", "signature"]), VALUES),
    ),
)


@given(st.lists(st.tuples(st.sampled_from(KINDS), MEMBERS), max_size=8))
def test_events_of_any_shape_raise_nothing_and_are_recorded(
    given_events: list[tuple[str, JsonObject]],
) -> None:
    stream = ConverseStream()
    for kind, data in given_events:
        stream.feed(event(kind, data))
    assert told(stream.finish())


@given(BODIES, st.data())
def test_bytes_that_are_damaged_raise_nothing_and_are_recorded(
    whole: JsonObject, data: st.DataObject
) -> None:
    frames = bytearray(spelled(whole))
    frames[data.draw(st.integers(0, len(frames) - 1))] ^= data.draw(st.integers(1, 255))
    answer = fed(bytes(frames)).finish()
    assert told(answer)
    assert answer.needs_raw
