"""Which conversations are to go, and what keeps them: a walk over all that a tenant has, which changes nothing.

Memory holds the retention classes of labels, and one page of conversations.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from onrecord.adapters.inputs.arguments import of_kind, text_if_given
from onrecord.adapters.streams.lineage import key_of
from onrecord.adapters.upkeep.archives import ArchivedConversation
from onrecord.adapters.upkeep.holds import hold_on
from onrecord.adapters.upkeep.known_forks import heads
from onrecord.domain.errors import CorruptRecord, InvalidInput
from onrecord.domain.header import microseconds_of
from onrecord.domain.inventory import StoredHead
from onrecord.domain.log import Backend
from onrecord.domain.marks.marked_ids import is_retention, operators_of
from onrecord.domain.operators import retention_id
from onrecord.projections.retention.hold_records import HoldEntry
from onrecord.projections.retention.retention_records import (
    RetentionEntry,
    labelled,
    labels_in,
    longest,
    retention_entry,
)

logger = logging.getLogger("onrecord")


@dataclass(frozen=True, slots=True)
class Disposition:
    """A conversation whose time has come, and what became of it.

    `key` is its key, `events` how many it has or had, `moved_at` when the last of them was recorded, in
    microseconds since 1970-01-01 UTC. `retention` is the class that it goes by, if it has one, and
    `is_early` says that it has not run out. `hold` is what keeps it. `archive` is there where one was
    written. `is_erased` says whether it is gone, `fault` why it was left alone.
    """

    conversation_id: UUID
    key: str | None
    events: int
    moved_at: int
    retention: RetentionEntry | None = None
    hold: HoldEntry | None = None
    archive: ArchivedConversation | None = None
    is_erased: bool = False
    is_early: bool = False
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class DispositionResult:
    """How many conversations were erased and archived, how many a hold kept, and what is left.

    `events` is how many events were erased; `residue` is as a `ForgetResult` has it. `left` is how many
    were left alone: something was recorded in them meanwhile, or they could not be archived.
    """

    erased: int
    events: int
    archived: int
    kept: int
    left: int
    residue: tuple[str, ...]


def unseen(_: Disposition) -> None:
    """Let a disposition pass."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which conversations are chosen: those that moved last before `end`, by key, by their class.

    InvalidInput where nothing chooses.
    """

    end: int | None
    prefix: str | None
    expired: bool

    def __post_init__(self) -> None:
        """Refuse to choose all."""
        if self.end is None and self.prefix is None and not self.expired:
            raise InvalidInput(
                "say which conversations: by before=, older_than=, prefix= or expired="
            )

    def takes(self, one: Disposition) -> bool:
        """Return whether a conversation is chosen by its key and its class, as far as they can be told."""
        if one.fault is not None:
            return True
        if self.prefix is not None and not (one.key or "").startswith(self.prefix):
            return False
        return not self.expired or (one.retention is not None and not one.is_early)


def choice(
    backend: Backend,
    before: datetime | None,
    older_than: timedelta | None,
    prefix: str | None,
    *,
    expired: bool,
) -> Choice:
    """Return what is chosen, as `StoreRetention.due` has it."""
    end = _end(backend, before, older_than)
    return Choice(end, text_if_given("a prefix", prefix), bool(expired))


def _end(backend: Backend, before: datetime | None, older_than: timedelta | None) -> int | None:
    ends: list[int] = []
    if before is not None:
        if of_kind(datetime, "before", before).tzinfo is None:
            raise InvalidInput("before= is a time with a zone: give it tzinfo, such as UTC")
        ends.append(microseconds_of(before))
    if older_than is not None:
        age = of_kind(timedelta, "older_than", older_than) // timedelta(microseconds=1)
        if age < 0:
            raise InvalidInput("older_than= is a time that has passed: give it as 0 or more")
        ends.append(backend.clock() - age)
    return min(ends, default=None)


class RetentionClasses:
    """The retention classes of a tenant, as they are now."""

    def __init__(self, backend: Backend, tenant: UUID) -> None:
        """Read them from the operators' stream of a tenant."""
        self._backend = backend
        self._tenant = tenant
        self._operators = operators_of(tenant)

    def all(self) -> Iterator[RetentionEntry]:
        """Yield those of the tenant, of its labels and of its conversations."""
        for stream in self._backend.open_conversations(self._operators):
            entry = self.set_in(stream) if is_retention(stream) else None
            if entry is not None:
                yield entry

    def of_labels(self) -> list[RetentionEntry]:
        """Return those of labels."""
        return [entry for entry in self.all() if entry.fact.label is not None]

    def set_in(self, stream: UUID) -> RetentionEntry | None:
        """Return what a stream sets last, by its last event."""
        last = self._backend.head(stream).version
        events = self._backend.read(stream, after=last - 1) if last else ()
        return retention_entry(events, self._operators, self._backend.digest)

    def of_conversation(
        self, conversation_id: UUID, moved_at: int, of_labels: list[RetentionEntry]
    ) -> RetentionEntry | None:
        """Return the one that a conversation goes by: its own, that of a label, or the tenant's."""
        keyed = self._backend.digest
        own = self.set_in(retention_id(keyed, self._tenant, conversation_id))
        if own is not None:
            return own
        labels = labels_in(self._backend.read(conversation_id)) if of_labels else {}
        borne = longest((entry for entry in of_labels if labelled(entry, labels)), moved_at)
        return borne or self.set_in(retention_id(keyed, self._tenant))


