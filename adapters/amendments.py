"""What later events say of how earlier ones are told: redactions, and the summary of a beginning.

They are found by the head's pointer, the last one first, without reading what lies between. Both
hold wherever they stand: a redaction for good; a compaction as long as the main line still begins
with what it stands for, even where it was recorded on what is given up by now.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from onrecord.adapters.lineage import Stretch, lineage
from onrecord.domain.events import ContentRedacted, HistoryCompacted
from onrecord.domain.log import Log, RecordedEvent, Told
from onrecord.domain.references import refers_back
from onrecord.projections.history.responses import Place


@dataclass(frozen=True, slots=True)
class Compaction:
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


def amendments(log: Log, stretches: tuple[Stretch, ...]) -> Amendments:
    """Return what holds for these stretches of a main line; reads what amends, nothing else."""
    redactions: list[RecordedEvent] = []
    redacted: set[Place] = set()
    compaction: Compaction | None = None
    for last in _last_of_each(stretches):
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
                    found = Compaction(recorded, event)
                    compaction = found if _holds(log, stretches, found) else None
                case _:
                    continue
    return Amendments(tuple(reversed(redactions)), frozenset(redacted), compaction)


def parted(
    stretches: tuple[Stretch, ...], own: UUID, until: int
) -> tuple[tuple[Stretch, ...], tuple[Stretch, ...]]:
    """Return the stretches up to a version of a conversation, and those behind it."""
    before: list[Stretch] = []
    behind: list[Stretch] = []
    for stretch in stretches:
        is_own = stretch.conversation_id == own
        if behind or (is_own and stretch.after >= until):
            behind.append(stretch)
        elif not is_own or stretch.until <= until:
            before.append(stretch)
        else:
            before.append(replace(stretch, until=until, head=None))
            behind.append(replace(stretch, after=until))
    return tuple(before), tuple(behind)


def _last_of_each(stretches: tuple[Stretch, ...]) -> Iterator[Stretch]:
    """Yield the last stretch of each conversation, that which was said last first."""
    seen: set[UUID] = set()
    for stretch in reversed(stretches):
        if stretch.conversation_id not in seen:
            seen.add(stretch.conversation_id)
            yield stretch


def _backwards(log: Log, last: Stretch) -> Iterator[RecordedEvent]:
    """Yield what amends the events of a conversation up to the end of its last stretch."""
    until = last.until if last.head is None else min(last.until, last.head.amended)
    while until and (found := log.pointed(last.conversation_id, "amended", until, _AT_ONCE)):
        yield from found
        until = found[-1].version - 1 if len(found) == _AT_ONCE else 0


def _holds(log: Log, stretches: tuple[Stretch, ...], compaction: Compaction) -> bool:
    """Whether the main line begins with what a summary stands for, as it was recorded."""
    recorded, until = compaction.recorded, compaction.event.until
    if any(_has(stretch, recorded) for stretch in stretches):
        return True
    then = lineage(log, recorded.conversation_id, recorded.version)
    return _up_to(then, recorded.conversation_id, until) == _up_to(
        stretches, recorded.conversation_id, until
    )


def _has(stretch: Stretch, recorded: RecordedEvent) -> bool:
    """Whether a stretch of what was said on the main line has an event."""
    is_own = stretch.conversation_id == recorded.conversation_id and stretch.line is None
    return is_own and stretch.after < recorded.version <= stretch.until


def _up_to(
    stretches: tuple[Stretch, ...], own: UUID, until: int
) -> list[tuple[int, int, UUID | None]]:
    """Return the places of a conversation's stretches up to a version, none of them empty."""
    return [
        (stretch.after, min(stretch.until, until), stretch.line)
        for stretch in stretches
        if stretch.conversation_id == own and stretch.after < until
    ]
