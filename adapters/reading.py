"""Which events a request is made of, and how few of them have to be read.

A conversation is read along its lineage: what it was forked from, as that stood, then itself. A
window reads from the prompt at its edge; what is before costs nothing, however long it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final
from uuid import UUID

from hansard.domain.content import Blob
from hansard.domain.errors import CorruptRecord
from hansard.domain.events import ConversationForked
from hansard.domain.head import Head, Pointer
from hansard.domain.log import Blobs, Log, RecordedEvent, Told
from hansard.projections.seen import seen_by
from hansard.projections.window import EVERYTHING, Window, edge

_POINTERS: Final[tuple[Pointer, ...]] = ("instructions", "tools")
BEGINNING: Final = 2
"""How many events a conversation begins with, at the most, before it says anything.

Whether it goes on from another is among them, and so known for good once they are there.
"""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a lineage: the events of one conversation up to a version.

    `head` is where the conversation stood then, if that is known: it saves looking.
    """

    conversation_id: UUID
    until: int
    head: Head | None = None


def lineage(log: Log, conversation_id: UUID, until: int) -> tuple[Stretch, ...]:
    """Return the stretches that a conversation is made of at a version, the oldest first."""
    own = Stretch(conversation_id, until)
    for recorded in log.read(conversation_id, until=min(until, BEGINNING)):
        event = recorded.event()
        if isinstance(event, ConversationForked):
            return (*lineage(log, event.origin, event.version), own)
    return (own,)


def events_for(log: Log, stretches: tuple[Stretch, ...], window: Window | None) -> Iterator[Told]:
    """Return the events that a request with this window is made of, in order.

    Those that set the instructions and tools in force come before the ones from the edge on.
    """
    first = EVERYTHING if window is None else edge(_closed(log, stretches), window)
    if window is None or first == EVERYTHING:
        return chain.from_iterable(_all(log, stretch) for stretch in stretches)
    from_edge = _from_edge(log, stretches, first)
    if not window.pinned:
        return from_edge
    pinned = list(_pinned(log, stretches, window.pinned))
    given = {event.event_id for event in pinned}
    return chain(pinned, (event for event in from_edge if event.event_id not in given))


def read_through(log: Log, stretches: tuple[Stretch, ...]) -> Iterator[RecordedEvent]:
    """Yield all events of these stretches as the log has them, in order."""
    for stretch in stretches:
        yield from log.read(stretch.conversation_id, until=stretch.until)


def since_request(log: Log, stretches: tuple[Stretch, ...]) -> list[RecordedEvent]:
    """Return the events from the last request of the main line on; all, if none was sent.

    Where that request had not seen all that was before it, those from the last that it saw on.
    """
    recorded: list[RecordedEvent] = []
    for stretch in reversed(stretches):
        sent = _pointed(log, stretch, "request")
        after = min(sent.version, seen_by(sent.told()) or sent.version) - 1 if sent else 0
        recorded = [
            *log.read(stretch.conversation_id, after=after, until=stretch.until),
            *recorded,
        ]
        if sent:
            break
    return recorded


def in_force(log: Log, stretches: tuple[Stretch, ...], pointer: Pointer) -> RecordedEvent | None:
    """Return what set the instructions, or the tools, in force at the end of these stretches."""
    found = (_pointed(log, stretch, pointer) for stretch in reversed(stretches))
    return next((event for event in found if event is not None), None)


def blob_among(blobs: Blobs, stretches: tuple[Stretch, ...], blob: Blob) -> bytes:
    """Return the bytes of a blob that one of the stretches owns; CorruptRecord if none does."""
    for stretch in reversed(stretches):
        with suppress(CorruptRecord):
            return b"".join(blobs.get_blob(stretch.conversation_id, blob))
    raise CorruptRecord("a blob that an event refers to is missing: restore a backup")


def last_exchange(log: Log, stretch: Stretch) -> Iterator[RecordedEvent]:
    """Yield the last exchange of a stretch: calls that are open were made there."""
    start = log.exchange_start(stretch.conversation_id, _exchanges(log, stretch))
    return log.read(stretch.conversation_id, after=max(0, start - 1), until=stretch.until)


def _all(log: Log, stretch: Stretch) -> Iterator[Told]:
    return log.tell(stretch.conversation_id, until=stretch.until)


def _closed(log: Log, stretches: tuple[Stretch, ...]) -> int:
    """Return how many exchanges are closed: all but the last."""
    return max(0, sum(_exchanges(log, stretch) for stretch in stretches) - 1)


def _exchanges(log: Log, stretch: Stretch) -> int:
    """Return how many exchanges a stretch has begun."""
    if stretch.head is not None:
        return stretch.head.exchange
    last = log.read(stretch.conversation_id, after=stretch.until - 1, until=stretch.until)
    return sum(recorded.exchange for recorded in last)


def _from_edge(log: Log, stretches: tuple[Stretch, ...], exchange: int) -> Iterator[Told]:
    for number, stretch in enumerate(stretches):
        begun = _exchanges(log, stretch)
        if exchange > begun:
            exchange -= begun
            continue
        told = log.tell(stretch.conversation_id, exchange=exchange, until=stretch.until)
        first = next(told)
        before = (*stretches[:number], replace(stretch, until=first.version - 1))
        later = chain.from_iterable(_all(log, stretch) for stretch in stretches[number + 1 :])
        return chain(_set_in(log, before), (first,), told, later)
    return iter(())


def _set_in(log: Log, stretches: tuple[Stretch, ...]) -> list[Told]:
    """Return what set the instructions and the tools in force at the end of these, in order."""
    found = (in_force(log, stretches, pointer) for pointer in _POINTERS)
    told = [event.told() for event in found if event is not None]
    conversations = [stretch.conversation_id for stretch in stretches]
    told.sort(key=lambda event: (conversations.index(event.conversation_id), event.version))
    return told


def _pointed(log: Log, stretch: Stretch, pointer: Pointer) -> RecordedEvent | None:
    """Return the last event of a stretch that sets something; None if there is none.

    A head may be later than its stretch; what was not set by then was not set before either.
    """
    if stretch.head is not None and not _version_of(pointer, stretch.head):
        return None
    return log.latest(stretch.conversation_id, pointer, stretch.until)


def _version_of(pointer: Pointer, head: Head) -> int:
    match pointer:
        case "instructions":
            return head.instructions
        case "tools":
            return head.tools
        case "request":
            return head.request


def _pinned(log: Log, stretches: tuple[Stretch, ...], exchanges: int) -> Iterator[Told]:
    for stretch in stretches:
        if exchanges == 0:
            return
        begun = _exchanges(log, stretch)
        if begun < exchanges:
            exchanges -= begun
            yield from _all(log, stretch)
            continue
        after = log.exchange_start(stretch.conversation_id, exchanges + 1)
        until = after - 1 if after else stretch.until
        yield from log.tell(stretch.conversation_id, until=until)
        return
