"""Frames of AWS event streams: botocore reads what is written, and the same is read as it reads."""

import struct
import zlib
from collections.abc import Iterable
from importlib import import_module
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.adapters.wire.eventstream import (
    Decoder,
    Frame,
    Header,
    failure_of,
    holds_frames,
    written,
)
from tests.bedrock_wire import chunks, error, event, exception, frame

NAMES = st.text(min_size=1, max_size=20)
FIXED = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}


def values(kind: int) -> st.SearchStrategy[bytes]:
    if kind == 7:
        return st.text(max_size=30).map(str.encode)
    size = FIXED.get(kind)
    return st.binary(max_size=30) if size is None else st.binary(min_size=size, max_size=size)


HEADERS = st.sampled_from([*FIXED, 6, 7]).flatmap(
    lambda kind: st.builds(Header, NAMES, st.just(kind), values(kind))
)
FRAMES = st.builds(
    Frame,
    st.lists(HEADERS, max_size=5, unique_by=lambda header: header.name).map(tuple),
    st.binary(max_size=200),
)
SIZES = st.lists(st.integers(1, 40), min_size=1, max_size=4)


def value_of(header: Header) -> object:
    """The value of a header as botocore gives it."""
    match header.type:
        case 0:
            return True
        case 1:
            return False
        case 2 | 3 | 4 | 5 | 8:
            return int.from_bytes(header.value, signed=True)
        case 7:
            return header.value.decode()
        case 9:
            return UUID(bytes=header.value).bytes
        case _:
            return header.value


def read(data: bytes, sizes: Iterable[int]) -> tuple[list[Frame], Decoder]:
    decoder = Decoder()
    return [one for chunk in chunks(data, sizes) for one in decoder.feed(chunk)], decoder


@given(st.lists(FRAMES, max_size=5), SIZES)
def test_frames_are_read_as_they_were_written_however_the_chunks_fall(
    frames: list[Frame], sizes: list[int]
) -> None:
    found, decoder = read(b"".join(map(written, frames)), sizes)
    assert found == frames
    assert (decoder.fault, decoder.tail) == (None, b"")


@given(FRAMES)
def test_botocore_reads_the_same_of_what_is_written(one: Frame) -> None:
    buffer: Any = import_module("botocore.eventstream").EventStreamBuffer()
    buffer.add_data(written(one))
    (message,) = list(buffer)
    assert message.payload == one.payload
    assert message.headers == {header.name: value_of(header) for header in one.headers}


@given(st.lists(FRAMES, min_size=1, max_size=3), st.data())
def test_a_byte_that_changed_is_a_fault_and_what_came_before_it_stays(
    frames: list[Frame], data: st.DataObject
) -> None:
    whole = bytearray(b"".join(map(written, frames)))
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] ^= data.draw(st.integers(1, 255))
    found, decoder = read(bytes(whole), [64])
    assert found == frames[: len(found)]
    assert decoder.fault is not None
    assert bytes(whole).endswith(decoder.tail)
    assert decoder.feed(written(frames[0])) == []


@given(st.lists(FRAMES, min_size=1, max_size=3), st.data())
def test_a_stream_that_breaks_off_leaves_the_rest_as_its_tail(
    frames: list[Frame], data: st.DataObject
) -> None:
    whole = b"".join(map(written, frames))
    kept = whole[: data.draw(st.integers(0, len(whole)))]
    found, decoder = read(kept, [7])
    assert found == frames[: len(found)]
    assert b"".join(map(written, found)) + decoder.tail == kept
    assert decoder.fault is None


@given(st.binary(max_size=300), SIZES)
def test_bytes_that_are_no_frames_raise_nothing(data: bytes, sizes: list[int]) -> None:
    found, decoder = read(data, sizes)
    assert b"".join(map(written, found)) + decoder.tail == data


@pytest.mark.parametrize(
    ("length", "headers"), [(15, 0), (20, 5), (16 + (25 << 20), 0), (0xFFFFFFFF, 0)]
)
def test_lengths_that_no_frame_has_are_a_fault(length: int, headers: int) -> None:
    lengths = struct.pack(">II", length, headers)
    decoder = Decoder()
    assert decoder.feed(lengths + struct.pack(">I", zlib.crc32(lengths))) == []
    assert decoder.fault == f"a frame of {length} bytes, {headers} of them headers"


@pytest.mark.parametrize(
    "head",
    [b"\x05ab", b"\x01a", b"\x01a\x07\x00", b"\x01a\x07\x00\x05x", b"\x01a\x63", b"\x01a\x05"],
)
def test_headers_that_cannot_be_read_are_a_fault(head: bytes) -> None:
    lengths = struct.pack(">II", 16 + len(head), len(head))
    body = lengths + struct.pack(">I", zlib.crc32(lengths)) + head
    decoder = Decoder()
    assert decoder.feed(body + struct.pack(">I", zlib.crc32(body))) == []
    assert decoder.fault == "the headers of a frame cannot be read"


def test_an_exception_says_its_kind_beside_its_payload() -> None:
    (one,), _ = read(exception("throttlingException", "Too many."), [1000])
    assert failure_of(one) == {"type": "throttlingException", "message": "Too many."}


def test_an_exception_that_is_no_json_says_its_text() -> None:
    headers = {":message-type": "exception", ":exception-type": "internalServerException"}
    (one,), _ = read(frame(headers, b"<html>"), [1000])
    assert failure_of(one) == {"type": "internalServerException", "message": "<html>"}


def test_an_error_says_what_its_headers_do() -> None:
    (one,), _ = read(error("InternalError", "Oops."), [1000])
    assert failure_of(one) == {"type": "InternalError", "message": "Oops."}


def test_an_event_is_no_failure() -> None:
    (one,), _ = read(event("messageStop", {"stopReason": "end_turn"}), [1000])
    assert failure_of(one) is None


def test_a_body_of_frames_is_told_by_its_beginning() -> None:
    data = event("messageStart", {"role": "assistant"})
    assert holds_frames(data)
    assert not holds_frames(data[:11])
    assert not holds_frames(b'{"message": "No."}')
