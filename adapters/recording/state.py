"""Where a conversation stands when a request goes out: what is in force, said and in flight.

It is read from the log, no more than it takes. What this process put on side branches, and which
requests it has in flight, it keeps in mind.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final, TypeAlias
from uuid import UUID
from weakref import WeakValueDictionary

from onrecord.adapters.caches.newest import Newest
from onrecord.adapters.streams.event_reading import (
    closing_of,
    in_force,
    known_events,
    line_of,
    since_request,
)
from onrecord.adapters.streams.lineage import BEGINNING, LineSegment
from onrecord.adapters.streams.stream import Done, Stream
from onrecord.domain.admission import error_of, refers_back
from onrecord.domain.encoding import Erased, Unrecognised
from onrecord.domain.events import (
    Event,
    InstructionsSet,
    LineAdopted,
    RequestSent,
    ResponseCompleted,
    ResponseInterrupted,
    ToolsDeclared,
)
from onrecord.domain.head import Head, Pointer
from onrecord.domain.log import RecordedEvent, Told
from onrecord.domain.new_events import NOBODY, Attribution
from onrecord.projections.history.amendments import as_seen, says_something
from onrecord.projections.matching.recorded_units import RecordedUnit, recorded_units
from onrecord.projections.matching.sources import Source, sources_in

_LATEST: Final = 64
"""How many of the last events are looked at for what a request of a side branch repeats."""

_AT_ONCE: Final = 256
"""How many events are read with the head. Where more came, they are read by themselves."""

_Where: TypeAlias = tuple[int, tuple[tuple[UUID, int, UUID | None], ...]]
"""What was asked for: the version of the head's pointer, and the lineage."""


@dataclass(frozen=True, slots=True)
class ConversationState:
    """Where a conversation stands when a request goes out.

    `last` is the main branch's last request, by `last_id` and `last_version` (0: none); `since` what
    was said after it; `in_flight` that its answer is being read right now, in this process.
    `answered_at` is the version of a complete response to it, `said_at` that of the last event since
    that said something (0: none). `sources` are the events since that request, whose content the next
    one repeats.
    """

    head: Head = field(default_factory=Head)
    last: RequestSent | None = None
    last_id: UUID | None = None
    last_version: int = 0
    since: tuple[RecordedUnit, ...] = ()
    in_flight: bool = False
    answered_at: int = 0
    said_at: int = 0
    instructions: InstructionsSet | None = None
    tools: ToolsDeclared | None = None
    sources: tuple[Source, ...] = ()


class OpenRequest:
    """A request that is recorded and may be answered; in flight for as long as it is held.

    `request` is the id of its event, which has that `version` once it is recorded; `line` the side
    line that it is on, if any; `by` is who sent it, and so whose its answer is; `done` what the log
    said of all that was recorded with it; `model` the one that it asks, if it names one.
    """

    __slots__ = ("__weakref__", "by", "done", "line", "model", "request", "version")

    def __init__(
        self, request: UUID, line: UUID | None, version: int = 0, by: Attribution = NOBODY
    ) -> None:
        """Hold a request that is recorded, or is about to be."""
        self.request = request
        self.line = line
        self.version = version
        self.by = by
        self.done: Done | None = None
        self.model: str | None = None


IN_FLIGHT: WeakValueDictionary[UUID, OpenRequest] = WeakValueDictionary()
"""The requests that are in flight in this process, by id: a conversation may have many holders."""


