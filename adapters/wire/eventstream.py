"""Frames of AWS event streams out of bytes: an incremental decoder, for chunks with borders anywhere.

Rules: smithy.io, "Amazon Event Stream Specification". A frame is its length and that of its headers,
a CRC-32 of both, the headers, the payload, and a CRC-32 of all that; numbers are big-endian.
"""

from __future__ import annotations

import base64
import binascii
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from onrecord.domain.errors import MalformedJson
from onrecord.domain.jsontext import JsonObject, read_bounded_object

FRAMES: Final = "application/vnd.amazon.eventstream"

_PRELUDE: Final = struct.Struct(">III")
_CHECKSUM: Final = struct.Struct(">I")
_CHECKED: Final = _PRELUDE.size - _CHECKSUM.size
_LEAST: Final = _PRELUDE.size + _CHECKSUM.size
_MOST: Final = 24 * 1024 * 1024 + 128 * 1024 + _LEAST
"""How long a frame may be: its payload and its headers as long as botocore 1.44.5 takes them."""

_FIXED: Final = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""How many bytes the value of a header has, by its type; others say their length first."""

_BYTES, _TEXT = 6, 7
_REPEATED: Final = 256
"""How long headers may be, in bytes, that are kept in mind: longer ones are no event's."""

_SHOWING: Final = b"\x0d:message-type\x07\x00"
"""A header that every frame of AWS's services has, up to the length of its text."""


class Header(NamedTuple):
    """A header of a frame; `value` are the bytes of one of the specification's ten types."""

    name: str
    type: int
    value: bytes


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame whose checksums hold."""

    headers: tuple[Header, ...]
    payload: bytes

    def text(self, name: str) -> str | None:
        """Return the header of this name, if it is a text."""
        for header in self.headers:
            if header.name == name and header.type == _TEXT:
                return header.value.decode("utf-8", "replace")
        return None


def text_header(name: str, text: str) -> Header:
    """Return a header that holds a text."""
    return Header(name, _TEXT, text.encode("utf-8", "replace"))


def written(frame: Frame) -> bytes:
    """Return the bytes of a frame."""
    head = b"".join(map(_header, frame.headers))
    lengths = struct.pack(">II", _LEAST + len(head) + len(frame.payload), len(head))
    body = b"".join((lengths, _CHECKSUM.pack(zlib.crc32(lengths)), head, frame.payload))
    return body + _CHECKSUM.pack(zlib.crc32(body))


def failure_of(frame: Frame) -> JsonObject | None:
    """Return the error that a frame says, its kind as `type`; None where it says none.

    A modelled error is an exception with a JSON payload, another one has its message in a header.
    """
    match frame.text(":message-type"):
        case "exception":
            return {"type": frame.text(":exception-type"), **_error_in(frame.payload)}
        case "error":
            return {"type": frame.text(":error-code"), "message": frame.text(":error-message")}
        case _:
            return None


def event_in(frame: Frame) -> bytes | None:
    """Return the event that a frame of Bedrock's holds in base64; None where it holds none.

    Such a frame is of type `chunk` (docs.aws.amazon.com, "ResponseStream", "PayloadPart"); its other
    members hide its length.
    """
    try:
        data = read_bounded_object(frame.payload).get("bytes")
        return base64.b64decode(data, validate=True) if isinstance(data, str) else None
    except (MalformedJson, binascii.Error, ValueError):
        return None


def holds_frames(body: bytes) -> bool:
    """Return whether a body is one of frames: its beginning checks itself, or a header shows it."""
    return _begins_a_frame(body) or _SHOWING in body


def split(data: bytes) -> tuple[bytes, bytes]:
    """Return what may be the beginning of a frame in two: up to its headers' end, and the rest."""
    if not _begins_a_frame(data):
        return b"", data
    _, headers, _ = _PRELUDE.unpack_from(data)
    return data[: _PRELUDE.size + headers], data[_PRELUDE.size + headers :]


