"""Which events a request is made of, and how few of them have to be read.

A conversation is read along its lineage: what it was forked from, as that stood, then itself. A
window reads from the prompt at its edge, and where a summary stands for the beginning, what comes
behind that is read: what is before costs nothing, however long it is. What was said on a side branch
that was adopted is told as if it had been said on the main branch. Redactions are always told,
wherever they stand: they hold for all lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import Final, NamedTuple
from uuid import UUID

from onrecord.adapters.streams.lineage import (
    NONE,
    Amendments,
    LineSegment,
    amendments,
    last_pointed,
    parted,
)
from onrecord.domain.content import Blob
from onrecord.domain.encoding import Erased, Unrecognised
from onrecord.domain.errors import CorruptRecord
from onrecord.domain.events import (
    Event,
    ResponseCompleted,
    ResponseInterrupted,
)
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
_ITEM: Final = "item.recorded"
_CLOSINGS: Final = ("response.completed", "response.interrupted")


def uncounted(verb: str) -> None:
    """Let a read pass that nobody counts."""
    del verb


class EventsRead(NamedTuple):
    """The events that a request is made of, in order.

    `exchanges` is how many were begun behind what a summary stands for; 0 without a window.
    `is_amended` says that some of the events say how others are told.
    """

    events: Iterator[Told]
    exchanges: int
    is_amended: bool


def events_for(
    log: Log, segments: tuple[LineSegment, ...], window: Window | None
) -> Iterator[Told]:
    """Return the events that a request with this window is made of, in order."""
    return read_events(log, segments, window).events


def read_events(log: Log, segments: tuple[LineSegment, ...], window: Window | None) -> EventsRead:
    """Return the events that a request with this window is made of, and where they stand.

    Those that set the instructions and tools in force come before the ones from the edge on, and
    first of all what is said of events and stands elsewhere. A window counts the exchanges behind
    the summary that stands for those before; the summary stays.
    """
    amending, behind = amendments(log, segments), segments
    setters: list[Told] = []
    if amending.compaction is not None:
        recorded, event = amending.compaction.recorded, amending.compaction.event
        before, behind = parted(segments, recorded.conversation_id, event.until)
        setters = _set_in(log, before, amending.redacted)
    exchanges = 0 if window is None else sum(_exchanges(log, segment) for segment in behind)
    first = first_kept(exchanges, window)
    events = chain(setters, _in_window(log, behind, window, first, amending.redacted))
    if amending == NONE:
        return EventsRead(events, exchanges, False)
    return EventsRead(_with(amending, events), exchanges, True)


def first_kept(exchanges: int, window: Window | None) -> int:
    """Return the number of the first exchange that a window keeps of so many: the last is not closed."""
    return edge(max(0, exchanges - 1), window)


def told_whole(log: Log, segments: tuple[LineSegment, ...]) -> Iterator[Told]:
    """Return all events of a main branch, what a summary stands for too, and what is redacted of it."""
    amending = replace(amendments(log, segments), compaction=None)
    return _with(amending, chain.from_iterable(_all(log, segment) for segment in segments))


def _with(amending: Amendments, read: Iterable[Told]) -> Iterator[Told]:
    """Return what was read behind what amends it and was not read."""
    events = list(read)
    ids = {event.event_id for event in events}
    return chain((event for event in amending.told() if event.event_id not in ids), events)


def _in_window(
    log: Log,
    segments: tuple[LineSegment, ...],
    window: Window | None,
    first: int,
    redacted: frozenset[Place],
) -> Iterator[Told]:
    if window is None or first == EVERYTHING:
        return chain.from_iterable(_all(log, segment) for segment in segments)
    from_edge = _from_edge(log, segments, first, redacted)
    if not window.pinned:
        return from_edge
    pinned = list(_pinned(log, segments, window.pinned))
    ids = {event.event_id for event in pinned}
    return chain(pinned, (event for event in from_edge if event.event_id not in ids))


def holds_items(events: Iterable[Told]) -> bool:
    """Whether a framework wrote any of these events: then turns are not folded from them as they are.

    A window that is cut at a later prompt has none: what is before its edge is out, whoever wrote it.
    """
    return any(event.type == _ITEM for event in events)


def read_through(log: Log, segments: tuple[LineSegment, ...]) -> Iterator[RecordedEvent]:
    """Yield all events of these segments, in order; those of a side branch as of the main branch."""
    for segment in segments:
        yield from events_in(log, segment)


def events_in(
    log: Log, segment: LineSegment, after: int = 0, latest: Sequence[RecordedEvent] = ()
) -> Iterator[RecordedEvent]:
    """Yield the events of a segment that come after a version, in order.

    The log is asked for those that are not among the `latest`: the last events of a conversation.
    """
    start, until, own = max(after, segment.after), segment.until, segment.conversation_id
    if start >= until:
        return iter(())
    recorded: Iterator[RecordedEvent]
    if _holds(latest, own, start + 1, until):
        recorded = iter(latest[start + 1 - latest[0].version : until + 1 - latest[0].version])
    else:
        recorded = log.read(own, after=start, until=until)
    return recorded if segment.line is None else on_main(recorded, segment)


def _holds(latest: Sequence[RecordedEvent], own: UUID, first: int, last: int) -> bool:
    """Whether events of one conversation, read in order, have these versions of a conversation."""
    is_own = bool(latest) and latest[0].conversation_id == own
    return is_own and latest[0].version <= first and last <= latest[-1].version


def since_request(
    log: Log, segments: tuple[LineSegment, ...], latest: Sequence[RecordedEvent] = ()
) -> list[RecordedEvent]:
    """Return the events from the last request of the main branch on; all, if none was sent.

    Where that request had not seen all that was before it, those from the last that it saw on.
    The `latest` events are not read again.
    """
    recorded: list[RecordedEvent] = []
    for segment in reversed(segments):
        sent = _last_request(log, segment, latest)
        after = min(sent.version, seen_by(sent.told()) or sent.version) - 1 if sent else 0
        recorded = [*events_in(log, segment, after, latest), *recorded]
        if sent:
            break
    return recorded


def was_asked(log: Log, segments: tuple[LineSegment, ...]) -> bool:
    """Whether a request was sent on the main branch."""
    return any(_last_request(log, segment) for segment in reversed(segments))


def in_force(
    log: Log,
    segments: tuple[LineSegment, ...],
    pointer: Pointer,
    redacted: frozenset[Place] = frozenset(),
) -> RecordedEvent | None:
    """Return what set the instructions, or the tools, in force at the end of these segments."""
    for segment in reversed(segments):
        setter = _pointed(log, segment, pointer)
        while setter is not None and (setter.conversation_id, setter.version) in redacted:
            setter = _pointed(log, segment.cut_at(setter.version - 1), pointer)
        if setter is not None:
            return setter
    return None


def owners_of(segments: Iterable[LineSegment]) -> list[UUID]:
    """Return the conversations that segments are of, the last one first: each owns its blobs."""
    return list(dict.fromkeys(segment.conversation_id for segment in reversed(tuple(segments))))


def blob_among(blobs: Blobs, segments: tuple[LineSegment, ...], blob: Blob) -> bytes:
    """Return the bytes of a blob that one of the segments owns; CorruptRecord if none does."""
    for owner in owners_of(segments):
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


def last_exchange(log: Log, segment: LineSegment) -> Iterator[RecordedEvent]:
    """Yield the last exchange of a segment: calls that are open were made there."""
    if segment.line is not None:
        return events_in(log, segment)
    start = log.exchange_start(segment.conversation_id, _exchange_at(log, segment, segment.until))
    return events_in(log, segment, max(0, start - 1))


def on_main(recorded: Iterable[RecordedEvent], segment: LineSegment) -> Iterator[RecordedEvent]:
    """Yield the events of a segment's side branch, as if they had been on the main branch."""
    begin = b'%s%s"' % (_LINE, str(segment.line).encode())
    for event in recorded:
        if event.body is not None and event.body.startswith(begin):
            yield as_on_main(event, event.body)


