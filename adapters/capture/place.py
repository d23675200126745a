"""Where the blocks of an assistant's message belong, and the events that record them there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias
from uuid import UUID

from onrecord.adapters.capture.answer import Block
from onrecord.adapters.capture.pictures import Picture, Pictures, decoded
from onrecord.adapters.capture.raw_bytes import Content
from onrecord.domain.blobs import blob_of, spill
from onrecord.domain.content import Blob, Native
from onrecord.domain.events import Event
from onrecord.domain.jsontext import JsonObject

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