class StateReader:
    """Tells where one conversation stands; keeps in mind what is in force."""

    def __init__(self, stream: Stream) -> None:
        """Tell of a conversation; one thread at a time."""
        self._stream = stream
        self._after: int | None = None
        self._in_force: dict[Pointer, tuple[_Where, Event | Unrecognised | Erased | None]] = {}

    def now(self) -> ConversationState:
        """Read the head, and what came after the last request; ConversationClosed if it is over."""
        head, new_events = self._new()
        if head.closed:
            raise error_of("open")
        segments = self._stream.lineage(head.version, head)
        recorded = since_request(self._stream.backend, segments, new_events)
        # What other lines say has no part in it, however much that is; the next request repeats it.
        items = [event.told() for event in recorded if line_of(event) is None]
        latest = [event.told() for event in recorded[-_LATEST:] if line_of(event) is not None]
        ordered = [item for item in as_seen(items)[0] if isinstance(item, Told)]
        events = list(known_events(ordered))
        place, last = _last_request(events)
        own_id = segments[-1].conversation_id
        own = [(i, e) for i, e in events[place:] if e.line is None and i.conversation_id == own_id]
        sent = events[place - 1][0] if last else None
        last_id = UUID(bytes=sent.event_id) if sent else None
        instructions, tools = self.in_force(head, segments)
        return ConversationState(
            head=head,
            last=last,
            last_id=last_id,
            last_version=_version_here(sent, own_id) if sent else 0,
            since=tuple(recorded_units(_since(events, place, own_id))),
            in_flight=last_id is not None and last_id in IN_FLIGHT,
            answered_at=_last_version(i for i, e in own if isinstance(e, ResponseCompleted)),
            said_at=_last_version(item for item, event in own if says_something(event)),
            instructions=instructions,
            tools=tools,
            sources=sources_in([*items, *latest]),
        )

    def sent(self, version: int) -> None:
        """Take note that a request of the main branch is recorded: the next state begins with it."""
        self._after = version - 1

    def _new(self) -> tuple[Head, Sequence[RecordedEvent]]:
        """Return the head, and the events since the last request that is known here, in one read.

        They tell the rest unless others sent a request that stands elsewhere, or too many came.
        """
        if self._stream.found() is None:
            return Head(), ()
        is_known = self._after is not None
        new = self._stream.new_since(self._after or 0, _AT_ONCE if is_known else 0)
        return new.head, new.events

    def in_force(
        self, head: Head, segments: tuple[LineSegment, ...]
    ) -> tuple[InstructionsSet | None, ToolsDeclared | None]:
        """Return the instructions and the tools in force at the end of a lineage."""
        instructions = self._pointed("instructions", head.instructions, segments)
        tools = self._pointed("tools", head.tools, segments)
        return (
            instructions if isinstance(instructions, InstructionsSet) else None,
            tools if isinstance(tools, ToolsDeclared) else None,
        )

    def _pointed(
        self, pointer: Pointer, version: int, segments: tuple[LineSegment, ...]
    ) -> Event | Unrecognised | Erased | None:
        """Return what is in force; it is read again only when another version sets it."""
        place = (version, tuple((s.conversation_id, s.after, s.line) for s in segments))
        in_memory = self._in_force.get(pointer)
        if in_memory is not None and in_memory[0] == place:
            return in_memory[1]
        recorded = in_force(self._stream.backend, segments, pointer)
        event = None if recorded is None else recorded.event()
        self._in_force[pointer] = (place, event)
        return event


def _last_request(events: list[tuple[Told, Event]]) -> tuple[int, RequestSent | None]:
    """Return the main branch's last request, and the place after it; 0 if there is none."""
    for place in range(len(events), 0, -1):
        event = events[place - 1][1]
        if isinstance(event, RequestSent) and event.line is None:
            return place, event
    return 0, None


def _since(events: list[tuple[Told, Event]], place: int, own: UUID) -> Iterable[tuple[int, Event]]:
    """Return what was said since the main branch's last request, itself included."""
    since = events[max(0, place - 1) :]
    return ((_version_here(item, own), event) for item, event in since if event.line is None)


def _version_here(item: Told, own: UUID) -> int:
    """Return the version of this conversation that a cut behind an event leaves."""
    return item.version if item.conversation_id == own else BEGINNING


def _last_version(items: Iterable[Told]) -> int:
    return max((item.version for item in items), default=0)


# The side branches of a conversation: where each one left the line before it, and its last request.
#
# What this process put on side branches it keeps in mind; what others did is told by the last
# events.

_SIDES_AT_MOST: Final = 64
_SCANNED_AT_MOST: Final = 256
"""How many lines, and requests, are kept that events told of: later events may name them."""


@dataclass(frozen=True, slots=True)
class LastRequest:
    """The last request of a line: its id and version, and how its messages are known again."""

    request: UUID
    version: int
    blocks: int = 0
    history: str | None = None


@dataclass(frozen=True, slots=True)
class SideBranch:
    """A side branch: `begun` is the version of its first event, `after` and `as_of` its place.

    `parted` is the version of what began it: a request of the main branch after that says that the
    main branch was gone on with. The place is as `RequestSent` says; `after` is None if it has none.
    What `is_promoted` is part of the main branch, as that is or was.
    """

    line: UUID
    begun: int
    parted: int
    after: int | None
    as_of: int | None
    last: LastRequest
    is_promoted: bool = False


