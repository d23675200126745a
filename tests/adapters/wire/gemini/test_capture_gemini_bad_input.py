"""What no service should send, but some do: nothing raises, what is known is kept."""

import json
from collections.abc import Iterable
from itertools import count
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.adapters.wire.gemini.stream import read_body
from onrecord.adapters.wire.gemini.wire import read_request, said
from onrecord.adapters.wire.wires import refusal_of
from onrecord.domain.encoding import encode
from onrecord.domain.errors import NotRecorded, OnrecordError
from onrecord.domain.events import AttemptFailed, Event
from onrecord.domain.jsontext import write
from tests.adapters.wire.attempts import JSON, STREAM, attempted
from tests.adapters.wire.gemini.gemini_streams import blocks, body, fed, odd
from tests.damage import damage, damaged, texts
from tests.gemini_wire import (
    PATH,
    USAGE,
    JsonObject,
    answer,
    call,
    candidate,
    event,
    failure,
    model,
    request,
    result,
    signed,
    text,
    thought,
    user,
)
from tests.gemini_wire import said as answered

API = "gemini"
GROUNDING: JsonObject = {
    "webSearchQueries": ["what"],
    "groundingChunks": [{"web": {"uri": "https://a", "title": "A page"}}],
}
EVENTS: list[JsonObject] = [
    answered(thought("Let "), stop=None),
    answered(thought("me see."), stop=None),
    answered(text("Look"), stop=None),
    answered(text("ing."), signed(call("look", {"at": "home"}, id="fc_1")), stop=None),
    answered({"functionCall": {"name": "find", "willContinue": True}}, stop=None),
    answered(
        {
            "functionCall": {
                "partialArgs": [{"jsonPath": "$.what", "stringValue": "shoes"}],
                "willContinue": True,
            }
        },
        stop=None,
    ),
    answered({"functionCall": {}}, {"hologram": {"frames": ["one"]}}, stop=None),
    answer(candidate(text("Or not."), index=1)),
    answered(signed(text("")), groundingMetadata=GROUNDING, finishMessage="Done"),
]
BODY = answer(
    candidate(
        thought("Let me see."),
        signed(text("Looking.")),
        call("look", {"at": "home"}),
        {"executableCode": {"language": "PYTHON", "code": "print(6)"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "six"}},
        groundingMetadata=GROUNDING,
        urlContextMetadata={"urlMetadata": [{"retrievedUrl": "https://b"}]},
    ),
    candidate({"inlineData": {"mimeType": "image/png", "data": "iVBO"}}, index=1),
)
REQUEST = request(
    user(text("Hello"), {"inlineData": {"mimeType": "image/png", "data": "iVBO"}}),
    model(text("Hi"), signed(call("look", {"at": "home"})), call("look")),
    user(result("look"), result("look"), text("And?")),
    systemInstruction={"parts": [text("Be brief.")]},
    tools=[{"functionDeclarations": [{"name": "look"}], "googleSearch": {}}],
)
# Counts grow with each chunk, and what they are kept by changes; pieces of arguments become these.
UNSAID = frozenset({"usageMetadata", "jsonPath", "nullValue"})


def recorded_texts(events: Iterable[Event]) -> str:
    """All that the events say, and whose content it is, which each of them says by its kind."""
    said_of_them = [json.loads(encode(one)) for one in events]
    return "\n".join((*texts(said_of_them, frozenset()), "model"))


@given(st.data())
def test_damage_to_a_stream_loses_nothing_and_does_not_raise(data: st.DataObject) -> None:
    events = damaged(EVENTS, data)
    wire = b"".join(event(one, ascii_only=False) for one in events)
    closed = attempted(API, [wire], STREAM)
    if closed.raw is not None:
        assert closed.raw == wire
        return
    known = recorded_texts(closed.events)
    assert [one for one in texts(events, UNSAID) if one not in known] == []


@given(st.data())
def test_damage_to_a_body_loses_nothing_and_does_not_raise(data: st.DataObject) -> None:
    damaged_body: JsonObject = json.loads(json.dumps(BODY))
    for _ in range(data.draw(st.integers(1, 3))):
        damage(damaged_body, data)
    wire = json.dumps(damaged_body, ensure_ascii=False).encode()
    cut = data.draw(st.integers(0, len(wire)) | st.just(len(wire)))
    closed = attempted(API, [wire[:cut]], JSON)
    if closed.raw is not None:
        assert closed.raw == wire[:cut]
        return
    assert cut == len(wire)
    known = recorded_texts(closed.events)
    assert [one for one in texts(damaged_body, frozenset()) if one not in known] == []