class Decoder:
    """Turns chunks into frames; `fault` says why what follows cannot be read, once that is so."""

    __slots__ = ("_buffer", "fault")

    def __init__(self) -> None:
        """Begin a stream."""
        self._buffer = bytearray()
        self.fault: str | None = None

    def feed(self, chunk: bytes) -> Sequence[Frame]:
        """Return the frames that this chunk completes, in order; none behind a fault."""
        if self._buffer:
            self._buffer += chunk
        data = self._buffer or chunk
        frames: list[Frame] = []
        at = 0
        while self.fault is None:
            length = self._length(data, at)
            if length is None or at + length > len(data):
                break
            frame = self._frame(bytes(data[at : at + length]))
            if frame is None:
                break
            frames.append(frame)
            at += length
        if data is chunk:
            self._buffer = bytearray(chunk[at:])
        else:
            del self._buffer[:at]
        return frames

    @property
    def tail(self) -> bytes:
        """What arrived after the last whole frame."""
        return bytes(self._buffer)

    def _length(self, data: bytes | bytearray, at: int) -> int | None:
        """Return how long the frame is that begins here; None where that is not known yet."""
        if len(data) - at < _PRELUDE.size:
            return None
        length, headers, checksum = _PRELUDE.unpack_from(data, at)
        if checksum != zlib.crc32(data[at : at + _CHECKED]):
            self.fault = "the checksum of a frame's lengths does not hold"
        elif not _LEAST + headers <= length <= _MOST:
            self.fault = f"a frame of {length} bytes, {headers} of them headers"
        return None if self.fault else length

    def _frame(self, data: bytes) -> Frame | None:
        """Return the frame that these bytes are."""
        end = len(data) - _CHECKSUM.size
        (checksum,) = _CHECKSUM.unpack_from(data, end)
        if checksum != zlib.crc32(memoryview(data)[:end]):
            self.fault = "the checksum of a frame does not hold"
            return None
        _, length, _ = _PRELUDE.unpack_from(data)
        begin = _PRELUDE.size + length
        headers = _known_headers(data[_PRELUDE.size : begin])
        if headers is None:
            self.fault = "the headers of a frame cannot be read"
            return None
        return Frame(headers, data[begin:end])


def _begins_a_frame(data: bytes) -> bool:
    return len(data) >= _PRELUDE.size and (
        zlib.crc32(data[:_CHECKED]) == int.from_bytes(data[_CHECKED : _PRELUDE.size])
    )


@lru_cache(maxsize=64)
def _repeated_headers(data: bytes) -> tuple[Header, ...] | None:
    return _headers(data)


def _known_headers(data: bytes) -> tuple[Header, ...] | None:
    """Return headers; nearly all frames of a stream have the same."""
    return _repeated_headers(data) if len(data) <= _REPEATED else _headers(data)


def _headers(data: bytes) -> tuple[Header, ...] | None:
    """Return headers; None where they do not end where they should."""
    headers: list[Header] = []
    at = 0
    while at < len(data):
        name_at = at + 1
        type_at = name_at + data[at]
        if type_at >= len(data):
            return None
        value_at, length = _value(data, type_at)
        at = value_at + length
        if length < 0 or at > len(data):
            return None
        name = data[name_at:type_at].decode("utf-8", "replace")
        headers.append(Header(name, data[type_at], data[value_at:at]))
    return tuple(headers)


def _value(data: bytes, type_at: int) -> tuple[int, int]:
    """Return where a header's value begins, and its length; less than none if it has none."""
    kind = data[type_at]
    if kind in _FIXED:
        return type_at + 1, _FIXED[kind]
    if kind not in (_BYTES, _TEXT) or type_at + 3 > len(data):
        return type_at, -1
    return type_at + 3, int.from_bytes(data[type_at + 1 : type_at + 3])


def _header(header: Header) -> bytes:
    name = header.name.encode("utf-8", "replace")
    length = len(header.value).to_bytes(2) if header.type in (_BYTES, _TEXT) else b""
    return b"".join((bytes((len(name),)), name, bytes((header.type,)), length, header.value))


def _error_in(payload: bytes) -> JsonObject:
    try:
        return read_bounded_object(payload)
    except MalformedJson:
        return {"message": payload.decode("utf-8", "replace")}
