"""Frames of an event stream without secrets, their lengths and checksums those of what is left.

A secret may stand in a header, in a payload, or in the base64 of an event that a payload holds.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from onrecord.adapters.wire.eventstream import Decoder, Frame, event_in, failure_of, split, written
from onrecord.domain import jsontext
from onrecord.domain.jsontext import read_bounded_object

CleanPiece: TypeAlias = Callable[[bytes, bool], bytes]
"""Returns a text, JSON or not, without secrets; the flag says that it is an error."""

_HELD: Final = re.compile(rb"(?P<lead>\"bytes\"\s*:\s*\")(?P<data>[A-Za-z0-9+/=]+)")
_EXCEPTION: Final = (b":exception-type", b":error-code")


def clean_frames(body: bytes, clean: CleanPiece) -> bytes:
    """Return the frames of a body, and what of one broke off, each cleaned."""
    decoder = Decoder()
    frames = [written(_whole(frame, clean)) for frame in decoder.feed(body)]
    return b"".join((*frames, _broken(decoder.tail, clean)))


def frames_of(pieces: Iterable[bytes], clean: CleanPiece) -> Iterator[bytes]:
    """Yield what `clean_frames` returns, of a body that is too long to be held.

    Where a frame is damaged nobody knows where in the rest a secret may stand: it is left out.
    """
    decoder = Decoder()
    for piece in pieces:
        for frame in decoder.feed(piece):
            yield written(_whole(frame, clean))
        if decoder.fault is not None:
            break
    yield _broken(decoder.tail, clean)


def _whole(frame: Frame, clean: CleanPiece) -> Frame:
    event = event_in(frame)
    if event is not None:
        return replace(frame, payload=_holding(frame.payload, event, clean(event, False)))
    if failure_of(frame) is None:
        return replace(frame, payload=clean(frame.payload, False))
    headers = tuple(header._replace(value=clean(header.value, True)) for header in frame.headers)
    return Frame(headers, clean(frame.payload, True) if frame.payload else b"")


def _holding(payload: bytes, event: bytes, cleaned: bytes) -> bytes:
    if cleaned == event:
        return payload
    return jsontext.write(
        {**read_bounded_object(payload), "bytes": base64.b64encode(cleaned).decode()}
    )


def _broken(data: bytes, clean: CleanPiece) -> bytes:
    """Return what no frame was made of: the beginning of one, or all from a damaged one on."""
    if not data:
        return data
    head, payload = split(data)
    cleaned = _HELD.sub(
        lambda base64_match: base64_match["lead"] + _cleaned(base64_match["data"], clean), payload
    )
    return clean(head, False) + clean(cleaned, any(kind in head for kind in _EXCEPTION))


def _cleaned(data: bytes, clean: CleanPiece) -> bytes:
    """Return base64 that may have lost its end, with what it holds cleaned."""
    try:
        event = base64.b64decode(data[: len(data) // 4 * 4])
    except (binascii.Error, ValueError):
        return b""
    cleaned = clean(event, False)
    return data if cleaned == event else base64.b64encode(cleaned)


# Answers too long to be held, without their secrets: in windows, and line by line.
#
# What comes out is what `Credentials.out_of_answer` gives for the whole, but for single lines
# that are longer than any error.

Clean = Callable[[bytes], bytes]

LONGEST_LINE: Final = 8 * 1024**2
"""How long a line may be, in bytes, to be looked through for an error."""

_NEAR: Final = 64 * 1024
_ENDS: Final = (b",", b"\n", b"}", b">")
"""What ends a member of JSON, a line or a tag; no name of a secret is apart from it by one."""


def in_windows(pieces: Iterable[bytes], texts: Sequence[bytes], clean: Clean) -> Iterator[bytes]:
    """Yield pieces, cleaned, with their borders moved so that none falls amid what is sought."""
    longest = max(map(len, texts), default=1)
    rest = b""
    for piece in pieces:
        window = rest + piece
        border = _border(window, max(0, len(window) - longest + 1), texts)
        yield clean(window[:border])
        rest = window[border:]
    yield clean(rest)


def in_lines(pieces: Iterable[bytes], clean: Clean, longest: int = LONGEST_LINE) -> Iterator[bytes]:
    """Yield pieces with each line cleaned; a longer one goes on as it is."""
    parts: list[bytes] = []
    size, is_passed_on = 0, False
    for piece in pieces:
        *ends, last = piece.split(b"\n")
        cleaned: list[bytes] = []
        for end in ends:
            cleaned += (end if is_passed_on else clean(b"".join((*parts, end))), b"\n")
            parts, size, is_passed_on = [], 0, False
        size += len(last)
        parts.append(last)
        if is_passed_on or size > longest:
            cleaned += parts
            parts, is_passed_on = [], True
        yield b"".join(cleaned)
    yield b"".join(parts) if is_passed_on else clean(b"".join(parts))


def between_members(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield pieces with their borders moved behind a member or a tag, where there is one near."""
    rest = b""
    for piece in pieces:
        window = rest + piece
        near = max(0, len(window) - _NEAR)
        border = max(window.rfind(end, near) for end in _ENDS) + 1 or len(window)
        yield window[:border]
        rest = window[border:]
    yield rest


def _border(window: bytes, border: int, texts: Sequence[bytes]) -> int:
    """Return the last place up to `border` that is amid nothing that is sought."""
    is_moved = True
    while is_moved:
        is_moved = False
        for text in texts:
            at = window.find(text, max(0, border - len(text) + 1), border + len(text) - 1)
            if 0 <= at < border:
                border, is_moved = at, True
    return border