@given(st.data())
def test_damage_to_a_request_is_refused_or_its_blocks_are_said(data: st.DataObject) -> None:
    damaged_request: JsonObject = json.loads(json.dumps(REQUEST))
    for _ in range(data.draw(st.integers(1, 3))):
        damage(damaged_request, data)
    try:
        asked = read_request(json.dumps(damaged_request).encode(), PATH)
    except OnrecordError:
        return
    told, _ = said(asked, asked.pieces, (UUID(int=number) for number in count(1)))
    known = recorded_texts(told)
    parts = [piece.block for piece in asked.pieces]
    assert [one for one in texts(parts, frozenset()) if one not in known] == []


def test_a_stream_cut_at_any_byte_is_recorded_with_its_bytes() -> None:
    wire = b"".join(map(event, EVENTS[:6]))
    for cut in range(0, len(wire), 3):
        assert attempted(API, [wire[:cut]]).raw == wire[:cut]


def test_a_body_cut_at_any_byte_is_not_guessed() -> None:
    for wire in (json.dumps(BODY).encode(), json.dumps(EVENTS[:3]).encode()):
        for cut in range(0, len(wire), 3):
            assert read_body(wire[:cut]).blocks == ()
            assert read_body(wire[:cut], "cut").interruption == "cut"


@pytest.mark.parametrize(
    "wire",
    [
        b"",
        b"<html>",
        b"\xff",
        b"[]",
        b"{}",
        b"[[]]",
        b'{"candidates": null}',
        b'{"candidates": []}',
        b'{"candidates": ["text"]}',
        b'{"promptFeedback": {}}',
        b'{"candidates": [{"content": {"parts": [{"text": "a", "text": "b"}]}}]}',
        b'{"candidates": [{"content": {"parts": [{"text": NaN}]}}]}',
        b'{"candidates": [' + b"[" * 250 + b"]" * 250 + b"]}",
    ],
)
def test_a_body_that_is_no_answer_is_malformed_and_its_bytes_are_needed(wire: bytes) -> None:
    told = read_body(wire)
    assert told.interruption == "malformed"
    assert told.detail
    assert told.needs_raw


@pytest.mark.parametrize(
    "content",
    [
        *("text", ["text"], {"parts": "text"}, {"parts": ["text"]}, {"parts": [], "seal": 1}),
        *({"parts": [], "role": "user"}, {"parts": [], "role": 7}),
    ],
)
def test_a_content_that_is_none_is_noted(content: object) -> None:
    told = body(answer({"content": content, "finishReason": "STOP"}))
    assert len(odd(told)) == 1
    assert told.needs_raw


def test_a_body_keeps_huge_integers_nulls_order_and_lone_surrogates() -> None:
    part = {"z": 10**40, "text": "\ud800", "a": None, "ratio": 0.1}
    (kept,) = blocks(read_body(write(answered(part))))
    assert json.dumps(kept) == json.dumps(part)


def test_an_absurd_index_and_two_candidates_of_one_are_kept() -> None:
    told = body(answer(candidate(text("a"), index=10**30), candidate(text("b"), index=-1)))
    assert [blocks(told), *map(blocks, told.alternatives)] == [[text("b")], [text("a")]]
    same = body(answer(candidate(text("a")), candidate(call())))
    assert blocks(same) == [text("a"), call()]


def test_a_text_of_10_megabytes_in_one_line_and_in_many_is_read() -> None:
    whole = event(answered(text("x" * 10_000_000), stop=None))
    stream = fed(*(whole[at : at + 65536] for at in range(0, len(whole), 65536)))
    for _ in range(1000):
        stream.feed(event(answered(text("y" * 1000), stop=None)))
    stream.feed(event(answered(text("z"))))
    (said_of_it,) = blocks(stream.finish())
    assert len(said_of_it["text"]) == 10_000_000 + 1000 * 1000 + 1


def test_a_stream_of_nothing_but_counts_is_cut() -> None:
    assert fed(event({"usageMetadata": USAGE}) * 9).finish().interruption == "cut"
    assert fed(b": keep-alive\n\n" * 9).finish().interruption == "cut"


@pytest.mark.parametrize("told", [failure(), [failure()]])
def test_an_error_of_the_service_is_kept_with_its_attempt(told: object) -> None:
    closed = attempted(API, [json.dumps(told).encode()], JSON, status=503)
    (failed,) = closed.events
    assert isinstance(failed, AttemptFailed)
    assert (failed.error, failed.reason) == (told, "UNAVAILABLE")


def test_an_error_that_is_no_object_is_kept_as_text() -> None:
    (failed,) = attempted(API, [b"[1, 2]"], JSON, status=503).events
    assert isinstance(failed, AttemptFailed)
    assert (failed.error, failed.reason) == ("[1, 2]", None)


def test_a_call_that_is_refused_fails_as_the_sdks_own_calls_do() -> None:
    from google.genai.errors import APIError

    refusal = refusal_of(API)("it could not be recorded")
    assert isinstance(refusal, APIError)
    assert isinstance(refusal, NotRecorded)
    assert "it could not be recorded" in str(refusal)
    assert refusal.code not in (408, 429, 500, 502, 503, 504)
