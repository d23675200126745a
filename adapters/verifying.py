"""A store checked against what it committed to: its events, its documents, its heads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from onrecord.adapters.lineage import Lineages
from onrecord.domain.content import Blob
from onrecord.domain.draft import blobs_of
from onrecord.domain.errors import CorruptRecord
from onrecord.domain.events import RequestSent
from onrecord.domain.log import Backend, Cursor, RecordedEvent
from onrecord.domain.registry import Erased, Unrecognised
from onrecord.projections.verification import (
    Fault,
    Folded,
    Happened,
    event_faults,
    fold_event,
    happened_in,
    head_faults,
    position_fault,
)

_PAGE: Final = 256


@dataclass(frozen=True, slots=True)
class Verified:
    """What was checked, and what does not hold; `is_whole` if all does."""

    events: int
    erased: int
    conversations: int
    faults: tuple[Fault, ...]

    @property
    def is_whole(self) -> bool:
        """Whether all that was checked holds."""
        return not self.faults


def verify_log(backend: Backend, tenant: UUID) -> Verified:
    """Check all events of all shards, and every conversation that they or the catalogue name.

    Events that are recorded meanwhile are checked if a head tells of them.
    """
    check = _Check(backend)
    for last in backend.cursors():
        check.shard(last)
    for listed in backend.conversations(tenant):
        check.begin(listed.conversation_id)
    return check.done()


def verify_conversation(backend: Backend, conversation_id: UUID) -> Verified:
    """Check the events of one conversation, its documents and its head."""
    check = _Check(backend)
    check.begin(conversation_id)
    return check.done()


class _Check:
    """The folds of all conversations that were met, and the faults found so far."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._folds: dict[UUID, Folded] = {}
        self._sound: set[tuple[UUID, Blob]] = set()
        self._missed: set[tuple[UUID, Blob]] = set()
        self._faults: list[Fault] = []
        self._events = self._erased = 0

    def begin(self, conversation_id: UUID) -> None:
        """Take up a conversation, of which no event may be there."""
        self._folds.setdefault(conversation_id, Folded(conversation_id))

    def shard(self, last: Cursor) -> None:
        """Check the events of a shard, up to what was its last position."""
        position = 0
        for event in _shard(self._backend, last):
            self._add(position_fault(event, position))
            position = event.position
            self._take(event)

    def done(self) -> Verified:
        """Compare each head with its events, and return what was found."""
        for conversation_id in list(self._folds):
            self._head(conversation_id)
        return Verified(self._events, self._erased, len(self._folds), tuple(self._faults))

    def _head(self, conversation_id: UUID) -> None:
        """Compare a head with its events, those included that came after the log was read."""
        head = self._backend.head(conversation_id)
        known = self._folds[conversation_id].head.version
        for event in self._backend.read(conversation_id, after=known, until=head.version):
            self._take(event)
        folded = self._folds[conversation_id]
        faults = list(head_faults(folded, head))
        if faults and self._is_erased(conversation_id, head.version):  # Meanwhile, maybe.
            faults = list(head_faults(replace(folded, is_known=False), head))
        self._faults += faults

    def _take(self, event: RecordedEvent) -> None:
        self._events += 1
        self._erased += event.body is None
        happened = happened_in(event)
        self._faults += event_faults(event, happened)
        self.begin(event.conversation_id)
        folded, fault = fold_event(self._folds[event.conversation_id], event, happened)
        self._folds[event.conversation_id] = folded
        self._add(fault)
        self._documents(event, happened)

    def _documents(self, event: RecordedEvent, happened: Happened | None) -> None:
        if happened is None or isinstance(happened, Erased | Unrecognised):
            return
        for blob in blobs_of(happened):
            place = (event.conversation_id, blob)
            if place in self._missed or self._is_sound(*place):
                continue
            if isinstance(happened, RequestSent) and self._is_of_origin(event, blob):
                continue
            if self._is_erased(event.conversation_id, event.version):  # Meanwhile.
                continue
            self._missed.add(place)
            why = f"the blob {blob.sha256} is missing or damaged"
            self._add(Fault(event.conversation_id, event.version, why))

    def _is_sound(self, conversation_id: UUID, blob: Blob) -> bool:
        """Return whether a conversation owns a blob that can be read; once known, not read again."""
        place = (conversation_id, blob)
        if place not in self._sound and _is_readable(self._backend, *place):
            self._sound.add(place)
        return place in self._sound

    def _is_of_origin(self, event: RecordedEvent, blob: Blob) -> bool:
        """Return whether what it was forked from owns a blob, or was erased, maybe with it.

        Only requests repeat what an origin owns; all else that an event names is its own.
        """
        try:
            origins = Lineages(self._backend, event.conversation_id).whole(event.version)[:-1]
        except CorruptRecord:
            return False
        return any(
            self._is_sound(origin.conversation_id, blob)
            or self._is_erased(origin.conversation_id, origin.until)
            for origin in origins
        )

    def _is_erased(self, conversation_id: UUID, version: int) -> bool:
        """Return whether an event is erased by now: its conversation may be forgotten any time."""
        found = self._backend.read(conversation_id, after=version - 1, until=version)
        return any(event.body is None for event in found)

    def _add(self, fault: Fault | None) -> None:
        if fault is not None:
            self._faults.append(fault)


def _is_readable(backend: Backend, conversation_id: UUID, blob: Blob) -> bool:
    try:
        for _ in backend.get_blob(conversation_id, blob):
            pass
    except CorruptRecord:
        return False
    return True


def _shard(backend: Backend, last: Cursor) -> Iterator[RecordedEvent]:
    after = Cursor(last.incarnation, last.shard, 0)
    while after.position < last.position:
        page = backend.read_log(after, min(_PAGE, last.position - after.position))
        if not page:
            return
        yield from page
        after = Cursor(last.incarnation, last.shard, page[-1].position)
