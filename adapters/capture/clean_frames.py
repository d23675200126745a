"""Frames of an event stream without secrets, their lengths and checksums those of what is left.

A secret may stand in a header, in a payload, or in the base64 of an event that a payload holds.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Final, TypeAlias

from onrecord.adapters.capture.anthropic_frames import event_in
from onrecord.adapters.capture.eventstream import Decoder, Frame, failure_of, split, written
from onrecord.adapters.capture.nesting import read_object
from onrecord.domain import jsontext

Clean: TypeAlias = Callable[[bytes, bool], bytes]
"""Returns a text, JSON or not, without secrets; the flag says that it is an error."""

_HELD: Final = re.compile(rb"(?P<lead>\"bytes\"\s*:\s*\")(?P<data>[A-Za-z0-9+/=]+)")
_EXCEPTION: Final = (b":exception-type", b":error-code")


def clean_frames(body: bytes, clean: Clean) -> bytes:
    """Return the frames of a body, and what of one broke off, each cleaned."""
    decoder = Decoder()
    frames = [written(_whole(frame, clean)) for frame in decoder.feed(body)]
    return b"".join((*frames, _broken(decoder.tail, clean)))


def frames_of(pieces: Iterable[bytes], clean: Clean) -> Iterator[bytes]:
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


def _whole(frame: Frame, clean: Clean) -> Frame:
    event = event_in(frame)
    if event is not None:
        return replace(frame, payload=_holding(frame.payload, event, clean(event, False)))
    if failure_of(frame) is None:
        return replace(frame, payload=clean(frame.payload, False))
    headers = tuple(held._replace(value=clean(held.value, True)) for held in frame.headers)
    return Frame(headers, clean(frame.payload, True) if frame.payload else b"")


def _holding(payload: bytes, event: bytes, cleaned: bytes) -> bytes:
    if cleaned == event:
        return payload
    return jsontext.write({**read_object(payload), "bytes": base64.b64encode(cleaned).decode()})


def _broken(data: bytes, clean: Clean) -> bytes:
    """Return what no frame was made of: the beginning of one, or all from a damaged one on."""
    if not data:
        return data
    head, payload = split(data)
    opened = _HELD.sub(lambda found: found["lead"] + _cleaned(found["data"], clean), payload)
    return clean(head, False) + clean(opened, any(kind in head for kind in _EXCEPTION))


def _cleaned(data: bytes, clean: Clean) -> bytes:
    """Return base64 that may have lost its end, with what it holds cleaned."""
    try:
        event = base64.b64decode(data[: len(data) // 4 * 4])
    except (binascii.Error, ValueError):
        return b""
    cleaned = clean(event, False)
    return data if cleaned == event else base64.b64encode(cleaned)
