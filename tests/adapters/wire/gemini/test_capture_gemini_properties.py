"""Whatever an answer of Gemini's says, in whatever chunks it is streamed, the same is read of it."""

import json
from collections.abc import Iterator
from itertools import count
from typing import Any, TypeAlias, cast
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from onrecord.adapters.wire.gemini.wire import read_request, request_events
from onrecord.domain.events import ToolCallRecorded, ToolResultRecorded
from tests.adapters.wire.gemini.gemini_streams import blocks, body, events, fed, odd
from tests.gemini_wire import (
    PATH,
    JsonObject,
    chunks,
    event,
    model,
    request,
    result,
    streamed,
    text,
    user,
)
from tests.gemini_wire import said as answered

WORDS = st.text(max_size=12)
ODD_WORDS = st.text(st.characters(exclude_categories=()), max_size=12).filter(
    lambda told: told == json.loads(json.dumps(told))
)
NAMES = st.text("abc_", min_size=1, max_size=3)
SIZES = st.lists(st.integers(1, 40), min_size=1, max_size=4)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
ARGUMENTS = st.dictionaries(NAMES, WORDS | NUMBERS | st.none() | st.booleans(), max_size=3)
Strategies: TypeAlias = dict[str, st.SearchStrategy[Any]]


def members(
    needed: Strategies, optional: Strategies | None = None
) -> st.SearchStrategy[JsonObject]:
    return st.fixed_dictionaries(needed, optional=optional or {})


def held(name: str, needed: Strategies, optional: Strategies) -> st.SearchStrategy[JsonObject]:
    """An object under a name."""

    def under(value: JsonObject) -> JsonObject:
        return {name: value}

    return members(needed, optional).map(under)


def signed(part: JsonObject, signature: JsonObject) -> JsonObject:
    return {**part, **signature}


TEXTS = members({"text": ODD_WORDS}, {"thought": st.booleans()})
CALLS = held("functionCall", {"name": NAMES}, {"args": ARGUMENTS})
CODE = held("executableCode", {"code": WORDS}, {"id": NAMES})
RAN = held("codeExecutionResult", {"output": WORDS}, {"id": NAMES})
UNKNOWN = members({"hologram": st.none() | WORDS | st.lists(NUMBERS, max_size=2)})
SIGNATURES = members({}, {"thoughtSignature": WORDS})
ANY_PART = st.builds(signed, TEXTS | CALLS | CODE | RAN | UNKNOWN, SIGNATURES)
PARTS = st.lists(ANY_PART, max_size=6)


def apart(parts: list[JsonObject]) -> list[JsonObject]:
    """Parts of which no two are one text in a stream: those have a mark between them."""
    told: list[JsonObject] = []
    for one in parts:
        if told and is_text(one) and is_text(told[-1]):
            told.append({"hologram": len(told)})
        told.append(one)
    return told


def is_text(one: JsonObject) -> bool:
    return "text" in one and "thoughtSignature" not in one


def in_chunks(parts: list[JsonObject], data: st.DataObject) -> list[list[JsonObject]]:
    """The parts of each chunk, in which a text goes on from the chunk before."""
    told: list[list[JsonObject]] = [[]]
    for one in parts:
        pieces = list(cut(one, data)) if is_text(one) else [one]
        for place, piece in enumerate(pieces):
            if place or data.draw(st.booleans()):
                told.append([])
            told[-1].append(piece)
    return told


def cut(one: JsonObject, data: st.DataObject) -> Iterator[JsonObject]:
    said_of_it = one["text"]
    places = data.draw(st.lists(st.integers(0, len(said_of_it)), max_size=3).map(sorted))
    for start, end in zip([0, *places], [*places, len(said_of_it)], strict=True):
        yield {**one, "text": said_of_it[start:end]}


@given(PARTS.map(apart), SIZES, st.data())
def test_an_answer_in_any_chunks_is_what_its_body_is(
    parts: list[JsonObject], sizes: list[int], data: st.DataObject
) -> None:
    wire = streamed(*in_chunks(parts, data))
    told, whole = fed(*chunks(wire, sizes)).finish(), body(answered(*parts))
    assert (told.is_complete, odd(told)) == (True, [])
    assert json.dumps(blocks(told)) == json.dumps(parts)
    assert told == whole
    assert events(told) == events(whole)


@given(PARTS)
def test_a_body_gives_its_parts(parts: list[JsonObject]) -> None:
    told = body(answered(*parts))
    assert json.dumps(blocks(told)) == json.dumps(parts)
    assert (told.is_complete, odd(told)) == (True, [])


