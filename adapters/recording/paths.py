"""The paths of a conversation, which a request is compared with.

A path is all that a line says from the start, its own events and those that it shares. Of a long
one only its ends are read, as much as a request of so many blocks can tell about.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Final
from uuid import UUID

from onrecord.adapters.recording.state import ConversationState, SideBranch, SideBranches
from onrecord.adapters.streams.event_reading import (
    events_for,
    events_in,
    known_events,
    line_of,
    on_main,
)
from onrecord.adapters.streams.lineage import BEGINNING, LineSegment, amendments
from onrecord.adapters.streams.stream import Stream
from onrecord.domain.events import LineAdopted
from onrecord.domain.log import RecordedEvent, Told
from onrecord.projections.history.amendments import amended, as_compacted, as_seen
from onrecord.projections.matching.recorded_units import RecordedUnit, recorded_units
from onrecord.projections.matching.sources import Source, sources_in

RECENT: Final = 256
"""How many of the last events tell of side branches."""

_A_BLOCK: Final = 4
"""How many events a block of a request may stand for: it, its request, its response's end."""


@dataclass(frozen=True, slots=True)
class Path:
    """What a line says, by the segments that it is made of.

    `sides` are the side branches that it is on and that were not promoted, the outermost first; none:
    it is the main branch. `as_of` is when the main branch was what the other segments are.
    """

    segments: tuple[LineSegment, ...]
    as_of: int
    sides: tuple[SideBranch, ...] = ()

    @property
    def is_fork(self) -> bool:
        """Whether it begins in another conversation than it ends in."""
        return self.segments[0].conversation_id != self.segments[-1].conversation_id

    def as_of_place(self, after: int) -> int | None:
        """Return what `as_of` is to say of a place on this path: see `LineAdopted`."""
        lines = {side.line for side in self.sides}
        segment = next((s for s in reversed(self.segments) if s.after < after), None)
        if segment is None:  # Nothing stands there: the place is before the first word.
            return None
        return None if segment.line is None or segment.line in lines else self.as_of

    def has(self, version: int) -> bool:
        """Whether it holds an event of the conversation that it ends in."""
        own = self.segments[-1].conversation_id
        return any(s.has(version) for s in self.segments if s.conversation_id == own)

    def is_left(self, state: ConversationState) -> bool:
        """Whether the main branch went on without these side branches, and is what goes on now.

        It is not once they have gone on twice since, unless it only waits.
        """
        if state.last_version <= min(side.parted for side in self.sides):
            return False
        waits = state.in_flight or bool(state.head.open_calls)
        return waits or self.sides[-1].last.version <= state.last_version

    def adoptions(self, version: int) -> Iterator[LineAdopted]:
        """Yield what makes its side branches history, each behind the one that it left.

        The first is recorded after a version of the conversation.
        """
        as_of = self.sides[0].as_of
        for as_of_next, side in enumerate(self.sides, version + 1):
            yield LineAdopted(
                adopted=side.line, begun=side.begun, after=side.after or 0, as_of=as_of
            )
            as_of = as_of_next


@dataclass(frozen=True, slots=True)
class PathRead:
    """What was read of a path: its units, `gap` as for `align`, and its requests by version.

    `sources` are the events themselves: a request repeats what they say.
    """

    units: list[RecordedUnit]
    gap: int | None = None
    requests: list[tuple[int, UUID]] = field(default_factory=list[tuple[int, UUID]])
    sources: tuple[Source, ...] = ()

    def request_at(self, version: int) -> UUID | None:
        """Return the last request up to a version; the first one after it, if there is none."""
        before = [request for at, request in self.requests if at <= version]
        if before:
            return before[-1]
        return self.requests[0][1] if self.requests else None


