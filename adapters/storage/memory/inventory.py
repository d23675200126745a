"""All that a store in dictionaries holds, row by row, for `onrecord verify`."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Final, Protocol
from uuid import UUID

from onrecord.adapters.storage.memory.blobs import MemoryBlobs
from onrecord.domain.head import Head, Pointer
from onrecord.domain.inventory import (
    Moment,
    Oddity,
    StoredBlob,
    StoredChunk,
    StoredEvent,
    StoredHead,
    StoredKey,
    StoredSnapshot,
)
from onrecord.domain.log import RecordedEvent

_SHARD: Final = 0


@dataclass(frozen=True, slots=True)
class StoredConversation:
    """A conversation: its head, its events, its keys, and its blobs with their parts."""

    head: StoredHead
    events: Sequence[StoredEvent]
    keys: Sequence[StoredKey]
    blobs: Mapping[StoredBlob, Sequence[bytes]]
    erasures: int


class Stream(Protocol):
    """A conversation as the store keeps it: its events, and what its indexes point at."""

    tenant: UUID
    head: Head
    events: list[RecordedEvent]
    onces: dict[bytes, int]
    pointed: dict[Pointer, list[int]]
    forgotten: bool


def inventory_of(
    streams: Mapping[UUID, Stream],
    keys: Mapping[tuple[UUID, bytes], UUID],
    blobs: MemoryBlobs,
    erased: Iterable[UUID],
) -> MemoryInventory:
    """Return all that is stored as rows; whoever calls holds the store's lock."""
    named: defaultdict[UUID, list[StoredKey]] = defaultdict(list)
    for key, owner in keys.items():
        named[owner].append(StoredKey(*key))
    erasures = Counter(erased)
    return MemoryInventory(
        _stored(of, stream, named.get(of, []), blobs, erasures[of])
        for of, stream in streams.items()
    )


def _stored(
    conversation_id: UUID,
    stream: Stream,
    keys: Sequence[StoredKey],
    blobs: MemoryBlobs,
    erasures: int,
) -> StoredConversation:
    first, last = stream.events[0], stream.events[-1]
    times = (last.position, first.recorded_at, last.recorded_at)
    head = StoredHead(conversation_id, stream.tenant, _SHARD, stream.head, *times, stream.forgotten)
    onces = {version: once for once, version in stream.onces.items()}
    pointers = {at: name for name, versions in stream.pointed.items() for at in versions}
    events = [
        StoredEvent(event, None, pointers.get(event.version), None, onces.get(event.version))
        for event in stream.events
    ]
    owned = blobs.stored(conversation_id, stream.tenant)
    return StoredConversation(head, events, keys, owned, erasures)


class MemoryInventory:
    """The rows of a store as they were when they were asked for: that is its moment."""

    def __init__(self, conversations: Iterable[StoredConversation]) -> None:
        """Read what nobody changes meanwhile."""
        self._of = {one.head.conversation_id: one for one in conversations}
        self._heads = sorted((one.head for one in self._of.values()), key=lambda head: head[0])
        events = (event for one in self._of.values() for event in one.events)
        self._log = sorted(events, key=lambda stored: stored.event.position)

    def moment(self) -> AbstractContextManager[Moment]:
        """Lend the store as it was."""
        return nullcontext(self)

    def log(self, shard: int, after: int, limit: int) -> list[StoredEvent]:
        """Return events in order of position, those behind a position."""
        return self._log[after : after + limit]

    def oddities(self) -> Iterator[Oddity]:
        """Yield nothing: whatever is kept is kept for a conversation."""
        yield from ()

    def seen(self) -> list[str]:
        """Return nothing: there is no database to look at."""
        return []

    def erased_unbegun(self) -> list[UUID]:
        """Return nothing: what never began leaves nothing behind."""
        return []

    def is_marked(self) -> bool:
        """Return True: nobody else can reach it."""
        return True

    def unseen(self) -> list[str]:
        """Return nothing: all of it was checked."""
        return []

    def heads(self, after: UUID | None, limit: int) -> list[StoredHead]:
        """Return heads in the order of their ids, those behind an id."""
        place = 0 if after is None else bisect_right(self._heads, after, key=lambda head: head[0])
        return self._heads[place : place + limit]

    def head(self, conversation_id: UUID) -> StoredHead | None:
        """Return the head of a conversation, or None."""
        found = self._of.get(conversation_id)
        return None if found is None else found.head

    def events(self, of: StoredHead, after: int, limit: int) -> list[StoredEvent]:
        """Return events of a conversation in order of version, those behind a version."""
        place = max(after, 0)
        return list(self._of[of.conversation_id].events[place : place + limit])

    def keys(self, of: StoredHead) -> list[StoredKey]:
        """Return the names that the catalogue has of a conversation."""
        return list(self._of[of.conversation_id].keys)

    def blobs(self, of: StoredHead) -> list[StoredBlob]:
        """Return the blobs of a conversation."""
        return list(self._of[of.conversation_id].blobs)

    def chunks(self, of: StoredHead, blob: StoredBlob) -> Iterator[StoredChunk]:
        """Yield the parts of a blob in their order."""
        for number, data in enumerate(self._of[of.conversation_id].blobs[blob]):
            yield StoredChunk(number, None, data)

    def erasures(self, of: StoredHead) -> int:
        """Return how many erasures are noted of a conversation."""
        return self._of[of.conversation_id].erasures

    def snapshots(self, of: StoredHead) -> list[StoredSnapshot]:
        """Return nothing: there are none."""
        return []
