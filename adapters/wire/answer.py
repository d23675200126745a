"""What a response said, whatever the API: its blocks as they came, its envelope, and how it ended.

An answer is what the reading of one response comes to. Nothing in it is a guess: a block that did
not arrive whole is unfinished, and what was not understood is an anomaly, with its own bytes.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias
from uuid import UUID

from onrecord.adapters.wire.raw_bytes import Content
from onrecord.domain import content
from onrecord.domain.blobs import blob_of, spill
from onrecord.domain.content import Blob, Document, Native, ServerToolResult
from onrecord.domain.events import (
    DocumentExtracted,
    Event,
    MessageRecorded,
    ServerToolCallRecorded,
    ServerToolResultRecorded,
    Unfinished,
)
from onrecord.domain.head import MOST_TOKENS
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.api import neutral_of, outcome_of

# Pictures that a provider's own tool made: documents beside the block that holds them.
#
# Other APIs do not read that block; they read the picture.

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


Loss = Literal["cut", "abandoned", "malformed"]
"""Why no more bytes come: the wire ended, the caller stopped reading, or bytes went bad."""

Interruption = Loss | Literal["error", "deferred", "oversized"]
"""Why a response did not end as its API says it must: see `ResponseInterrupted`."""


_LONGEST_NAME: Final = 60


@dataclass(frozen=True, slots=True)
class Block:
    """A whole block: its place in the response, and its JSON as it came.

    `call` is the id under which a call, or a result, is recorded where its JSON has none.
    """

    index: int
    value: JsonObject
    call: str | None = None


@dataclass(frozen=True, slots=True)
class Anomaly:
    """Something that the API's rules do not know: what it was, and the bytes that said so.

    `what` names kinds and places, never content: it may be logged.
    """

    what: str
    raw: bytes = b""


@dataclass(frozen=True, slots=True)
class Answer:
    """One response, as far as it is known.

    `interruption` is None where the API's terminal event (or a whole body) came and all of it was
    understood, a block included that the response stopped amid and said why; else `detail` says
    more, and `error` holds what the provider said amid the stream.
    `envelope` is the body without what its blocks say; where it calls the response's id and model
    otherwise than `id` and `model`, `provider_id` and `model` name them. `awaits_results` says that the caller is to
    answer the calls in it. `alternatives` are further samples of the same request: blocks, how each
    ended, and nothing that all of them share. `ran` are the ids of calls that look like the
    caller's, but whose results the provider itself gave, or takes no more: they await none.
    """

    api: str
    blocks: tuple[Block, ...] = ()
    envelope: JsonObject = field(default_factory=dict[str, Any])
    provider_id: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    awaits_results: bool = False
    alternatives: tuple[Answer, ...] = ()
    ran: frozenset[str] = frozenset()
    unfinished: tuple[Unfinished, ...] = ()
    interruption: Interruption | None = None
    detail: str | None = None
    error: Any = None
    anomalies: tuple[Anomaly, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether the response ended as its API says it must."""
        return self.interruption is None

    @property
    def needs_raw(self) -> bool:
        """Whether the bytes hold something that this answer does not say: keep them."""
        if self.interruption == "deferred":
            return bool(self.anomalies)
        return not self.is_complete or bool(self.anomalies)

    def text(self, member: str) -> str | None:
        """Return a member of the envelope that is a string, such as `id` or `model`."""
        value = self.envelope.get(member)
        return value if isinstance(value, str) else None


def named(kind: object) -> str:
    """Return a type from the wire as it may stand in a message: short, and none of the content."""
    if not isinstance(kind, str):
        return "none"
    return kind if len(kind) <= _LONGEST_NAME else f"{kind[:_LONGEST_NAME]}..."


def token_count(value: object) -> int | None:
    """Return a count of tokens from the wire; None for what can be none, such as a fraction."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS:
        return value
    return None


# Where the blocks of an assistant's message belong, and the events that record them there.

Recording: TypeAlias = tuple[tuple[Event, ...], dict[str, bytes]]
"""Events, and by digest the blobs that they refer to: store these first."""


Conclusion: TypeAlias = tuple[tuple[Event, ...], Mapping[str, Content]]
"""The same of an answer, or a failure; the bytes of a long answer are in a file."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the blocks of one assistant message belong, and whether its calls are awaited.

    `ran` are the ids of calls that the provider itself ran, though their own JSON does not say so.
    `call` is the id that a block is recorded under, as a call or a result, if its JSON has none.
    """

    api: str
    response: UUID
    line: UUID | None = None
    awaited: bool = True
    ran: frozenset[str] = frozenset()
    call: str | None = None


EventOf: TypeAlias = Callable[[int, JsonObject, Native, Place], Event]
"""Tells which event records a block: by its index and its JSON, holding the native form of that."""


def recorded(blocks: Iterable[Block], place: Place, event_of: EventOf) -> Recording:
    """Return one event a block, its long strings moved to blobs; after it the pictures in it."""
    events: list[Event] = []
    spilled: dict[str, bytes] = {}
    pictures = Pictures(place.api)
    for block in blocks:
        here = place if block.call is None else replace(place, call=block.call)
        event, blobs = _recorded(block, here, event_of)
        if found := pictures.of(event, block.value):
            event, blobs = _recorded(block, here, event_of, decoded(found))
            blobs.update((blob.sha256, data) for blob, data in map(_stored, found))
        events += [event, *(picture.event for picture in found)]
        spilled.update(blobs)
    return tuple(events), spilled


def _recorded(
    block: Block, place: Place, event_of: EventOf, held: Mapping[str, bytes] | None = None
) -> tuple[Event, dict[str, bytes]]:
    value, blobs = spill(block.value, held)
    native = Native(api=place.api, value=value)
    return event_of(block.index, block.value, native, place), blobs


def _stored(picture: Picture) -> tuple[Blob, bytes]:
    return blob_of(picture.data), picture.data
