"""Pictures that a provider's own tool made: documents beside the block that holds them.

Other APIs do not read that block; they read the picture.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from onrecord.domain import content
from onrecord.domain.blobs import blob_of
from onrecord.domain.content import Document, ServerToolResult
from onrecord.domain.events import (
    DocumentExtracted,
    Event,
    MessageRecorded,
    ServerToolCallRecorded,
    ServerToolResultRecorded,
)
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.api import neutral_of, outcome_of

_ENDINGS: Final[Mapping[str, str]] = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/gif": "gif",
    "image/webp": "webp",
    "image/svg+xml": "svg",
}
"""Types of pictures to the endings of their names."""

_TELLING: Final = frozenset({"text", "content"})
"""Members of blocks that say something in words: they are no pictures."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture: the event that records it, its bytes, and the base64 in which the block has it."""

    event: DocumentExtracted
    data: bytes
    encoded: str


@dataclass(slots=True)
class Pictures:
    """The pictures of one answer, numbered from 0: ask for those of each block in order."""

    api: str
    _count: int = 0
    _calls: dict[str, str] = field(default_factory=dict[str, str])

    def of(self, event: Event, value: JsonObject) -> list[Picture]:
        """Return the pictures of a block that `event` records; `value` is its JSON, whole.

        A picture that stands in the answer itself is of the last tool that was called there, or the
        model's own.
        """
        call: str | None
        match event:
            case ServerToolCallRecorded():
                call = event.call_id
                self._calls[call] = event.name
                documents = _documents(outcome_of(self.api, value))
            case ServerToolResultRecorded():
                call = event.call_id
                documents = _documents(neutral_of(self.api, value))
            case MessageRecorded() if _TELLING.isdisjoint(value):
                call = next(reversed(self._calls), None)
                documents = _documents(neutral_of(self.api, value))
            case _:
                return []
        found = (self._picture(each, call, event.line) for each in documents)
        return [picture for picture in found if picture is not None]

    def _picture(self, document: Document, call: str | None, line: UUID | None) -> Picture | None:
        encoded = _base64_of(document)
        data = None if encoded is None else _decoded(encoded)
        if encoded is None or not data:
            return None
        ending = _ENDINGS.get(document.media_type, "img")
        told = Document(
            media_type=document.media_type,
            name=document.name or f"image_{self._count}.{ending}",
            blob=blob_of(data),
        )
        self._count += 1
        name = None if call is None else self._calls.get(call)
        found = DocumentExtracted(
            document=told, call_id=call, tool_name=name, api=self.api, line=line
        )
        return Picture(found, data, encoded)


def decoded(pictures: Iterable[Picture]) -> dict[str, bytes]:
    """Return the bytes of those pictures whose base64 is the standard one, by that."""
    return {
        picture.encoded: picture.data
        for picture in pictures
        if base64.b64encode(picture.data).decode() == picture.encoded
    }


def _documents(said: content.Block | None) -> list[Document]:
    match said:
        case Document():
            return [said]
        case ServerToolResult(content=parts):
            return [part for part in parts if isinstance(part, Document)]
        case _:
            return []


def _base64_of(document: Document) -> str | None:
    """Return the base64 of a picture that is given as a `data:` URL (RFC 2397)."""
    begin = f"data:{document.media_type};base64,"
    if not document.media_type.startswith("image/") or not (document.url or "").startswith(begin):
        return None
    return (document.url or "").removeprefix(begin)


def _decoded(encoded: str) -> bytes | None:
    try:
        return base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return None
