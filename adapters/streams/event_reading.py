"""Which events a request is made of, and how few of them have to be read.

A conversation is read along its lineage: what it was forked from, as that stood, then itself. A
window reads from the prompt at its edge, and where a summary stands for the beginning, what comes
behind that is read: what is before costs nothing, however long it is. What was said on a side branch
that was adopted is told as if it had been said on the main branch. Redactions are always told,
wherever they stand: they hold for all lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import Final
from uuid import UUID

from onrecord.adapters.streams.lineage import NONE, Amendments, Stretch, amendments, parted
from onrecord.domain.content import Blob
from onrecord.domain.encoding import Erased, Unrecognised
from onrecord.domain.errors import CorruptRecord
from onrecord.domain.events import Event, ResponseCompleted, ResponseInterrupted
from onrecord.domain.head import Head, Pointer, advance, effect_of
from onrecord.domain.log import Blobs, Log, RecordedEvent, Told
from onrecord.projections.history.responses import Place, seen_by
from onrecord.projections.history.windows import EVERYTHING, Window, edge

_POINTERS: Final[tuple[Pointer, ...]] = ("instructions", "tools")

# Members of a body have a fixed order, `line` first (docs/format.md): what is on a side branch begins
# so, and goes on after the id.
_LINE: Final = b'{"line":"'
_ID: Final = 36
_REQUEST: Final = "request.sent"
_CLOSINGS: Final = ("response.completed", "response.interrupted")


def events_for(log: Log, stretches: tuple[Stretch, ...], window: Window | None) -> Iterator[Told]:
    """Return the events that a request with this window is made of, in order.

    Those that set the instructions and tools in force come before the ones from the edge on, and
    first of all what is said of events and stands elsewhere. A window counts the exchanges behind
    the summary that stands for those before; the summary stays.
    """
    amending = amendments(log, stretches)
    if amending == NONE:
        return _in_window(log, stretches, window, frozenset())
    if amending.compaction is None:
        return _with(amending, _in_window(log, stretches, window, amending.redacted))
    recorded, event = amending.compaction.recorded, amending.compaction.event
    before, behind = parted(stretches, recorded.conversation_id, event.until)
    in_force = _set_in(log, before, amending.redacted)
    return _with(amending, chain(in_force, _in_window(log, behind, window, amending.redacted)))


def told_whole(log: Log, stretches: tuple[Stretch, ...]) -> Iterator[Told]:
    """Return all events of a main branch, what a summary stands for too, and what is redacted of it."""
    amending = replace(amendments(log, stretches), compaction=None)
    return _with(amending, chain.from_iterable(_all(log, stretch) for stretch in stretches))


def _with(amending: Amendments, read: Iterable[Told]) -> Iterator[Told]:
    """Return what was read behind what amends it and was not read."""
    events = list(read)
    ids = {event.event_id for event in events}
    return chain((event for event in amending.told() if event.event_id not in ids), events)


def _in_window(
    log: Log, stretches: tuple[Stretch, ...], window: Window | None, redacted: frozenset[Place]
) -> Iterator[Told]:
    first = EVERYTHING if window is None else edge(_closed(log, stretches), window)
    if window is None or first == EVERYTHING:
        return chain.from_iterable(_all(log, stretch) for stretch in stretches)
    from_edge = _from_edge(log, stretches, first, redacted)
    if not window.pinned:
        return from_edge
    pinned = list(_pinned(log, stretches, window.pinned))
    ids = {event.event_id for event in pinned}
    return chain(pinned, (event for event in from_edge if event.event_id not in ids))


def read_through(log: Log, stretches: tuple[Stretch, ...]) -> Iterator[RecordedEvent]:
    """Yield all events of these stretches, in order; those of a side branch as of the main branch."""
    for stretch in stretches:
        yield from events_in(log, stretch)


def events_in(log: Log, stretch: Stretch, after: int = 0) -> Iterator[RecordedEvent]:
    """Yield the events of a stretch that come after a version, in order."""
    start = max(after, stretch.after)
    recorded = log.read(stretch.conversation_id, after=start, until=stretch.until)
    return recorded if stretch.line is None else on_main(recorded, stretch)


def since_request(log: Log, stretches: tuple[Stretch, ...]) -> list[RecordedEvent]:
    """Return the events from the last request of the main branch on; all, if none was sent.

    Where that request had not seen all that was before it, those from the last that it saw on.
    """
    recorded: list[RecordedEvent] = []
    for stretch in reversed(stretches):
        sent = _last_request(log, stretch)
        after = min(sent.version, seen_by(sent.told()) or sent.version) - 1 if sent else 0
        recorded = [*events_in(log, stretch, after), *recorded]
        if sent:
            break
    return recorded


def was_asked(log: Log, stretches: tuple[Stretch, ...]) -> bool:
    """Whether a request was sent on the main branch."""
    return any(_last_request(log, stretch) for stretch in reversed(stretches))


def in_force(
    log: Log,
    stretches: tuple[Stretch, ...],
    pointer: Pointer,
    redacted: frozenset[Place] = frozenset(),
) -> RecordedEvent | None:
    """Return what set the instructions, or the tools, in force at the end of these stretches."""
    for stretch in reversed(stretches):
        setter = _pointed(log, stretch, pointer)
        while setter is not None and (setter.conversation_id, setter.version) in redacted:
            setter = _pointed(log, replace(stretch, until=setter.version - 1, head=None), pointer)
        if setter is not None:
            return setter
    return None


def owners_of(stretches: Iterable[Stretch]) -> list[UUID]:
    """Return the conversations that stretches are of, the last one first: each owns its blobs."""
    return list(dict.fromkeys(stretch.conversation_id for stretch in reversed(tuple(stretches))))


def blob_among(blobs: Blobs, stretches: tuple[Stretch, ...], blob: Blob) -> bytes:
    """Return the bytes of a blob that one of the stretches owns; CorruptRecord if none does."""
    for owner in owners_of(stretches):
        with suppress(CorruptRecord):
            return b"".join(blobs.get_blob(owner, blob))
    raise CorruptRecord("a blob that an event refers to is missing: restore a backup")


def has_blob(blobs: Blobs, owners: Iterable[UUID], blob: Blob) -> bool:
    """Whether one of these conversations owns a blob."""
    for owner in owners:
        with suppress(CorruptRecord):
            next(blobs.get_blob(owner, blob), b"")
            return True
    return False


def last_exchange(log: Log, stretch: Stretch) -> Iterator[RecordedEvent]:
    """Yield the last exchange of a stretch: calls that are open were made there."""
    if stretch.line is not None:
        return events_in(log, stretch)
    start = log.exchange_start(stretch.conversation_id, _exchange_at(log, stretch, stretch.until))
    return events_in(log, stretch, max(0, start - 1))


def on_main(recorded: Iterable[RecordedEvent], stretch: Stretch) -> Iterator[RecordedEvent]:
    """Yield the events of a stretch's side branch, as if they had been on the main branch."""
    begin = b'%s%s"' % (_LINE, str(stretch.line).encode())
    for event in recorded:
        if event.body is not None and event.body.startswith(begin):
            rest = event.body[len(begin) :].removeprefix(b",")
            yield event._replace(body=b"{" + rest)


