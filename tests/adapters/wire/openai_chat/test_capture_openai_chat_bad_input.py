"""What no service should send, but some do: nothing raises, what is known is kept."""

import pytest

from onrecord.adapters.wire.openai_chat.answers import read_body
from onrecord.adapters.wire.openai_chat.stream import CompletionStream
from onrecord.domain.jsontext import write
from tests.adapters.wire.openai_chat.openai_chat_streams import blocks, fed
from tests.openai_chat_wire import (
    DONE,
    JsonObject,
    choice,
    chunk,
    completion,
    event,
    message,
    spelled,
)


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