class Paths:
    """Finds the paths of one conversation, as it stood at a version."""

    def __init__(self, stream: Stream, version: int) -> None:
        """Find paths up to a version."""
        self._log = stream.backend
        self._lineages = stream.lineages()
        self._own = stream.conversation_id
        self._version = version
        self._first_recent = max(0, version - RECENT)
        self._recent: list[RecordedEvent] | None = None

    def recent(self) -> list[RecordedEvent]:
        """Return the last events, of all lines."""
        if self._recent is None:
            read = self._log.read(self._own, after=self._first_recent, until=self._version)
            self._recent = list(read)
        return self._recent

    def take_recent_into(self, sides: SideBranches) -> None:
        """Let side branches take in the last events, of which only the new ones are read."""
        after = max(self._first_recent, sides.until)
        if self._recent is not None:
            sides.take_in(self._recent)
        elif after < self._version:
            sides.take_in(self._log.read(self._own, after=after, until=self._version))

    def main(self, as_of: int | None = None) -> Path:
        """Return the main branch as it is, or was."""
        version = self._version if as_of is None else as_of
        return Path(self._lineages.at(version), version)

    def main_up_to(self, after: int, as_of: int | None) -> Path:
        """Return the main branch up to a version, as it stood then, or at `as_of`."""
        version = as_of or after
        return Path(self._lineages.up_to(after, version), version)

    def of(self, side: SideBranch, branches: SideBranches) -> Path | None:
        """Return the path of a side branch; None if a line that it left is not known any more."""
        own = LineSegment(self._own, self._version, after=side.begun - 1, line=side.line)
        if side.after is None:
            return Path((own,), self._version, (side,))
        before = self._before(side, side.after, branches)
        if before is None:
            return None
        shared = self._cut(before.segments, side.after)
        return Path((*shared, own), before.as_of, (*before.sides, side))

    def _cut(self, segments: tuple[LineSegment, ...], after: int) -> Iterator[LineSegment]:
        for segment in segments:
            if segment.conversation_id != self._own:
                yield segment
            elif segment.after < after:
                yield segment.cut_at(min(segment.until, after))

    def _before(self, side: SideBranch, after: int, branches: SideBranches) -> Path | None:
        if side.as_of is None:
            left = next(
                (line_of(e) for e in self._in(LineSegment(self._own, after, after=after - 1))), None
            )
            if left is not None:
                parent = branches.get(left)
                # A line began before what was said on it: so each step leads to an earlier one.
                is_earlier = parent is not None and parent.begun <= after < side.begun
                return self.of(parent, branches) if parent and is_earlier else None
        return self.main_up_to(after, side.as_of)

    def read(self, path: Path, blocks: int) -> PathRead:
        """Return what a path says, as far as a request of so many blocks needs it."""
        most = _A_BLOCK * blocks + RECENT
        if sum(segment.until - segment.after for segment in path.segments) <= 2 * most:
            return self._read(self._all(path.segments))
        first = self._read(islice(self._all(path.segments), most))
        last = self._read(self._last(path.segments, most))
        return PathRead(
            [*first.units, *last.units],
            len(first.units),
            [*first.requests, *last.requests],
            (*first.sources, *last.sources),
        )

    def compacted(self, path: Path) -> PathRead | None:
        """Return what a path says where a summary stands for its beginning; None where none does."""
        if amendments(self._log, path.segments).compaction is None:
            return None
        items = [
            item for item in events_for(self._log, path.segments, None) if line_of(item) is None
        ]
        compaction = amended(items).compaction
        ordered = items if compaction is None else as_compacted(items, compaction)
        return self._read_told([item for item in ordered if isinstance(item, Told)])

    def _all(self, segments: Sequence[LineSegment]) -> Iterator[RecordedEvent]:
        return chain.from_iterable(self._in(segment) for segment in segments)

    def _last(self, segments: Sequence[LineSegment], most: int) -> list[RecordedEvent]:
        last: list[RecordedEvent] = []
        for segment in reversed(segments):
            last = [*self._in(segment, segment.until - most), *last]
            most -= segment.until - max(segment.after, segment.until - most)
            if most <= 0:
                break
        return last

    def _in(self, segment: LineSegment, after: int = 0) -> Iterator[RecordedEvent]:
        """Yield the events of a segment behind a version; the last ones are read for all lines."""
        start = max(after, segment.after)
        if segment.conversation_id != self._own or start < self._first_recent:
            return events_in(self._log, segment, after)
        events = (event for event in self.recent() if start < event.version <= segment.until)
        return events if segment.line is None else on_main(events, segment)

    def _read(self, recorded: Iterable[RecordedEvent]) -> PathRead:
        return self._read_told([event.told() for event in recorded if line_of(event) is None])

    def _read_told(self, items: list[Told]) -> PathRead:
        ordered = [
            self._with_own_version(item) for item in as_seen(items)[0] if isinstance(item, Told)
        ]
        requests = [
            (item.version, UUID(bytes=item.event_id))
            for item in ordered
            if item.type == "request.sent"
        ]
        return PathRead(units_of(ordered), requests=requests, sources=sources_in(items))

    def _with_own_version(self, item: Told) -> Told:
        """Return an event with the version after which a cut of this conversation keeps it.

        What a fork goes on from is kept as a whole, or not at all.
        """
        return item if item.conversation_id == self._own else item._replace(version=BEGINNING)


def units_of(items: Iterable[Told]) -> list[RecordedUnit]:
    """Return the units of events, as far as this release can read them."""
    return recorded_units((item.version, event) for item, event in known_events(items))