def closing_of(recorded: RecordedEvent) -> ResponseCompleted | ResponseInterrupted | None:
    """Return what an event says that closes a response; None for any other."""
    if recorded.type not in _CLOSINGS:
        return None
    event = recorded.event()
    return event if isinstance(event, ResponseCompleted | ResponseInterrupted) else None


def line_of(recorded: RecordedEvent | Told) -> UUID | None:
    """Return the side branch that an event is on, without reading all that it says."""
    body = recorded.body or b""
    if not body.startswith(_LINE):
        return None
    return UUID(body[len(_LINE) : len(_LINE) + _ID].decode())


def known_events(items: Iterable[Told]) -> Iterator[tuple[Told, Event]]:
    """Yield those events that this release can read, each with what it says."""
    for item in items:
        event = item.event()
        if not isinstance(event, Unrecognised | Erased):
            yield item, event


def _all(log: Log, stretch: Stretch) -> Iterator[Told]:
    if stretch.line is None and not stretch.after:
        return log.tell(stretch.conversation_id, until=stretch.until)
    return (event.told() for event in events_in(log, stretch))


def _closed(log: Log, stretches: tuple[Stretch, ...]) -> int:
    """Return how many exchanges are closed: all but the last."""
    return max(0, sum(_exchanges(log, stretch) for stretch in stretches) - 1)


