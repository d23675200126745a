"""Where a request's body repeats what events hold: their values, by content, found in its JSON."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple, cast
from uuid import UUID

from onrecord.domain import jsontext
from onrecord.domain.blobs import LIMIT
from onrecord.domain.content import Blob
from onrecord.domain.log import Told
from onrecord.domain.request_template import BlobSpan, ContentSpan, EncodedSpan, Span

WORTH_SHARING: Final = 128
"""A span of fewer bytes costs less as it is than as a reference."""


_LONG_STRING: Final = re.compile(rb'"([^"\\]{128,})"')
_DATA_URL: Final = re.compile(rb"data:[^,]{0,255};base64,")
"""What stands before the bytes in a URL that holds them (RFC 2397)."""

_ENVELOPES: Final = frozenset(
    {"request.sent", "attempt.failed", "response.completed", "response.interrupted"}
)


class Source(NamedTuple):
    """An event whose content a body may repeat: its id and its body bytes."""

    event: UUID
    body: bytes


def sources_in(recorded: Iterable[Told]) -> tuple[Source, ...]:
    """Return what a request may repeat of events: all but other requests and their envelopes."""
    return tuple(
        Source(UUID(bytes=event.event_id), event.body)
        for event in recorded
        if event.body is not None and event.type not in _ENVELOPES
    )


class Place(NamedTuple):
    """Bytes [start, end) of a body, and the span that stands for them."""

    start: int
    end: int
    span: Span


class Sources:
    """The values that events hold, by their compact JSON, and the blobs that they refer to."""

    def __init__(self) -> None:
        """Begin with none."""
        self._values: dict[bytes, ContentSpan] = {}
        self._blobs: dict[str, Blob] = {}

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing that a body could repeat."""
        return not self._values and not self._blobs

    def add(self, source: Source) -> None:
        """Take in an event's values."""
        self._add(jsontext.read(source.body), source.event, "")

    def find(self, value: Any) -> tuple[bytes, list[Place]]:
        """Return the compact JSON of a value and, in order, where it repeats what events hold."""
        return self._find(value, 0)

    def search(self, body: bytes, start: int, end: int) -> list[Place]:
        """Return where bytes [start, end) repeat what events hold, in order, without reading them.

        It takes time by how much the events hold: they are to be few.
        """
        places: list[Place] = []
        for text in sorted(self._values, key=len, reverse=True):
            at = body.find(text, start, end)
            while at >= 0:
                places.append(Place(at, at + len(text), self._values[text]))
                at = body.find(text, at + len(text), end)
        if self._blobs:
            places += self._blob_places(body, start, end)
        return _apart(places)

    def _blob_places(self, body: bytes, start: int, end: int) -> Iterator[Place]:
        """Yield where strings without escapes are blobs."""
        for match in _LONG_STRING.finditer(body, start, end):
            place = self._blob_place(match.group(1), match.start(1))
            if place is not None:
                yield place

    def _add(self, value: Any, event: UUID, pointer: str) -> bytes:
        """Take in a value and all within it; return its compact JSON."""
        match value:
            case {"sha256": str(digest), "size": int(size)} | {
                "$onrecord.blob": str(digest),
                "size": int(size),
            }:
                self._blobs[digest] = Blob(sha256=digest, size=size)
                return jsontext.write(value)
            case dict():
                members = cast("dict[str, Any]", value).items()
                text = b"{%s}" % b",".join(
                    jsontext.write(name)
                    + b":"
                    + self._add(value_at, event, pointer + jsontext.pointer_step(name))
                    for name, value_at in members
                )
            case list():
                text = b"[%s]" % b",".join(
                    self._add(value_at, event, f"{pointer}/{place}")
                    for place, value_at in enumerate(cast("list[Any]", value))
                )
            case _:
                text = jsontext.write(value)
        if len(text) >= WORTH_SHARING:
            self._values.setdefault(text, ContentSpan(event=event, pointer=pointer))
        return text

    def _find(self, value: Any, start: int) -> tuple[bytes, list[Place]]:
        match value:
            case dict():
                members = cast("dict[str, Any]", value).items()
                parts = ((jsontext.write(name) + b":", item) for name, item in members)
                text, places = self._find_in(b"{", parts, b"}", start)
            case list():
                items = ((b"", item) for item in cast("list[Any]", value))
                text, places = self._find_in(b"[", items, b"]", start)
            case str():
                text, places = jsontext.write(value), []
                if len(text) > WORTH_SHARING and (place := self._blob_place(text[1:-1], start + 1)):
                    places = [place]
            case _:
                text, places = jsontext.write(value), []
        span = self._values.get(text) if len(text) >= WORTH_SHARING else None
        return text, places if span is None else [Place(start, start + len(text), span)]

    def _find_in(
        self,
        opening: bytes,
        parts: Iterable[tuple[bytes, Any]],
        closing: bytes,
        start: int,
    ) -> tuple[bytes, list[Place]]:
        texts: list[bytes] = []
        places: list[Place] = []
        at = start + len(opening)
        for label, member in parts:
            text, place = self._find(member, at + len(label))
            texts.append(label + text)
            places += place
            at += len(label) + len(text) + 1
        return opening + b",".join(texts) + closing, places

    def _blob_place(self, data: bytes, start: int) -> Place | None:
        """Return where in a string, as JSON spells it, a blob is: as it is, or in base64."""
        if not self._blobs:
            return None
        if len(data) > LIMIT and (blob := self._blobs.get(_digest(data))):
            return Place(start, start + len(data), BlobSpan(blob=blob))
        head = _DATA_URL.match(data)
        begin = head.end() if head else 0
        encoded = data[begin:]
        try:
            raw = base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError):
            return None
        blob = self._blobs.get(_digest(raw))
        if blob is None or base64.b64encode(raw) != encoded:
            return None
        return Place(start + begin, start + len(data), EncodedSpan(blob=blob))


def sources(known: Iterable[Source]) -> Sources:
    """Return what events hold, ready to be found in a body."""
    index = Sources()
    for source in known:
        index.add(source)
    return index


def _apart(places: list[Place]) -> list[Place]:
    """Return those places, in order, that are in no longer one; given the longest first."""
    separate: list[Place] = []
    for place in sorted(places, key=lambda place: (place.start, -place.end)):
        if not separate or place.start >= separate[-1].end:
            separate.append(place)
    return separate


def pointed(body: bytes, pointer: str) -> Any:
    """Return the value that a JSON pointer (RFC 6901) means; KeyError or IndexError if none."""
    value = jsontext.read(body)
    for name in jsontext.pointer_path(pointer):
        value = _within(value, name)
    return value


def _within(value: Any, name: str) -> Any:
    match value:
        case list():
            return cast("list[Any]", value)[int(name)]
        case dict():
            return cast("dict[str, Any]", value)[name]
        case _:
            raise KeyError(name)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
