"""Retention classes as the operators' streams tell of them: of what, how long, by whose word and which rule.

A class counts from the last event of a conversation. That of the conversation itself counts before
that of a label, and that before the tenant's. Of several labels the one that keeps longest counts.
"""

from __future__ import annotations

import calendar
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeAlias
from uuid import UUID

from onrecord.domain.errors import CorruptRecord, counted
from onrecord.domain.events import AnnotationAdded, ContentRedacted
from onrecord.domain.header import microseconds_of, time_of
from onrecord.domain.log import RecordedEvent
from onrecord.domain.marks.marked_ids import operators_of
from onrecord.domain.operators import (
    RetentionClass,
    RetentionCleared,
    RetentionSet,
    decode_fact,
    retention_id,
)
from onrecord.projections.retention.operators_streams import is_foreign

Keyed: TypeAlias = Callable[[str], bytes]
"""The keyed digest of a log."""

_MONTHS: Final[Mapping[str, int]] = {"six-months": 6, "six-years": 72}
_LABELLING: Final = frozenset(("annotation.added", "content.redacted"))


@dataclass(frozen=True, slots=True)
class RetentionEntry:
    """The retention class of a tenant, a conversation or a label, as it was set last.

    `retention_id` is the id of its stream.
    """

    retention_id: UUID
    fact: RetentionSet

    @property
    def keep(self) -> RetentionClass:
        """Return the class: a name, or a number of days."""
        return self.fact.keep

    @property
    def time(self) -> datetime:
        """Return when it was set, in UTC."""
        return time_of(self.fact.at)

    def runs_out(self, moved_at: int) -> int | None:
        """Return when what had its last event at a time need not be kept any more; None for never.

        Both are in microseconds since 1970-01-01 UTC.
        """
        return runs_out(self.keep, moved_at)

    def __str__(self) -> str:
        """Say how long it keeps, and by which rule."""
        return f"{class_text(self.keep)} ({self.fact.rule})"


def class_text(keep: RetentionClass) -> str:
    """Return a class as people read it."""
    return counted(keep, "day") if isinstance(keep, int) else keep


def runs_out(keep: RetentionClass, moved_at: int) -> int | None:
    """Return the end of a class, as `RetentionEntry.runs_out` has it.

    Months are those of the calendar, in UTC: six behind 31 August end with February.
    """
    moved = time_of(moved_at)
    if isinstance(keep, int):
        return microseconds_of(moved + timedelta(days=keep))
    if keep == "unlimited":
        return None
    years, month = divmod(moved.month - 1 + _MONTHS[keep], 12)
    year = moved.year + years
    day = min(moved.day, calendar.monthrange(year, month + 1)[1])
    return microseconds_of(moved.replace(year=year, month=month + 1, day=day))


def longest(entries: Iterable[RetentionEntry], moved_at: int) -> RetentionEntry | None:
    """Return the class that keeps longest; None of none."""

    def end(entry: RetentionEntry) -> tuple[bool, int]:
        at = entry.runs_out(moved_at)
        return at is None, at or 0

    return max(entries, key=end, default=None)


def retention_entry(
    events: Iterable[RecordedEvent], operators: UUID, keyed: Keyed
) -> RetentionEntry | None:
    """Return what a stream of operators sets last, by its events or the last of them; None of none.

    None too where it was taken back, and where the operators of another tenant wrote it.
    CorruptRecord where an event cannot be read, or sets the class of something else.
    """
    entry: RetentionEntry | None = None
    events = list(events)
    if is_foreign(events, operators):
        return None
    for event in events:
        fact = decode_fact(event.type, event.schema_version, event.body or b"")
        if not isinstance(fact, RetentionSet | RetentionCleared):
            raise CorruptRecord("a stream of a retention class tells of something else")
        of = fact.conversation_id, fact.label, fact.value
        is_own = retention_id(keyed, fact.tenant, *of) == event.conversation_id
        if not is_own or operators_of(fact.tenant) != operators:
            raise CorruptRecord("a retention class is of something else than its stream is of")
        entry = None
        if isinstance(fact, RetentionSet):
            entry = RetentionEntry(event.conversation_id, fact)
    return entry


def labels_in(events: Iterable[RecordedEvent]) -> dict[str, str]:
    """Return the labels of a conversation as a whole: of each name the last value.

    Remarks on one event, on side branches, and those that were redacted do not count.
    """
    found: dict[int, dict[str, str]] = {}
    for event in events:
        if event.type not in _LABELLING:
            continue
        match event.event():
            case AnnotationAdded(line=None, version=None, labels=labels):
                found[event.version] = labels
            case ContentRedacted(version=version):
                found.pop(version, None)
            case _:
                continue
    return {name: value for labels in found.values() for name, value in labels.items()}


def labelled(entry: RetentionEntry, labels: Mapping[str, str]) -> bool:
    """Return whether a class of a label is that of a conversation with these labels."""
    fact = entry.fact
    if fact.label is None or fact.label not in labels:
        return False
    return fact.value in (None, labels[fact.label])
