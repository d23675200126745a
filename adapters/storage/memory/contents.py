"""What the store in memory holds: conversations and blobs in dictionaries, and how they are verified."""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Final
from uuid import UUID

from onrecord.adapters.storage.append import referred
from onrecord.domain.actors import ActorName, actor_id
from onrecord.domain.blobs import digest_of
from onrecord.domain.content import Blob, KeyedBlob
from onrecord.domain.encryption.mark import Bodies, bodies_of
from onrecord.domain.errors import CorruptRecord
from onrecord.domain.head import Head, Pointer
from onrecord.domain.inventory import (
    Commitment,
    Moment,
    Oddity,
    StoredBlob,
    StoredChunk,
    StoredEvent,
    StoredHead,
    StoredKey,
    StoredSnapshot,
    commitment_of,
)
from onrecord.domain.log import Append, BlobMissing, CatalogueEntry, RecordedEvent

NO_HEAD: Final = Head()
"""Where a conversation stands that has not begun."""


@dataclass(slots=True)
class Stream:
    """One conversation: its events, what its indexes point at, and what it owns."""

    tenant: UUID
    head: Head = NO_HEAD
    events: list[RecordedEvent] = field(default_factory=list[RecordedEvent])
    onces: dict[bytes, int] = field(default_factory=dict[bytes, int])
    pointed: dict[Pointer, list[int]] = field(default_factory=lambda: defaultdict(list))
    exchanges: list[int] = field(default_factory=list[int])
    forgotten: bool = False

    def keep(self, event: RecordedEvent, points: Pointer | None) -> None:
        """Take in an event that was recorded; a second time, it changes nothing."""
        self.events[event.version - 1 :] = [event]
        if points is not None:
            versions = self.pointed[points]
            versions[bisect_left(versions, event.version) :] = [event.version]
        if event.exchange > len(self.exchanges):
            self.exchanges.append(event.version)

    def latest(self, pointer: Pointer, until: int, limit: int) -> list[RecordedEvent]:
        """Return the last events up to a version that point so, the last one first."""
        versions = self.pointed[pointer]
        place = bisect_right(versions, until)
        last = reversed(versions[max(0, place - limit) : place])
        return [self.events[version - 1] for version in last]

    def erase(self) -> int:
        """Take away what it says, for good; return of how many events."""
        erased = sum(event.body is not None for event in self.events)
        self.events = [event._replace(salt=None, body=None) for event in self.events]
        self.forgotten = True
        self.onces.clear()
        self.head = replace(self.head, open_calls={})
        return erased

    def listed(self, conversation_id: UUID) -> CatalogueEntry:
        """Return it as the catalogue has it."""
        first, last = self.events[0], self.events[-1]
        return CatalogueEntry(conversation_id, self.head, first.recorded_at, last.recorded_at)


def are_in_clear(streams: Mapping[UUID, Stream]) -> bool:
    """Return whether conversations are in clear."""
    events = (event for stream in streams.values() for event in stream.events)
    return bodies_of((event.type, event.header) for event in events) is Bodies.IN_CLEAR


@dataclass(slots=True)
class _Stored:
    data: tuple[bytes, ...]
    stored_at: int
    referenced: bool = False