def as_on_main(event: RecordedEvent, body: bytes) -> RecordedEvent:
    """Return an event of a side branch, which has this body, as if it had been on the main branch."""
    rest = body[len(_LINE) + _ID + 1 :].removeprefix(b",")
    return event._replace(body=b"{" + rest)


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


def _all(log: Log, segment: LineSegment) -> Iterator[Told]:
    if segment.line is None and not segment.after:
        return log.tell(segment.conversation_id, until=segment.until)
    return (event.told() for event in events_in(log, segment))


def _exchanges(log: Log, segment: LineSegment) -> int:
    """Return how many exchanges a segment has begun."""
    if segment.line is not None:
        return max((number for number, _ in _numbered(log, segment)), default=0)
    return _exchange_at(log, segment, segment.until) - _exchange_at(log, segment, segment.after)


def _exchange_at(log: Log, segment: LineSegment, version: int) -> int:
    """Return the number of the exchange that an event of the conversation is in; 0 before all."""
    if segment.head is not None and version == segment.head.version:
        return segment.head.exchange
    events = log.read(segment.conversation_id, after=version - 1, until=version) if version else ()
    return sum(recorded.exchange for recorded in events)


def _numbered(log: Log, segment: LineSegment) -> Iterator[tuple[int, Told]]:
    """Yield the events of a side branch's segment, each with the number of its exchange there."""
    head = Head()
    for recorded in events_in(log, segment):
        event = recorded.event()
        head = head if isinstance(event, Erased) else advance(head, effect_of(event))
        yield head.exchange, recorded.told()