def chosen(
    backend: Backend,
    tenant: UUID,
    wanted: Choice,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[Disposition]:
    """Yield the conversations that are chosen, in the order of their ids, with what keeps them.

    One that cannot be read has a fault: whether it is chosen by its key or its class cannot be told.
    """
    now, classes = backend.clock(), RetentionClasses(backend, tenant)
    of_labels = classes.of_labels()
    total = 0 if progress is None else sum(1 for _ in heads(backend, tenant))
    for number, head in enumerate(heads(backend, tenant), 1):
        if progress is not None:
            progress(number, max(total, number))
        if head.forgotten or (wanted.end is not None and head.recorded_at >= wanted.end):
            continue
        one = _disposition(backend, head, classes, of_labels, now)
        if wanted.takes(one):
            yield one


def _disposition(
    backend: Backend,
    head: StoredHead,
    classes: RetentionClasses,
    of_labels: list[RetentionEntry],
    now: int,
) -> Disposition:
    id_, moved_at, events = head.conversation_id, head.recorded_at, head.head.version
    try:
        key, hold = key_of(backend, id_), hold_on(backend, head.tenant, id_)
        retention = classes.of_conversation(id_, moved_at, of_labels)
    except CorruptRecord as error:
        logger.warning("%s is left alone, for it cannot be read: %s", id_, error)
        return Disposition(id_, None, events, moved_at, fault=f"it cannot be read: {error}")
    is_early = retention is not None and is_before_its_end(retention, moved_at, now)
    return Disposition(id_, key, events, moved_at, retention, hold, is_early=is_early)


def is_before_its_end(entry: RetentionEntry, moved_at: int, now: int) -> bool:
    """Return whether a class has not run out yet, of what had its last event at a time."""
    end = entry.runs_out(moved_at)
    return end is None or now < end


def unexpired_class(backend: Backend, tenant: UUID, conversation_id: UUID) -> RetentionEntry | None:
    """Return the class that a conversation goes by, where it has not run out; None where that cannot be told."""
    classes = RetentionClasses(backend, tenant)
    try:
        version = backend.head(conversation_id).version
        last = next(backend.read(conversation_id, after=version - 1, limit=1), None)
        if last is None or last.body is None:
            return None
        moved_at = last.recorded_at
        entry = classes.of_conversation(conversation_id, moved_at, classes.of_labels())
    except CorruptRecord:
        return None
    is_early = entry is not None and is_before_its_end(entry, moved_at, backend.clock())
    return entry if is_early else None
