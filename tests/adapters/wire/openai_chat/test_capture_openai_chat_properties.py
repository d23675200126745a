"""Whatever a completion says, in whatever spelling it is streamed, the same is read of it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from onrecord.adapters.wire.openai_chat.answers import read_body
from tests.adapters.wire.openai_chat.openai_chat_streams import (
    blocks,
    fed,
    odd,
    plain,
    put_together,
)
from tests.openai_chat_wire import (
    DONE,
    JsonObject,
    chunk,
    chunks,
    completion,
    event,
    message,
    slices,
)
from tests.openai_chat_wire import choice as choice_of

WORDS = st.text(max_size=20)
ODD_WORDS = st.text(st.characters(exclude_categories=()), max_size=20).filter(
    lambda text: text == json.loads(json.dumps(text))
)
ARGUMENTS = st.dictionaries(WORDS, st.integers() | WORDS, max_size=3).map(json.dumps)
NAMES = st.text("abcdefgh_", min_size=1, max_size=8)
SIZES = st.lists(st.integers(1, 40), min_size=1, max_size=4)

FUNCTIONS: st.SearchStrategy[JsonObject] = st.fixed_dictionaries(
    {
        "type": st.just("function"),
        "function": st.fixed_dictionaries({"name": NAMES, "arguments": ARGUMENTS}),
    }
)
CUSTOM: st.SearchStrategy[JsonObject] = st.fixed_dictionaries(
    {
        "type": st.just("custom"),
        "custom": st.fixed_dictionaries({"name": NAMES, "input": WORDS}),
    }
)


def numbered(calls: list[JsonObject]) -> list[JsonObject]:
    return [{"id": f"call_{number}", **call} for number, call in enumerate(calls)]


CALLS = st.lists(FUNCTIONS | CUSTOM, max_size=4).map(numbered)
CITED = st.lists(st.fixed_dictionaries({"type": st.just("url_citation"), "url": WORDS}))
DETAILS = st.lists(
    st.fixed_dictionaries({"type": st.just("reasoning.text"), "text": WORDS, "signature": WORDS}),
    max_size=3,
).map(lambda details: [{**detail, "index": at} for at, detail in enumerate(details)])
MESSAGES = st.fixed_dictionaries(
    {"role": st.just("assistant"), "content": st.none() | ODD_WORDS},
    optional={
        "refusal": st.none() | WORDS,
        "reasoning_content": st.none() | WORDS,
        "reasoning": ODD_WORDS,
        "reasoning_details": DETAILS,
        "annotations": CITED,
        "audio": st.fixed_dictionaries({"id": NAMES, "data": WORDS, "transcript": WORDS}),
        "tool_calls": CALLS,
        "seal": st.integers() | st.booleans(),
    },
)


@dataclass(frozen=True, slots=True)
class Spelling:
    """How a server spells its deltas."""

    piece: int
    repeats_role: bool
    repeats_ids: bool
    whole_calls: bool
    index: str  # "own", "zero" or "none"
    nulls: bool


SPELLINGS = st.builds(
    Spelling,
    piece=st.integers(1, 9),
    repeats_role=st.booleans(),
    repeats_ids=st.booleans(),
    whole_calls=st.booleans(),
    index=st.sampled_from(["own", "zero", "none"]),
    nulls=st.booleans(),
)


def deltas(said: JsonObject, spelling: Spelling) -> Iterator[JsonObject]:
    beside = {"role": "assistant"} if spelling.repeats_role else {}
    silent: JsonObject = {"content": None, "tool_calls": None} if spelling.nulls else {}
    yield {"role": "assistant"}
    for name, value in said.items():
        for delta in grown(name, value, spelling):
            yield {**silent, **beside, **delta}


def grown(name: str, value: Any, spelling: Spelling) -> Iterator[JsonObject]:
    if name == "tool_calls":
        calls = [called(at, call, spelling) for at, call in enumerate(value)]
        yield from ({name: [delta]} for of_one in calls for delta in of_one)
    elif name == "annotations" and value:
        yield from ({name: [one]} for one in value)
    elif name == "reasoning_details" and value:
        yield from ({name: [delta]} for detail in value for delta in detailed(detail))
    elif name == "audio":
        texts = [(part, text) for part, said in value.items() for text in pieces(said, 99)]
        yield from ({name: {part: text}} for part, text in texts)
    elif isinstance(value, str) and name != "role":
        yield from ({name: text} for text in pieces(value, spelling.piece))
    else:
        yield {name: value}


def detailed(detail: JsonObject) -> Iterator[JsonObject]:
    base = {part: detail[part] for part in ("type", "index")}
    yield from ({**base, "text": text} for text in pieces(detail["text"], 3))
    yield {**base, "signature": detail["signature"]}


def called(at: int, call: JsonObject, spelling: Spelling) -> Iterator[JsonObject]:
    index = {"own": {"index": at}, "zero": {"index": 0}, "none": {}}[spelling.index]
    if spelling.whole_calls:
        yield {**index, **call}
        return
    kind = call["type"]
    name, member = "name", "arguments" if kind == "function" else "input"
    said, text = call[kind][name], call[kind][member]
    head = {"id": call["id"], "type": kind}
    yield {**index, **head, kind: {name: said, member: ""}}
    for piece in pieces(text, spelling.piece):
        named = {name: said} if spelling.repeats_ids else {}
        yield {**index, **(head if spelling.repeats_ids else {}), kind: {**named, member: piece}}


def pieces(text: str, size: int) -> list[str]:
    return slices(text, size) or [""]


@given(MESSAGES, SPELLINGS, SIZES)
def test_a_message_in_any_spelling_and_chunking_comes_back_whole(
    said: JsonObject, spelling: Spelling, sizes: list[int]
) -> None:
    told = [event(chunk(delta)) for delta in deltas(said, spelling)]
    data = b"".join([*told, event(chunk({}, stop="stop")), DONE])
    answer = fed(*chunks(data, sizes)).finish()
    assert answer.is_complete
    assert odd(answer) == []
    assert plain(put_together(blocks(answer))) == plain(said)


@given(MESSAGES, MESSAGES)
def test_a_body_gives_the_blocks_of_its_choices(first: JsonObject, second: JsonObject) -> None:
    body = completion(choice_of(first), choice_of(second, index=1, stop="length"))
    answer = read_body(json.dumps(body).encode())
    assert plain(put_together(blocks(answer))) == plain(first)
    (other,) = answer.alternatives
    values = [*blocks(other), *(part.value for part in other.unfinished)]
    assert plain(put_together(values)) == plain(second)


@given(MESSAGES, st.data())
def test_what_a_stream_said_before_it_broke_off_is_a_beginning_of_what_the_whole_says(
    said: JsonObject, data: st.DataObject
) -> None:
    whole = b"".join(event(chunk({name: value})) for name, value in said.items())
    cut = fed(whole[: data.draw(st.integers(0, len(whole)))]).finish()
    known = put_together([part.value for part in cut.unfinished] or [message()])
    assert cut.interruption == "cut"
    assert cut.blocks == ()
    assert all(said.get(name, value) == value for name, value in known.items() if cut.unfinished)
