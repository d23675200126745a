"""Legal holds as the operators' streams tell of them: on what, for which matter, who, when and why.

A hold keeps what it is on from the position at which it was placed to that at which it was lifted. So
whether it was in force before something else was recorded is told by the log, and by no clock.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from onrecord.domain.errors import CorruptRecord
from onrecord.domain.header import time_of
from onrecord.domain.log import RecordedEvent
from onrecord.domain.marks.marked_ids import hold_id, operators_of
from onrecord.domain.operators import HoldLifted, HoldPlaced, decode_fact
from onrecord.projections.retention.operators_streams import is_foreign


@dataclass(frozen=True, slots=True)
class HoldEntry:
    """A legal hold; `lifted` is None while it is in force.

    `hold_id` is the id of its stream. `position` and `lifted_position` are those in the shard at which it
    was placed and lifted.
    """

    hold_id: UUID
    placed: HoldPlaced
    position: int
    lifted: HoldLifted | None = None
    lifted_position: int | None = None

    @property
    def conversation_id(self) -> UUID | None:
        """Return the id of the conversation that it is on; None where it is on all of the tenant's."""
        return self.placed.conversation_id

    @property
    def placed_time(self) -> datetime:
        """Return when it was placed, in UTC."""
        return time_of(self.placed.at)

    @property
    def lifted_time(self) -> datetime | None:
        """Return when it was lifted, in UTC; None while it is in force."""
        return None if self.lifted is None else time_of(self.lifted.at)

    def was_in_force(self, position: int | None = None) -> bool:
        """Return whether it was in force before a position in its shard; without one, whether it is now."""
        if position is None:
            return self.lifted is None
        ends = self.lifted_position
        return self.position < position and (ends is None or position < ends)

    def __str__(self) -> str:
        """Say which hold it is."""
        return f"the legal hold {self.placed.matter!r} ({self.hold_id})"


def hold_entry(events: Iterable[RecordedEvent], operators: UUID) -> HoldEntry | None:
    """Return the hold that a stream of an operators' stream tells of; None where it has no events.

    None too where the operators of another tenant wrote it.
    CorruptRecord where its events cannot be read, or do not make the hold that the stream is of.
    """
    entry: HoldEntry | None = None
    events = list(events)
    if is_foreign(events, operators):
        return None
    for event in events:
        match decode_fact(event.type, event.schema_version, event.body or b""):
            case HoldPlaced() as placed if entry is None:
                entry = HoldEntry(event.conversation_id, placed, event.position)
                _must_be_of_its_stream(entry, operators)
            case HoldLifted() as lifted if entry is not None and _ends(entry, lifted):
                entry = replace(entry, lifted=lifted, lifted_position=event.position)
            case _:
                raise CorruptRecord("the events of a hold are not in their order")
    return entry


def _must_be_of_its_stream(entry: HoldEntry, operators: UUID) -> None:
    placed = entry.placed
    stream = hold_id(placed.tenant, placed.conversation_id, placed.number)
    if stream != entry.hold_id or operators_of(placed.tenant) != operators:
        raise CorruptRecord("a hold is on something else than its stream is of")


def _ends(entry: HoldEntry, lifted: HoldLifted) -> bool:
    placed = entry.placed
    own = (placed.tenant, placed.conversation_id)
    return entry.lifted is None and (lifted.tenant, lifted.conversation_id) == own