@given(PARTS)
def test_a_request_that_repeats_an_answer_says_the_same_events(parts: list[JsonObject]) -> None:
    asked = read_request(json.dumps(request(user(text("a")), model(*parts))).encode(), PATH)
    told, _ = request_events(asked, asked.pieces[1:], (UUID(int=number) for number in count(1)))
    answer = events(body(answered(*parts)))
    assert told == tuple(answer)


@given(st.lists(CALLS, min_size=1, max_size=5), st.randoms())
def test_results_find_their_calls_by_name_and_order(calls: list[JsonObject], mixed: Any) -> None:
    named = [call["functionCall"]["name"] for call in calls]
    mixed.shuffle(named)
    contents = [model(*calls), user(*(result(name) for name in named))]
    asked = read_request(json.dumps(request(*contents)).encode(), PATH)
    told, _ = request_events(asked, asked.pieces, iter([UUID(int=1)]))
    made = {one.call_id: one.name for one in told if isinstance(one, ToolCallRecorded)}
    given_to = [one.call_id for one in told if isinstance(one, ToolResultRecorded)]
    assert sorted(given_to) == sorted(made)
    assert [made[call] for call in given_to] == named


LEAVES = ODD_WORDS | NUMBERS | st.booleans() | st.none()
KEYS = st.text("ab_ .[]", min_size=1, max_size=3)
TREES = st.dictionaries(
    KEYS,
    st.recursive(
        LEAVES,
        lambda inner: (
            st.lists(inner, min_size=1, max_size=3)
            | st.dictionaries(KEYS, inner, min_size=1, max_size=3)
        ),
        max_leaves=6,
    ),
    max_size=3,
)


def leaves(value: Any, path: str = "$") -> Iterator[tuple[str, Any]]:
    match value:
        case dict():
            for name, inner in cast("JsonObject", value).items():
                step = f".{name}" if not set(name) & set(" .[]") else f"['{name}']"
                yield from leaves(inner, path + step)
        case list():
            for index, inner in enumerate(cast("list[Any]", value)):
                yield from leaves(inner, f"{path}[{index}]")
        case _:
            yield path, value


def told_in_pieces(path: str, value: Any, size: int) -> Iterator[JsonObject]:
    match value:
        case str():
            for start in range(0, len(value), size):
                yield {
                    "jsonPath": path,
                    "stringValue": value[start : start + size],
                    "willContinue": True,
                }
            yield {"jsonPath": path, "stringValue": ""}
        case bool():
            yield {"jsonPath": path, "boolValue": value}
        case None:
            yield {"jsonPath": path, "nullValue": "NULL_VALUE"}
        case _:
            yield {"jsonPath": path, "numberValue": value}


@given(TREES, st.integers(1, 9), st.integers(1, 4))
def test_arguments_in_pieces_are_those_that_come_at_once(
    args: JsonObject, size: int, at_once: int
) -> None:
    pieces = [one for path, value in leaves(args) for one in told_in_pieces(path, value, size)]
    begun: JsonObject = {"functionCall": {"name": "a", "willContinue": True}}
    rest: list[JsonObject] = [
        {"functionCall": {"partialArgs": pieces[at : at + at_once], "willContinue": True}}
        for at in range(0, len(pieces), at_once)
    ]
    wire = streamed([begun], *([one] for one in rest), [{"functionCall": {}}])
    told = fed(wire).finish()
    call = {"name": "a", **({"args": args} if args else {})}
    assert json.dumps(blocks(told)) == json.dumps([{"functionCall": call}])
    assert odd(told) == []


@given(PARTS.map(apart), st.data())
def test_what_a_stream_said_before_it_broke_off_is_a_beginning_of_what_the_whole_says(
    parts: list[JsonObject], data: st.DataObject
) -> None:
    wire = b"".join(event(answered(*some, stop=None)) for some in in_chunks(parts, data))
    told = fed(wire[: data.draw(st.integers(0, len(wire)))]).finish()
    whole = blocks(told)
    assert told.interruption == "cut"
    assert not told.awaits_results
    assert whole == parts[: len(whole)]
    for rest in told.unfinished:
        assert rest.index == len(whole)
        assert rest.value.keys() == parts[rest.index].keys()
        begun = rest.value["text"].encode("utf-16", "surrogatepass")
        assert parts[rest.index]["text"].encode("utf-16", "surrogatepass").startswith(begun)
