"""Server-sent events: what the standard says of them, with chunk borders anywhere."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.adapters.wire.stream_reader import Decoder, ServerSentEvent
from tests.anthropic_wire import chunks


def decoded(*fed: bytes) -> list[ServerSentEvent]:
    decoder = Decoder()
    return [event for chunk in fed for event in decoder.feed(chunk)]


def said(*data: bytes, name: str = "") -> list[ServerSentEvent]:
    return [ServerSentEvent(name, one) for one in data]


def test_a_blank_line_dispatches_what_came_before_it() -> None:
    assert decoded(b"event: ping\ndata: {}\n\n") == said(b"{}", name="ping")


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_lines_end_in_each_of_the_three_ways(end: bytes) -> None:
    lines = [b"event: a", b"data: 1", b"", b"data: 2", b"", b""]
    assert decoded(end.join(lines)) == [*said(b"1", name="a"), *said(b"2")]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_chunks_may_end_within_a_line_end(end: bytes) -> None:
    stream = end.join([b"data: 1", b"data: 2", b"", b"data: 3", b"", b""])
    assert decoded(*chunks(stream, [1])) == said(b"1\n2", b"3")


def test_an_empty_chunk_between_the_two_bytes_of_a_line_end_changes_nothing() -> None:
    assert decoded(b"data: 1\r", b"", b"\n", b"\r", b"\n") == said(b"1")


def test_a_byte_order_mark_at_the_beginning_is_no_part_of_the_first_line() -> None:
    assert decoded(*chunks(b"\xef\xbb\xbfdata: 1\n\n", [1])) == said(b"1")
    assert decoded(b"data: 1\n\n\xef\xbb\xbfdata: 2\n\n") == said(b"1")
    assert decoded(b"data: 1\n\n", b"\xef\xbb\xbfdata: 2\n\n") == said(b"1")


def test_comments_and_other_fields_say_nothing() -> None:
    assert decoded(b": hello\nid: 7\nretry: 10\nwhat\ndata: 1\n\n: bye\n\n") == said(b"1")


def test_at_most_one_space_after_the_colon_is_no_part_of_the_value() -> None:
    assert decoded(b"data:1\n\ndata:  2 \n\n") == said(b"1", b" 2 ")


def test_several_lines_of_data_are_joined_by_newlines() -> None:
    assert decoded(b"data: {\ndata:\ndata\ndata: }\n\n") == said(b"{\n\n\n}")


def test_a_name_without_data_dispatches_nothing() -> None:
    assert decoded(b"event: ping\n\ndata: 1\n\n") == said(b"1")


def test_data_that_is_no_utf8_is_handed_on_as_it_came() -> None:
    assert decoded(b"data: \xff\xfe\n\n") == said(b"\xff\xfe")


@pytest.mark.parametrize(
    ("stream", "tail"),
    [
        (b"data: 1\n\n", b""),
        (b"data: 1\n\ndata: 2\n", b"data: 2\n"),
        (b"data: 1\n\nevent: a\ndata: 2", b"event: a\ndata: 2"),
        (b"dat", b"dat"),
    ],
)
def test_the_end_dispatches_nothing_and_the_tail_is_kept(stream: bytes, tail: bytes) -> None:
    decoder = Decoder()
    decoder.feed(stream)
    assert decoder.tail == tail


def test_a_line_of_100_megabytes_in_small_chunks_is_read_in_one_pass() -> None:
    decoder = Decoder()
    chunk = b"x" * 4096
    assert decoder.feed(b"data: ") == []
    assert not any(decoder.feed(chunk) for _ in range(100 * 256))
    [event] = decoder.feed(b"\n\n")
    assert len(event.data) == 100 * 1024 * 1024


LINES = st.lists(
    st.sampled_from(
        [b"", b"", b"data: x", b"data", b"data:", b"event: e", b": c", b"id: 1", b"data: \xc3\xa9"]
    ),
    max_size=12,
)


@given(LINES, st.sampled_from([b"\n", b"\r\n", b"\r"]), st.lists(st.integers(1, 9), min_size=1))
def test_any_chunking_gives_the_same_events_and_the_same_tail(
    lines: Iterable[bytes], end: bytes, sizes: list[int]
) -> None:
    stream = end.join(lines)
    whole, parts = Decoder(), Decoder()
    at_once = whole.feed(stream)
    in_parts = [event for chunk in chunks(stream, sizes) for event in parts.feed(chunk)]
    assert in_parts == at_once
    assert parts.tail == whole.tail
