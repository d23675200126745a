"""Where the blocks of an assistant's message belong, and the events that record them there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias
from uuid import UUID

from hansard.adapters.capture.answer import Block
from hansard.domain.blobs import spill
from hansard.domain.content import Native
from hansard.domain.events import Event
from hansard.domain.jsontext import JsonObject

Recording: TypeAlias = tuple[tuple[Event, ...], dict[str, bytes]]
"""Events, and by digest the blobs that they refer to: store these first."""


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
    """Return one event a block, its long strings moved to blobs."""
    events: list[Event] = []
    spilled: dict[str, bytes] = {}
    for block in blocks:
        value, blobs = spill(block.value)
        native = Native(api=place.api, value=value)
        here = place if block.call is None else replace(place, call=block.call)
        events.append(event_of(block.index, block.value, native, here))
        spilled.update(blobs)
    return tuple(events), spilled