class SideBranches:
    """The side branches that are known, the one that spoke last at the end.

    `until` is the version up to which the log was read for them.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self._known: Newest[UUID, SideBranch] = Newest(_SIDES_AT_MOST)
        self._scan = _SideBranchScan(self._known)
        self.until = 0

    def __iter__(self) -> Iterator[SideBranch]:
        """Yield the lines that were not promoted, the one that spoke last first."""
        return (side for side in reversed(list(self._known.values())) if not side.is_promoted)

    def get(self, line: UUID) -> SideBranch | None:
        """Return what is known of a line, promoted or not."""
        return self._known.get(line)

    def keep(self, side: SideBranch) -> None:
        """Take note of a line that spoke."""
        self._known[side.line] = side

    def promote(self, line: UUID | None) -> None:
        """Take note that a line was promoted."""
        if line is not None and line in self._known:
            self._known[line] = replace(self._known[line], is_promoted=True)

    def take_in(self, recorded: Iterable[RecordedEvent]) -> None:
        """Take note of the lines that spoke in events, given in order; those known stay.

        Events up to `until` were taken in before: they are passed over.
        """
        scan = self._scan
        scan.begin()
        for event in recorded:
            if event.version > self.until:
                scan.take(event)
                self.until = event.version
        for line in scan.spoke:
            side = scan.sides[line]
            branch = self._known.get(line)
            if branch is None or branch.last.version < side.last.version:
                self.keep(side)
        for adopted in scan.adopted:
            self.promote(adopted)


class _SideBranchScan:
    """What events tell of side branches; `spoke` and `adopted` are what the last ones did.

    It goes on from the events before, of which it keeps no more than it takes.
    """

    def __init__(self, known: Container[UUID]) -> None:
        self.sides: dict[UUID, SideBranch] = {}
        self.spoke: dict[UUID, None] = {}
        self.adopted: list[UUID | None] = []
        self._known = known
        self._begun: dict[UUID, int] = {}
        self._requests: dict[UUID, LastRequest] = {}

    def begin(self) -> None:
        """Go on with later events; let go of what is long ago."""
        self.spoke, self.adopted = {}, []
        for entries in (self.sides, self._begun, self._requests):
            for oldest in list(islice(entries, max(0, len(entries) - _SCANNED_AT_MOST))):
                del entries[oldest]

    def take(self, recorded: RecordedEvent) -> None:
        line = line_of(recorded)
        if line is not None:
            self._begun.setdefault(line, recorded.version)
        if recorded.type == "request.sent":
            self._sent(recorded, line)
        elif recorded.type == "line.adopted":
            event = recorded.event()
            if isinstance(event, LineAdopted) and refers_back(event, recorded.version):
                self.adopted.append(event.adopted)
        elif line is not None and (closing := closing_of(recorded)) is not None:
            self._closed(line, closing)

    def _sent(self, recorded: RecordedEvent, line: UUID | None) -> None:
        event = recorded.event()
        if not isinstance(event, RequestSent):
            return
        last = last_request(recorded.event_id, recorded.version, event)
        self._requests[recorded.event_id] = last
        if line is None:
            return
        first, after, as_of = self._begun[line], event.after, event.as_of
        if not refers_back(event, recorded.version):
            after = as_of = None
        elif event.begun is not None:
            first = event.begun
        before = self.sides.get(line)
        parted = before.parted if before else first
        self._speak(SideBranch(line, first, parted, after, as_of, last))

    def _closed(self, line: UUID, event: ResponseCompleted | ResponseInterrupted) -> None:
        """Take note of an answer that is on a line without a request of its own."""
        if line in self._known:
            return
        sent = None if event.request is None else self._requests.get(event.request)
        if sent is not None and line not in self.sides:
            self._speak(SideBranch(line, self._begun[line], sent.version, sent.version, None, sent))

    def _speak(self, side: SideBranch) -> None:
        self.sides[side.line] = side
        self.spoke[side.line] = None


def last_request(request: UUID, version: int, event: RequestSent) -> LastRequest:
    """Return what is to be known of a request to know again what goes on from it."""
    return LastRequest(request, version, event.blocks, event.history)
