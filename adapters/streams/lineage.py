"""How a conversation began, and what its main branch is made of: segments of several lines maybe.

A conversation may go on from another one (a fork), and its main branch may go on from an earlier
place, with what a side branch said there (`LineAdopted`). Both are settled facts: they are read once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, NamedTuple
from uuid import UUID

from onrecord.domain.admission import refers_back
from onrecord.domain.errors import CorruptRecord
from onrecord.domain.events import (
    ContentRedacted,
    ConversationForked,
    ConversationStarted,
    HistoryCompacted,
    LineAdopted,
)
from onrecord.domain.head import Head, Pointer
from onrecord.domain.log import Log, RecordedEvent, Told
from onrecord.projections.history.responses import Place

FIRST: Final = 1
"""The version that a conversation begins with: its name, before it says anything."""

BEGINNING: Final = 2
"""How many events a conversation begins with, at the most, before it says anything.

Whether it goes on from another is among them, and so known for good once they are there.
"""


@dataclass(frozen=True, slots=True)
class LineSegment:
    """A part of a lineage: the events of one line of a conversation, after < version <= until.

    `line` is None for what was recorded on the main branch. `head` is where the conversation stood
    at `until`, or later, if that is known: it saves looking.
    """

    conversation_id: UUID
    until: int
    head: Head | None = None
    after: int = 0
    line: UUID | None = None

    def has(self, version: int) -> bool:
        """Whether a version of its conversation is in it."""
        return self.after < version <= self.until

    def cut_at(self, until: int) -> LineSegment:
        """Return the same segment up to an earlier version."""
        return replace(self, until=until)


class Adoption(NamedTuple):
    """A `LineAdopted` and the version that it has."""

    version: int
    event: LineAdopted


class Lineages:
    """The lineages of one conversation; what was read stays known."""

    def __init__(self, log: Log, conversation_id: UUID, by: tuple[UUID, str] | None = None) -> None:
        """Tell of a conversation, found `by` a tenant and a key; CorruptRecord where these are another's."""
        self._log = log
        self._id, self._by = conversation_id, by
        self._tenant: UUID | None = None
        self._origin: tuple[LineSegment, ...] | None = None
        self._adoptions: dict[int, Adoption | None] = {}

    def at(self, version: int, head: Head | None = None) -> tuple[LineSegment, ...]:
        """Return the segments of the main branch at a version, the oldest first.

        `head` is where the conversation stands, if that is known.
        """
        known = head if head is not None and head.version == version else None
        segments = [*self._origins(version), *self._own(version, version, known)]
        return (*segments[:-1], replace(segments[-1], head=known))

    def whole(self, version: int) -> tuple[LineSegment, ...]:
        """Return all that was recorded up to a version, on any line, and in what it goes on from."""
        return (*self._origins(version), LineSegment(self._id, version))

    def up_to(self, after: int, as_of: int | None = None) -> tuple[LineSegment, ...]:
        """Return the segments of the main branch as it stood at `as_of`, up to version `after`."""
        return (*self._origins(after), *self._own(as_of or after, after, None))

    def own(self, version: int) -> tuple[list[LineSegment], ConversationForked | None]:
        """Return the conversation's own segments at a version, and what it goes on from."""
        return self._own(version, version, None), self._fork(version)

    def _own(self, as_of: int, cut: int, head: Head | None) -> list[LineSegment]:
        segments: list[LineSegment] = []
        while (adoption := self._last_adoption(as_of, head)) is not None:
            version, event = adoption.version, adoption.event
            if cut >= version:
                segments.append(LineSegment(self._id, cut, after=version - 1))
                cut = version - 1
            if event.begun is not None and cut >= event.begun:
                side = LineSegment(self._id, cut, after=event.begun - 1, line=event.adopted)
                segments.append(side)
            cut = min(cut, event.after)
            as_of, head = event.as_of or event.after, None
        segments.append(LineSegment(self._id, cut))
        segments.reverse()
        return segments

    def _last_adoption(self, as_of: int, head: Head | None) -> Adoption | None:
        if head is not None:
            if not head.adopted:
                return None
            as_of = head.adopted
        if as_of not in self._adoptions:
            self._adoptions[as_of] = next(adoptions_before(self._log, self._id, as_of), None)
        return self._adoptions[as_of]

    def _origins(self, version: int) -> tuple[LineSegment, ...]:
        if self._origin is not None:
            return self._origin
        # A loop, not a recursion: forks of forks may be many, and forged ones may lead back here.
        known, fork = {self._id}, self._fork(version)
        parts: list[list[LineSegment]] = []
        while fork is not None and fork.origin not in known:
            known.add(fork.origin)
            origin = Lineages(self._log, fork.origin)
            part, fork = origin.own(fork.version)
            self._must_be_of_the_tenant_of(origin)
            parts.append(part)
        segments = tuple(segment for part in reversed(parts) for segment in part)
        if version >= BEGINNING:
            self._origin = segments
        return segments

    def _must_be_of_the_tenant_of(self, origin: Lineages) -> None:
        """Refuse what says that it goes on from what another tenant said: CorruptRecord.

        A log takes such an event from whoever may append to it. Nobody shall read the other's words by it.
        Of an origin of which no event is gone on from, nothing is read.
        """
        if origin._tenant is not None and origin._tenant != self._tenant:
            raise CorruptRecord("the conversation claims to go on from one of another tenant")

    def _fork(self, version: int) -> ConversationForked | None:
        """Return what says that the conversation goes on from another one; None if nothing does."""
        fork: ConversationForked | None = None
        if not version:
            return None
        for recorded in self._log.read(self._id, until=min(version, BEGINNING)):
            event = recorded.event()
            self._tenant = self._tenant or recorded.client_header().tenant
            if isinstance(event, ConversationForked) and refers_back(event, recorded.version):
                fork = event
            if isinstance(event, ConversationStarted):
                found = self._tenant, event.key
                if self._by not in (None, found):
                    raise CorruptRecord("its key is another conversation's: run `onrecord verify`")
        return fork


