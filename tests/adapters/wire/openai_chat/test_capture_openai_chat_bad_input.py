"""What no service should send, but some do: nothing raises, what is known is kept."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.adapters.wire.openai_chat.answers import read_body
from onrecord.adapters.wire.openai_chat.stream import CompletionStream
from onrecord.domain.encoding import encode
from onrecord.domain.jsontext import write
from tests.adapters.wire.attempts import JSON, STREAM, attempted
from tests.adapters.wire.openai_chat.openai_chat_streams import blocks, fed
from tests.damage import damage, damaged, texts
from tests.openai_chat_wire import (
    DONE,
    HEAD,
    JsonObject,
    call,
    choice,
    chunk,
    completion,
    event,
    message,
    spelled,
)

API = "openai-chat"
DETAIL = {"type": "reasoning.text", "index": 0, "text": "Let me see", "format": "v1"}
EVENTS: list[JsonObject] = [
    chunk({"role": "assistant", "content": "", "refusal": None}),
    chunk({"reasoning": "Let ", "reasoning_details": [DETAIL]}),
    chunk({"content": "Look"}),
    chunk({"content": "ing."}, obfuscation="xyz"),
    chunk({"annotations": [{"type": "url_citation", "url": "https://a"}]}),
    chunk({"tool_calls": [{"index": 0, **call(1, "look", "")}]}),
    chunk({"tool_calls": [{"index": 0, "function": {"arguments": '{"at": '}}]}),
    chunk({"tool_calls": [{"index": 0, "function": {"arguments": "1}"}}]}),
    chunk({"tool_calls": [{"index": 1, **call(2, "find", "{}")}]}),
    chunk({}, stop="tool_calls"),
    chunk({"content": "Or not."}, index=1, stop="stop"),
    {**HEAD, "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 9}},
]
BODY = completion(
    choice(message("Looking.", reasoning="Let me", tool_calls=[call(1), call(2)])),
    choice(message(None, refusal="No."), index=1),
)
UNSAID = frozenset({"obfuscation"})


def recorded_texts(events: list[object], raw: bytes | None) -> str:
    """All that the events say, and the bytes kept beside them."""
    said = [json.loads(encode(one)) for one in events]  # type: ignore[arg-type]
    return "\n".join(texts(said, frozenset())) + (raw or b"").decode()


@given(st.data())
def test_damage_to_a_stream_loses_nothing_and_does_not_raise(data: st.DataObject) -> None:
    events = damaged(EVENTS, data)
    wire = b"".join(event(one, ascii_only=False) for one in events) + DONE
    cut = data.draw(st.integers(0, len(wire)) | st.just(len(wire)))
    closed = attempted(API, [wire[:cut]], STREAM)
    if closed.raw is not None:
        assert closed.raw == wire[:cut]
        return
    assert cut == len(wire) or wire[cut:] in (DONE, b"\n", b"\n\n", b"]\n\n")
    known = recorded_texts(list(closed.events), None)
    assert all(text in known for text in texts(events, UNSAID))


@given(st.data())
def test_damage_to_a_body_loses_nothing_and_does_not_raise(data: st.DataObject) -> None:
    body: JsonObject = json.loads(json.dumps(BODY))
    for _ in range(data.draw(st.integers(1, 3))):
        damage(body, data)
    wire = json.dumps(body, ensure_ascii=False).encode()
    cut = data.draw(st.integers(0, len(wire)) | st.just(len(wire)))
    closed = attempted(API, [wire[:cut]], JSON)
    if closed.raw is not None:
        assert closed.raw == wire[:cut]
        return
    assert cut == len(wire)
    known = recorded_texts(list(closed.events), None)
    assert all(text in known for text in texts(body, UNSAID))


def test_a_stream_cut_at_any_byte_is_recorded_with_its_bytes() -> None:
    wire = b"".join(map(event, EVENTS[:8]))
    for cut in range(len(wire)):
        assert attempted(API, [wire[:cut]]).raw == wire[:cut]


def test_a_body_cut_at_any_byte_is_not_guessed() -> None:
    wire = json.dumps(BODY).encode()
    for cut in range(len(wire)):
        assert read_body(wire[:cut]).blocks == ()
        assert read_body(wire[:cut], "cut").interruption == "cut"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"\xff",
        b"[]",
        b"{}",
        b'{"choices": null}',
        b'{"choices": []}',
        b'{"choices": [{}]}',
        b'{"choices": [{"message": null}]}',
        b'{"choices": ["text"]}',
        b'{"choices": [{"message": {"content": "a", "content": "b"}}]}',
        b'{"choices": [{"message": {"content": NaN}}]}',
        b'{"choices": [' + b"[" * 250 + b"]" * 250 + b"]}",
    ],
)
def test_a_body_that_is_no_completion_is_malformed_and_its_bytes_are_needed(body: bytes) -> None:
    answer = read_body(body)
    assert answer.interruption == "malformed"
    assert answer.detail
    assert answer.needs_raw


def test_a_body_keeps_what_it_has_beside_a_choice_that_is_none() -> None:
    answer = read_body(write(completion(choice(message()), {"index": 1})))
    assert answer.interruption == "malformed"
    assert blocks(answer) == [message()]
    assert answer.envelope["choices"][1] == {"index": 1}


def test_a_body_keeps_huge_integers_nulls_order_and_lone_surrogates() -> None:
    odd = {"z": 10**40, "role": "assistant", "a": None, "content": "\ud800"}
    (kept,) = blocks(read_body(write(completion(choice(odd)))))
    assert json.dumps(kept) == json.dumps(odd)


def test_a_body_that_does_not_say_why_it_stopped_is_complete_but_odd() -> None:
    answer = read_body(write(completion(choice(message(), stop=None))))
    assert answer.is_complete
    assert answer.needs_raw


@pytest.mark.parametrize("more", [{}, {"choices": []}, {"choices": [choice(message("a"))]}])
def test_an_error_in_a_body_is_an_error_whatever_its_status(more: JsonObject) -> None:
    body = write({"error": {"code": 402, "type": "billing", "message": "no"}, "user_id": 7, **more})
    answer = read_body(body)
    assert (answer.interruption, answer.detail) == ("error", "billing")
    assert answer.error["message"] == "no"
    assert (answer.envelope["user_id"], "error" in answer.envelope) == (7, False)
    assert len(answer.blocks) == len(more.get("choices", []))


def test_calls_that_are_no_calls_stay_in_the_message() -> None:
    odd = message("a", tool_calls="none")
    assert blocks(read_body(write(completion(choice(odd))))) == [odd]


def test_a_text_of_10_megabytes_in_one_line_and_in_many_is_read() -> None:
    stream = CompletionStream()
    stream.feed(event(chunk({"content": ""})).removesuffix(b'"},"finish_reason":null}]}\n\n'))
    for _ in range(10 * 16):
        stream.feed(b"x" * 65536)
    stream.feed(b'"},"finish_reason":null}]}\n\n')
    for _ in range(1000):
        stream.feed(event(chunk({"content": "y" * 1000})))
    assert stream.feed(event(chunk({}, stop="stop")) + DONE)
    (said,) = blocks(stream.finish())
    assert len(said["content"]) == 10 * 1024 * 1024 + 1000 * 1000


def test_a_stream_of_nothing_but_padding_is_cut() -> None:
    assert fed(b": OPENROUTER PROCESSING\n\n" * 9).finish().interruption == "cut"
    assert fed(spelled(done=False, stop=None)).finish().interruption == "cut"