class MemoryBlobs:
    """Large bytes by the conversation that owns them and their digest."""

    def __init__(self) -> None:
        """Begin with none."""
        self._stored: dict[tuple[UUID, bytes], _Stored] = {}

    def put(self, owner: UUID, blob: Blob | KeyedBlob, data: tuple[bytes, ...]) -> None:
        """Keep the pieces of a blob; those that are there already stay, and are new again."""
        now = _monotonic()
        self._stored.setdefault((owner, digest_of(blob)), _Stored(data, now)).stored_at = now

    def get(self, owner: UUID, blob: Blob | KeyedBlob) -> tuple[bytes, ...] | None:
        """Return the pieces of a blob, or None."""
        stored = self._stored.get((owner, digest_of(blob)))
        return None if stored is None else stored.data

    def missing(self, append: Append) -> BlobMissing | None:
        """Return the first blob that an append refers to and that is not there."""
        stored = [self.get(append.conversation_id, blob) for blob in referred(append)]
        return BlobMissing(stored.index(None)) if None in stored else None

    def read(self, owner: UUID, blob: Blob | KeyedBlob) -> tuple[bytes, ...]:
        """Return the pieces of a blob; CorruptRecord where it is not there."""
        data = self.get(owner, blob)
        if data is None:
            raise CorruptRecord("the bytes of a document are missing: restore them from a backup")
        return data

    def refer(self, owner: UUID, blobs: Iterable[Blob | KeyedBlob]) -> None:
        """Take note that an event refers to blobs: no sweep takes them."""
        for blob in blobs:
            if (stored := self._stored.get((owner, digest_of(blob)))) is not None:
                stored.referenced = True

    def sweep(self, age: int) -> int:
        """Delete what no event refers to and was stored so long ago; return how many went."""
        before, last = len(self._stored), _monotonic() - age
        self._stored = {
            place: stored
            for place, stored in self._stored.items()
            if stored.referenced or stored.stored_at > last
        }
        return before - len(self._stored)

    def stored(self, owner: UUID, tenant: UUID) -> dict[StoredBlob, tuple[bytes, ...]]:
        """Return the blobs of a conversation as rows, each with its pieces."""
        return {
            StoredBlob(
                digest.hex(),
                tenant,
                0,
                digest,
                None,
                content.referenced,
                content.stored_at,
            ): content.data
            for (holder, digest), content in self._stored.items()
            if holder == owner
        }

    def forget(self, owner: UUID) -> None:
        """Delete all that a conversation owns."""
        self._stored = {
            place: content for place, content in self._stored.items() if place[0] != owner
        }


def _monotonic() -> int:
    return time.monotonic_ns() // 1000


SHARD: Final = 0


@dataclass(frozen=True, slots=True)
class StoredConversation:
    """A conversation: its head, its events, its keys, and its blobs with their parts."""

    head: StoredHead
    events: Sequence[StoredEvent]
    keys: Sequence[StoredKey]
    blobs: Mapping[StoredBlob, Sequence[bytes]]
    erasures: int


class MemoryActors:
    """The names of those who act, by tenant and digest; each step is one of a dict."""

    def __init__(self) -> None:
        """Know nobody."""
        self._names: dict[tuple[UUID, bytes], str] = {}

    def keep(self, tenant: UUID, digest: bytes, name: str) -> None:
        """Keep the name that a digest is of; one that is there stays."""
        self._names.setdefault((tenant, digest), name)

    def names(self, tenant: UUID, digests: Sequence[bytes]) -> dict[bytes, str]:
        """Return the names that digests are of, as far as they are there."""
        found = {digest: self._names.get((tenant, digest)) for digest in digests}
        return {digest: name for digest, name in found.items() if name is not None}

    def forget(self, id_: UUID) -> None:
        """Erase the name that has an id; of a conversation there is none."""
        for tenant, digest in list(self._names):
            if actor_id(tenant, digest) == id_:
                self._names.pop((tenant, digest), None)

    def stored(self) -> Iterator[ActorName]:
        """Yield all that is kept."""
        for (tenant, digest), name in list(self._names.items()):
            yield ActorName(tenant.bytes, digest, actor_id(tenant, digest).bytes, name.encode())


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
        _stored(
            conversation_id,
            stream,
            named.get(conversation_id, []),
            blobs,
            erasures[conversation_id],
        )
        for conversation_id, stream in streams.items()
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
    head = StoredHead(conversation_id, stream.tenant, SHARD, stream.head, *times, stream.forgotten)
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

    def commitments(self, shard: int, after: int, limit: int) -> list[Commitment]:
        """Return what commits to events in order of position, to those behind a position."""
        return [commitment_of(stored.event) for stored in self.log(shard, after, limit)]

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

    def shows_operators(self) -> bool:
        """Return True: who has the process has all of it."""
        return True

    def shows_all_tenants(self) -> bool:
        """Return True: who has the process has all of it."""
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
        stored = self._of.get(conversation_id)
        return None if stored is None else stored.head

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
