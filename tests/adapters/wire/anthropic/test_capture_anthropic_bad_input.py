"""What no service should send, but some do: nothing raises, what is known is kept."""

from uuid import UUID

import pytest

from onrecord.adapters.wire.anthropic.stream import MessageStream, read_body
from onrecord.domain.encoding import decode, encode, name_of
from onrecord.domain.jsontext import write
from tests.adapters.wire.anthropic.anthropic_streams import blocks, delta, fed, start
from tests.anthropic_wire import event, message, stream_events, text
from tests.sent import events_of


@pytest.mark.parametrize(
    "wrong",
    [
        b"data: {not json}\n\n",
        b"data: \xff\xfe\n\n",
        b"data: []\n\n",
        b"data:\n\n",
        b'data: {"type": "ping", "type": "ping"}\n\n',
        b'data: {"type": "ping", "n": NaN}\n\n',
        b"data: " + b"[" * 100_000 + b"\n\n",
        event({"type": "ping", "deep": []}).replace(b"[]", b"[" * 250 + b"]" * 250),
        event(start(0, text("Another."))),
        event(start(-1, text())),
        event({"type": "content_block_start", "index": 1, "content_block": "text"}),
        event({"type": "message_start", "message": None}),
    ],
)
def test_what_cannot_be_read_ends_what_can_be_known(wrong: bytes) -> None:
    first, *rest = stream_events(message(text("Kept."), text("Half")), piece=4)
    known, after = rest[:5], rest[5:]
    stream = fed(*map(event, [first, *known]), wrong)
    assert stream.feed(b"".join(map(event, after)))
    answer = stream.finish()
    assert answer.interruption == "malformed"
    assert answer.needs_raw
    assert blocks(answer) == [text("Kept.")]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"\xff",
        b"[]",
        b"{}",
        b'{"content": null}',
        b'{"content": [], "content": []}',
        b'{"content": [{"n": NaN}]}',
        b'{"content": [{"n": ' + b"9" * 5000 + b"}]}",
        b'{"content": [' + b"[" * 250 + b"]" * 250 + b"]}",
        b'{"content": ["text"]}',
    ],
)
def test_a_body_that_is_no_message_is_malformed_and_its_bytes_are_needed(body: bytes) -> None:
    answer = read_body(body)
    assert answer.interruption == "malformed"
    assert answer.detail
    assert answer.needs_raw


@pytest.mark.parametrize(("levels", "is_read"), [(200, True), (201, False)])
def test_a_body_is_read_down_to_a_depth_that_all_who_read_it_later_can_follow(
    levels: int, is_read: bool
) -> None:
    inner = levels - len(["message", "content", "block"])
    deep = b"[" * inner + b"]" * inner
    body = write(message({"type": "text", "text": "deep"})).replace(b'"deep"', deep)
    answer = read_body(body)
    assert answer.is_complete == is_read
    if is_read:
        recorded, _ = events_of(answer, response=UUID(int=1))
        assert [decode(name_of(event), 1, encode(event)) for event in recorded] == list(recorded)


def test_a_body_that_does_not_say_why_it_stopped_is_complete_but_odd() -> None:
    answer = read_body(write({**message(text()), "stop_reason": None}))
    assert answer.is_complete
    assert answer.needs_raw


def test_an_error_in_a_body_is_an_error() -> None:
    answer = read_body(b'{"type": "error", "error": {"type": "api_error", "message": "no"}}')
    assert (answer.interruption, answer.detail) == ("error", "api_error")


def test_a_text_of_100_megabytes_in_one_line_is_read() -> None:
    stream = MessageStream()
    first, begun, _, *rest = map(event, stream_events(message(text("x"))))
    stream.feed(first + begun)
    stream.feed(event(delta(0, "text_delta", text="")).removesuffix(b'"}}\n\n'))
    for _ in range(100 * 16):
        stream.feed(b"x" * 65536)
    stream.feed(b'"}}\n\n')
    assert stream.feed(b"".join(rest))
    [block] = stream.finish().blocks
    assert len(block.value["text"]) == 100 * 1024 * 1024
