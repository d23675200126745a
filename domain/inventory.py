"""What a log stores, row by row, as `onrecord verify` reads it: nothing left out, nothing trusted.

The verbs of a log answer from columns that are derived from the events, and from tables beside
them. These rows hold all of that, so that it can be compared with what the events say.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Final, NamedTuple, Protocol
from uuid import UUID

from onrecord.domain.head import Head
from onrecord.domain.log import RecordedEvent

_PAGE: Final = 256
_BEFORE_ALL: Final = -(2**63)


class StoredEvent(NamedTuple):
    """An event and the columns beside it; None where a backend has no such column.

    `pointer` is what the head points at since this event, `once` a keyed digest. `begun` says
    whether there is a head of its conversation that has come as far.
    """

    event: RecordedEvent
    tenant: UUID | None
    pointer: str | None
    opens_exchange: bool | None
    once: bytes | None
    begun: bool = True


class Commitment(NamedTuple):
    """What commits to an event, and what it commits to: all that a seal needs. Members as of `RecordedEvent`."""

    position: int
    version: int
    recorded_at: int
    header: bytes
    digest: bytes
    leaf: bytes
    salt: bytes | None
    body: bytes | None


def commitment_of(event: RecordedEvent) -> Commitment:
    """Return what commits to an event."""
    return Commitment(
        event.position,
        event.version,
        event.recorded_at,
        event.header,
        event.digest,
        event.leaf,
        event.salt,
        event.body,
    )


class StoredHead(NamedTuple):
    """Where a conversation stands, by the row that says so."""

    conversation_id: UUID
    tenant: UUID
    shard: int
    head: Head
    position: int
    started_at: int
    recorded_at: int
    forgotten: bool


class StoredKey(NamedTuple):
    """A caller's name for a conversation, as its keyed digest."""

    tenant: UUID
    digest: bytes


class StoredBlob(NamedTuple):
    """Large bytes of a conversation; `digest` is None until the last of them have come.

    `row` names it to its backend. `size` is None where that is not stored.
    """

    row: str
    tenant: UUID
    shard: int
    digest: bytes | None
    size: int | None
    referenced: bool
    stored_at: int


class StoredChunk(NamedTuple):
    """A part of a blob's bytes."""

    number: int
    tenant: UUID | None
    data: bytes


class StoredSnapshot(NamedTuple):
    """A snapshot of an aggregate of `eventsourcing`; `tenant` is None where that is not stored."""

    tenant: UUID | None
    version: int


class Oddity(NamedTuple):
    """What does not hold of rows that belong to no conversation, or to one that has not begun."""

    conversation_id: UUID | None
    why: str


class Moment(Protocol):
    """The log as it was at one moment, whoever writes meanwhile."""

    def heads(self, after: UUID | None, limit: int) -> list[StoredHead]:
        """Return heads of all tenants in the order of their ids, those behind an id."""
        ...

    def head(self, conversation_id: UUID) -> StoredHead | None:
        """Return the head of a conversation, or None."""
        ...

    def events(self, of: StoredHead, after: int, limit: int) -> list[StoredEvent]:
        """Return events of a conversation in order of version, those behind a version."""
        ...

    def keys(self, of: StoredHead) -> list[StoredKey]:
        """Return the names that the catalogue has of a conversation."""
        ...

    def blobs(self, of: StoredHead) -> list[StoredBlob]:
        """Return the blobs of a conversation, those that are still arriving too."""
        ...

    def erasures(self, of: StoredHead) -> int:
        """Return how many erasures are noted of a conversation."""
        ...

    def snapshots(self, of: StoredHead) -> list[StoredSnapshot]:
        """Return the snapshots of an aggregate."""
        ...


class Inventory(Protocol):
    """All that a log stores."""

    def moment(self) -> AbstractContextManager[Moment]:
        """Lend the log as it is now, for a short while: what is erased meanwhile stays on the disk."""
        ...

    def chunks(self, of: StoredHead, blob: StoredBlob) -> Iterator[StoredChunk]:
        """Yield the parts of a blob in their order, each read by itself: they may go meanwhile."""
        ...

    def log(self, shard: int, after: int, limit: int) -> list[StoredEvent]:
        """Return events of a shard in order of position, those behind a position."""
        ...

    def commitments(self, shard: int, after: int, limit: int) -> list[Commitment]:
        """Return the same as `log`, and of each event only what commits to it: that is read sooner."""
        ...

    def oddities(self) -> Iterator[Oddity]:
        """Yield what does not hold of all that no conversation has of its own."""
        ...

    def seen(self) -> list[str]:
        """Return what `oddities` looked at beside rows, a sentence each."""
        ...

    def erased_unbegun(self) -> list[UUID]:
        """Return the conversations of which an erasure is noted, and that never began."""
        ...

    def is_marked(self) -> bool:
        """Return whether something beside the log would tell that it was cut."""
        ...

    def shows_operators(self) -> bool:
        """Return whether whoever connected sees what operators recorded, keys of the service too."""
        ...

    def shows_all_tenants(self) -> bool:
        """Return whether whoever connected sees the events of all tenants, at all positions."""
        ...

    def unseen(self) -> list[str]:
        """Return what could not be checked here, a sentence each."""
        ...


def events_at(moment: Moment, head: StoredHead) -> Iterator[StoredEvent]:
    """Yield the events of a conversation as they are at a moment, in order of version."""
    after = _BEFORE_ALL
    while page := moment.events(head, after, _PAGE):
        yield from page
        after = page[-1].event.version


def recorded_at_moment(moment: Moment, conversation_id: UUID) -> list[RecordedEvent]:
    """Return the events of a conversation as they are at a moment; none where it has no head."""
    head = moment.head(conversation_id)
    return [] if head is None else [stored.event for stored in events_at(moment, head)]