def last_pointed(
    log: Log, conversation_id: UUID, pointer: Pointer, until: int
) -> RecordedEvent | None:
    """Return the last event up to a version whose effect `points` so; None if there is none."""
    events = log.pointed(conversation_id, pointer, until, 1)
    return events[0] if events else None


def adoptions_before(log: Log, conversation_id: UUID, until: int) -> Iterator[Adoption]:
    """Yield the adoptions up to a version that hold, the last one first."""
    while until > 0:
        recorded = last_pointed(log, conversation_id, "adopted", until)
        if recorded is None:
            return
        event = recorded.event()
        if isinstance(event, LineAdopted) and refers_back(event, recorded.version):
            yield Adoption(recorded.version, event)
        until = recorded.version - 1


def lineage(log: Log, conversation_id: UUID, until: int) -> tuple[LineSegment, ...]:
    """Return the segments that a conversation's main branch is made of at a version."""
    return Lineages(log, conversation_id).at(until)


# What later events say of how earlier ones are told: redactions, and the summary of a beginning.
#
# They are found by the head's pointer, the last one first, without reading what lies between.
# Both hold wherever they stand: a redaction for good; a compaction as long as the main branch still
# begins with what it stands for, even where it was recorded on what is given up by now.


class Compaction(NamedTuple):
    """A `HistoryCompacted` that holds, as it was recorded."""

    recorded: RecordedEvent
    event: HistoryCompacted


@dataclass(frozen=True, slots=True)
class Amendments:
    """What holds for a lineage: its redactions, and where its history begins, if not at first."""

    redactions: tuple[RecordedEvent, ...] = ()
    redacted: frozenset[Place] = frozenset()
    compaction: Compaction | None = None

    def recorded(self) -> Iterator[RecordedEvent]:
        """Yield the events that say so, redactions first."""
        yield from self.redactions
        if self.compaction is not None:
            yield self.compaction.recorded

    def told(self) -> Iterator[Told]:
        """Yield the same as a fold takes them."""
        return (recorded.told() for recorded in self.recorded())


NONE: Final = Amendments()

_AT_ONCE: Final = 256
"""How many events are read at once: all are needed, and there may be thousands of redactions."""


def amendments(log: Log, segments: tuple[LineSegment, ...]) -> Amendments:
    """Return what holds for these segments of a main branch; reads what amends, nothing else."""
    redactions: list[RecordedEvent] = []
    redacted: set[Place] = set()
    compaction: Compaction | None = None
    for last in _last_of_each(segments):
        for recorded in _backwards(log, last):
            place = recorded.conversation_id, recorded.version
            match recorded.event():
                case ContentRedacted(version=version) as event if refers_back(
                    event, recorded.version
                ):
                    redactions.append(recorded)
                    redacted.add((recorded.conversation_id, version))
                case HistoryCompacted() as event if (
                    compaction is None
                    and place not in redacted
                    and refers_back(event, recorded.version)
                ):
                    candidate = Compaction(recorded, event)
                    compaction = candidate if _holds(log, segments, candidate) else None
                case _:
                    continue
    return Amendments(tuple(reversed(redactions)), frozenset(redacted), compaction)


def parted(
    segments: tuple[LineSegment, ...], own: UUID, until: int
) -> tuple[tuple[LineSegment, ...], tuple[LineSegment, ...]]:
    """Return the segments up to a version of a conversation, and those behind it."""
    before: list[LineSegment] = []
    behind: list[LineSegment] = []
    for segment in segments:
        is_own = segment.conversation_id == own
        if behind or (is_own and segment.after >= until):
            behind.append(segment)
        elif not is_own or segment.until <= until:
            before.append(segment)
        else:
            before.append(segment.cut_at(until))
            behind.append(replace(segment, after=until))
    return tuple(before), tuple(behind)


