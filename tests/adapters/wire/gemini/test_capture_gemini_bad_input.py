"""What no service should send, but some do: nothing raises, what is known is kept."""

import json

import pytest

from onrecord.adapters.wire.gemini.stream import read_body
from onrecord.adapters.wire.wires import refusal_of
from onrecord.domain.errors import NotRecorded
from onrecord.domain.events import AttemptFailed
from tests.adapters.wire.attempts import JSON, attempted
from tests.adapters.wire.gemini.gemini_streams import blocks, body, fed, odd
from tests.gemini_wire import (
    USAGE,
    answer,
    call,
    candidate,
    event,
    failure,
    text,
)
from tests.gemini_wire import said as answered

API = "gemini"


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