def _exchanges(log: Log, stretch: Stretch) -> int:
    """Return how many exchanges a stretch has begun."""
    if stretch.line is not None:
        return max((number for number, _ in _numbered(log, stretch)), default=0)
    return _exchange_at(log, stretch, stretch.until) - _exchange_at(log, stretch, stretch.after)


def _exchange_at(log: Log, stretch: Stretch, version: int) -> int:
    """Return the number of the exchange that an event of the conversation is in; 0 before all."""
    if stretch.head is not None and version == stretch.head.version:
        return stretch.head.exchange
    events = log.read(stretch.conversation_id, after=version - 1, until=version) if version else ()
    return sum(recorded.exchange for recorded in events)


def _numbered(log: Log, stretch: Stretch) -> Iterator[tuple[int, Told]]:
    """Yield the events of a side branch's stretch, each with the number of its exchange there."""
    head = Head()
    for recorded in events_in(log, stretch):
        event = recorded.event()
        head = head if isinstance(event, Erased) else advance(head, effect_of(event))
        yield head.exchange, recorded.told()


def _from_edge(
    log: Log, stretches: tuple[Stretch, ...], exchange: int, redacted: frozenset[Place]
) -> Iterator[Told]:
    for number, stretch in enumerate(stretches):
        count = _exchanges(log, stretch)
        if exchange > count:
            exchange -= count
            continue
        events = _from_exchange(log, stretch, exchange)
        first = next(events)
        before = (*stretches[:number], replace(stretch, until=first.version - 1, head=None))
        later = chain.from_iterable(_all(log, stretch) for stretch in stretches[number + 1 :])
        return chain(_set_in(log, before, redacted), (first,), events, later)
    return iter(())


def _from_exchange(log: Log, stretch: Stretch, exchange: int) -> Iterator[Told]:
    """Yield the events of a stretch from the prompt on that opened one of its exchanges."""
    if stretch.line is not None:
        return (event for number, event in _numbered(log, stretch) if number >= exchange)
    number = _exchange_at(log, stretch, stretch.after) + exchange
    return log.tell(stretch.conversation_id, exchange=number, until=stretch.until)


def _set_in(log: Log, stretches: tuple[Stretch, ...], redacted: frozenset[Place]) -> list[Told]:
    """Return what set the instructions and the tools in force at the end of these, in order."""
    setters = (in_force(log, stretches, pointer, redacted) for pointer in _POINTERS)
    events = [event.told() for event in setters if event is not None]
    conversations = [stretch.conversation_id for stretch in stretches]
    events.sort(key=lambda event: (conversations.index(event.conversation_id), event.version))
    return events


def _pointed(log: Log, stretch: Stretch, pointer: Pointer) -> RecordedEvent | None:
    """Return the last event of a stretch that sets something; None if there is none.

    A head may be later than its stretch; what was not set by then was not set before either. Side
    lines set nothing in force: who adopts one says what is.
    """
    if stretch.line is not None:
        return None
    if stretch.head is not None and _version_of(pointer, stretch.head) <= stretch.after:
        return None
    event = log.latest(stretch.conversation_id, pointer, stretch.until)
    return event if event is not None and event.version > stretch.after else None


def _last_request(log: Log, stretch: Stretch) -> RecordedEvent | None:
    if stretch.line is None:
        return _pointed(log, stretch, "request")
    sent = (event for event in events_in(log, stretch) if event.type == _REQUEST)
    return max(sent, key=lambda event: event.version, default=None)


def _version_of(pointer: Pointer, head: Head) -> int:
    match pointer:
        case "instructions":
            return head.instructions
        case "tools":
            return head.tools
        case "request":
            return head.request
        case "adopted":
            return head.adopted
        case "amended":
            return head.amended


def _pinned(log: Log, stretches: tuple[Stretch, ...], exchanges: int) -> Iterator[Told]:
    for stretch in stretches:
        if exchanges == 0:
            return
        count = _exchanges(log, stretch)
        if count <= exchanges:
            exchanges -= count
            yield from _all(log, stretch)
            continue
        after = next(_from_exchange(log, stretch, exchanges + 1)).version
        yield from _all(log, replace(stretch, until=after - 1, head=None))
        return