def _last_of_each(segments: tuple[LineSegment, ...]) -> Iterator[LineSegment]:
    """Yield the last segment of each conversation, that which was said last first."""
    ids: set[UUID] = set()
    for segment in reversed(segments):
        if segment.conversation_id not in ids:
            ids.add(segment.conversation_id)
            yield segment


def _backwards(log: Log, last: LineSegment) -> Iterator[RecordedEvent]:
    """Yield what amends the events of a conversation up to the end of its last segment."""
    until = last.until if last.head is None else min(last.until, last.head.amended)
    while until and (page := log.pointed(last.conversation_id, "amended", until, _AT_ONCE)):
        yield from page
        until = page[-1].version - 1 if len(page) == _AT_ONCE else 0


def _holds(log: Log, segments: tuple[LineSegment, ...], compaction: Compaction) -> bool:
    """Whether the main branch begins with what a summary stands for, as it was recorded."""
    recorded, until = compaction.recorded, compaction.event.until
    if any(_has(segment, recorded) for segment in segments):
        return True
    then = lineage(log, recorded.conversation_id, recorded.version)
    return _up_to(then, recorded.conversation_id, until) == _up_to(
        segments, recorded.conversation_id, until
    )


def _has(segment: LineSegment, recorded: RecordedEvent) -> bool:
    """Whether a segment of what was said on the main branch has an event."""
    is_own = segment.conversation_id == recorded.conversation_id and segment.line is None
    return is_own and segment.has(recorded.version)


def _up_to(
    segments: tuple[LineSegment, ...], own: UUID, until: int
) -> list[tuple[int, int, UUID | None]]:
    """Return the places of a conversation's segments up to a version, none of them empty."""
    return [
        (segment.after, min(segment.until, until), segment.line)
        for segment in segments
        if segment.conversation_id == own and segment.after < until
    ]


# Events from the last one back, a page at a time: for what is most likely near the end.

_A_PAGE: Final = 256


def backwards(log: Log, segments: Iterable[LineSegment], after: int = 0) -> Iterator[RecordedEvent]:
    """Yield the events of segments, the oldest of which is first, from the last one back.

    Of the last segment only those after a version, and of the others none, where one is given.
    """
    *before, last = segments
    for segment in (last,) if after else (last, *reversed(before)):
        until, first = segment.until, max(segment.after, after)
        while until > first:
            start = max(first, until - _A_PAGE)
            yield from reversed(list(log.read(segment.conversation_id, after=start, until=until)))
            until = start


# How conversations began: under which key, and what each goes on from.
#
# A key stands in the first event of its conversation and nowhere else in clear, so that it goes
# with what is forgotten.


class Beginning(NamedTuple):
    """The key of a conversation, None before its first event and once it was forgotten.

    `origin` is the conversation that it was forked from, if it was.
    """

    key: str | None = None
    origin: UUID | None = None


def beginning_of(log: Log, conversation_id: UUID) -> Beginning:
    """Return how a conversation began."""
    return _beginning(log.read(conversation_id, limit=BEGINNING))


def key_of(log: Log, conversation_id: UUID) -> str | None:
    """Return the key that a conversation began with; None once it was forgotten."""
    return _beginning(log.read(conversation_id, limit=1)).key


def keys_of(log: Log, conversation_ids: Iterable[UUID]) -> dict[UUID, str]:
    """Return the keys of those conversations that have one, as `key_of` does, asking the log once.

    One whose beginning is damaged is left out; all are where the log cannot be read.
    """
    wanted, keys = list(set(conversation_ids)), dict[UUID, str]()
    with suppress(CorruptRecord):
        for first in log.first_events(wanted) if wanted else ():
            with suppress(CorruptRecord):
                key = _beginning((first,)).key
                if key is not None:
                    keys[first.conversation_id] = key
    return keys


def is_forgotten(log: Log, conversation_id: UUID) -> bool:
    """Whether what a conversation said was erased; False where it has not begun."""
    return any(event.body is None for event in log.read(conversation_id, limit=1))


_BEGINNINGS: Final = ("conversation.started", "conversation.forked")


def _beginning(first: Iterable[RecordedEvent]) -> Beginning:
    """Return the beginning that the first events of a conversation tell."""
    beginning = Beginning()
    for recorded in first:
        match recorded.event() if recorded.type in _BEGINNINGS else None:
            case ConversationStarted() as started:
                beginning = beginning._replace(key=started.key)
            case ConversationForked() as forked:
                beginning = beginning._replace(origin=forked.origin)
            case _:
                break
    return beginning