def _from_edge(
    log: Log, segments: tuple[LineSegment, ...], exchange: int, redacted: frozenset[Place]
) -> Iterator[Told]:
    for number, segment in enumerate(segments):
        count = _exchanges(log, segment)
        if exchange > count:
            exchange -= count
            continue
        events = _from_exchange(log, segment, exchange)
        first = next(events)
        before = (*segments[:number], segment.cut_at(first.version - 1))
        later = chain.from_iterable(_all(log, segment) for segment in segments[number + 1 :])
        return chain(_set_in(log, before, redacted), (first,), events, later)
    return iter(())


def _from_exchange(log: Log, segment: LineSegment, exchange: int) -> Iterator[Told]:
    """Yield the events of a segment from the prompt on that opened one of its exchanges."""
    if segment.line is not None:
        return (event for number, event in _numbered(log, segment) if number >= exchange)
    number = _exchange_at(log, segment, segment.after) + exchange
    return log.tell(segment.conversation_id, exchange=number, until=segment.until)


def _set_in(log: Log, segments: tuple[LineSegment, ...], redacted: frozenset[Place]) -> list[Told]:
    """Return what set the instructions and the tools in force at the end of these, in order."""
    setters = (in_force(log, segments, pointer, redacted) for pointer in _POINTERS)
    events = [event.told() for event in setters if event is not None]
    conversations = [segment.conversation_id for segment in segments]
    events.sort(key=lambda event: (conversations.index(event.conversation_id), event.version))
    return events


def _pointed(log: Log, segment: LineSegment, pointer: Pointer) -> RecordedEvent | None:
    """Return the last event of a segment that sets something; None if there is none.

    A head may be later than its segment; what was not set by then was not set before either. Side
    lines set nothing in force: who adopts one says what is.
    """
    if segment.line is not None:
        return None
    if segment.head is not None and _version_of(pointer, segment.head) <= segment.after:
        return None
    event = last_pointed(log, segment.conversation_id, pointer, segment.until)
    return event if event is not None and event.version > segment.after else None


def _last_request(
    log: Log, segment: LineSegment, latest: Sequence[RecordedEvent] = ()
) -> RecordedEvent | None:
    if segment.line is None:
        # The head says which event it is.
        version = 0 if segment.head is None else segment.head.request
        is_read = _holds(latest, segment.conversation_id, version, segment.until)
        if is_read and segment.has(version):
            return latest[version - latest[0].version]
        return _pointed(log, segment, "request")
    sent = (event for event in events_in(log, segment) if event.type == _REQUEST)
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


def _pinned(log: Log, segments: tuple[LineSegment, ...], exchanges: int) -> Iterator[Told]:
    for segment in segments:
        if exchanges == 0:
            return
        count = _exchanges(log, segment)
        if count <= exchanges:
            exchanges -= count
            yield from _all(log, segment)
            continue
        after = next(_from_exchange(log, segment, exchanges + 1)).version
        yield from _all(log, segment.cut_at(after - 1))
        return
