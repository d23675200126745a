"""A store in dictionaries: the log's rules in their plainest form, for tests and trials of one process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeVar
from uuid import UUID

from uuid_utils.compat import uuid4, uuid7

from onrecord.adapters.storage.append import (
    Known,
    Place,
    Proof,
    Recording,
    keyed_digest,
    must_be_forgettable,
    must_take_clear,
    new_digest_key,
    pieces,
    prover_of,
    record,
    refusal,
    under_destroyed_key,
    verified,
)
from onrecord.adapters.storage.clocks import WatchedClock
from onrecord.adapters.storage.memory.appends import must_all_be_encrypted, must_be_own, must_take
from onrecord.adapters.storage.memory.contents import (
    NO_HEAD,
    SHARD,
    MemoryActors,
    MemoryBlobs,
    MemoryInventory,
    Stream,
    are_in_clear,
    inventory_of,
)
from onrecord.adapters.storage.steps import ThreadSteps
from onrecord.adapters.storage.subscription import (
    PollingSubscription,
    Wakeups,
    must_be_current,
    owned_by,
)
from onrecord.domain.blobs import blob_of
from onrecord.domain.content import Blob, KeyedBlob
from onrecord.domain.encryption.blobs import KeyedBytes
from onrecord.domain.errors import StorageUnavailable
from onrecord.domain.head import Head, Pointer
from onrecord.domain.log import (
    BEFORE_FIRST,
    Append,
    CatalogueEntry,
    Cursor,
    NewEvent,
    NewSince,
    RecordedEvent,
    Subscription,
    Told,
    Verdict,
)

R = TypeVar("R")
B = TypeVar("B", Blob, KeyedBlob)


class Memory:
    """A log, a catalogue and blobs that live as long as the process; safe for many threads."""

    def __init__(self) -> None:
        """Begin empty, as an incarnation of its own."""
        self._lock = threading.Lock()
        self._unfinished: Callable[[], object] | None = None
        self._incarnation = uuid4()
        self._digest_key = new_digest_key()
        self._erased: list[UUID] = []
        self._is_encrypted = False
        self.wakeups = Wakeups()
        self.steps: Final = ThreadSteps()
        self._streams: dict[UUID, Stream] = {}
        self._open: dict[UUID, set[UUID]] = {}
        self._log: list[tuple[UUID, int]] = []
        self._recorded_at = 0
        self._clock = WatchedClock()
        self._ids: dict[UUID, tuple[UUID, int]] = {}
        self._keys: dict[tuple[UUID, bytes], UUID] = {}
        self._blobs = MemoryBlobs()
        self._actors = MemoryActors()

    def append(self, appends: Sequence[Append]) -> list[Verdict]:
        """Record what can be recorded and return a verdict for each request, in order."""
        with self._lock:
            self._ready()
            must_be_own(self._streams, appends)
            if self._is_encrypted:
                must_all_be_encrypted(appends, self._refused)
            self._recorded_at = self._clock.stamp(self._recorded_at)
            verdicts = [self._append(append) for append in appends]
        self._clock.say_jump()
        self.wakeups.appended()
        return verdicts

    def read(
        self,
        conversation_id: UUID,
        *,
        after: int = BEFORE_FIRST,
        until: int | None = None,
        limit: int | None = None,
    ) -> Iterator[RecordedEvent]:
        """Yield a conversation's events with after < version <= until, in order of version."""
        with self._lock:
            self._ready()
            stream = self._streams.get(conversation_id)
            events = [] if stream is None else stream.events[max(after, 0) : until][:limit]
        yield from events

    def first_events(self, conversation_ids: Sequence[UUID]) -> list[RecordedEvent]:
        """Return the events of version 1 of several conversations."""
        with self._lock:
            self._ready()
            begun = [self._streams[one] for one in conversation_ids if one in self._streams]
            return [event for stream in begun for event in stream.events[:1]]

    def tell(
        self, conversation_id: UUID, *, exchange: int = 0, until: int | None = None
    ) -> Iterator[Told]:
        """Yield what a fold takes of a conversation's events, from an exchange on."""
        start = self.exchange_start(conversation_id, exchange) if exchange else 1
        if start:
            yield from (e.told() for e in self.read(conversation_id, after=start - 1, until=until))

    def read_log(self, after: Cursor, limit: int) -> list[RecordedEvent]:
        """Return at most `limit` events after a cursor, in order of position."""
        with self._lock:
            self._ready()
            must_be_current(after, Cursor(self._incarnation, SHARD, len(self._log)))
            places = self._log[after.position : after.position + limit]
            return [self._streams[owner].events[version - 1] for owner, version in places]

    def subscribe(self, after: Cursor, tenant: UUID | None = None) -> Subscription:
        """Return the events after a cursor, those to come included."""
        self.read_log(after, 1)
        wanted = owned_by(tenant, self.owner)
        return PollingSubscription(self.read_log, after, self.wakeups, wanted)

    def cursors(self) -> list[Cursor]:
        """Return the cursor of the last position; there is one shard."""
        with self._lock:
            self._ready()
            return [Cursor(self._incarnation, SHARD, len(self._log))]

    def incarnation(self) -> UUID:
        """Return the incarnation of the log: another one in each process."""
        return self._incarnation

    def head(self, conversation_id: UUID) -> Head:
        """Return where a conversation stands; an empty Head if it has not begun."""
        with self._lock:
            self._ready()
            return self._place(conversation_id).head

    def new_since(self, conversation_id: UUID, after: int, limit: int) -> NewSince:
        """Return where a conversation stands, and at most `limit` events that came after a version."""
        with self._lock:
            self._ready()
            head, stream = self._place(conversation_id).head, self._streams.get(conversation_id)
            events = [] if stream is None else stream.events[after:][:limit]
            return NewSince(self._incarnation, len(self._erased), head, events)

    def pointed(
        self, conversation_id: UUID, pointer: Pointer, until: int, limit: int
    ) -> list[RecordedEvent]:
        """Return the last events up to a version whose effect `points` so, the last one first."""
        with self._lock:
            self._ready()
            stream = self._streams.get(conversation_id)
            return [] if stream is None else stream.latest(pointer, until, limit)

    def exchange_start(self, conversation_id: UUID, exchange: int) -> int:
        """Return the version of the prompt that opened an exchange; 0 if there is none such."""
        with self._lock:
            self._ready()
            stream = self._streams.get(conversation_id)
            starts = [] if stream is None else stream.exchanges
            return starts[exchange - 1] if 1 <= exchange <= len(starts) else 0

    def open(self, tenant: UUID, key: str, conversation_id: UUID | None = None) -> UUID:
        """Return the id of the conversation of that key, made now if the key is new."""
        with self._lock:
            self._ready()
            name, made = (tenant, self.digest(key)), conversation_id or uuid7()
            if name not in self._keys:
                must_take(self._streams, tenant, made)
            return self._keys.setdefault(name, made)

    def find(self, tenant: UUID, key: str) -> UUID | None:
        """Return the id of the conversation of that key, or None."""
        with self._lock:
            self._ready()
            return self._keys.get((tenant, self.digest(key)))

    def owner(self, conversation_id: UUID) -> UUID | None:
        """Return the tenant whose conversation it is; None if it has not begun."""
        with self._lock:
            self._ready()
            return self._owner(conversation_id)

    def conversations(self, tenant: UUID) -> Iterator[CatalogueEntry]:
        """Yield the conversations that have begun, the one that moved last first."""
        with self._lock:
            self._ready()
            own = [each for each in self._streams.items() if each[1].tenant == tenant]
            own.sort(key=lambda item: item[1].events[-1].position, reverse=True)
            listed = [stream.listed(owner) for owner, stream in own]
        yield from listed

    def open_conversations(self, tenant: UUID) -> list[UUID]:
        """Return the conversations that have begun and are not closed, by their ids."""
        with self._lock:
            self._ready()
            return sorted(self._open.get(tenant, ()))

    def put_blob(self, tenant: UUID, conversation_id: UUID, chunks: Iterable[bytes]) -> Blob:
        """Store bytes and return the reference; storing them again changes nothing."""
        must_take_clear(self._is_encrypted)
        data = tuple(pieces(chunks))
        return self._kept(tenant, conversation_id, blob_of(b"".join(data)), data)

    def put_keyed_blob(self, tenant: UUID, conversation_id: UUID, stored: KeyedBytes) -> KeyedBlob:
        """Store the bytes of an encrypted blob and return where they stand."""
        data = tuple(pieces(stored))
        return self._kept(tenant, conversation_id, stored.address(), data)

    def get_blob(self, conversation_id: UUID, blob: Blob | KeyedBlob) -> Iterator[bytes]:
        """Yield the bytes of a blob in pieces of at most 1 MiB."""
        with self._lock:
            self._ready()
            data = self._blobs.read(conversation_id, blob)
        yield from verified(data, blob)

    def sweep_blobs(self, age: int) -> int:
        """Delete blobs that no event refers to and that were stored so long ago, at least."""
        with self._lock:
            self._ready()
            return self._blobs.sweep(age)

    def is_encrypted(self) -> bool:
        """Return whether the log is marked as encrypted."""
        return self._is_encrypted

    def may_mark(self) -> bool:
        """Return True: who has the process has all of it."""
        return True

    def mark_encrypted(self) -> bool:
        """Mark the log as encrypted, unless its conversations are in clear; return whether it is."""
        with self._lock:
            self._ready()
            self._is_encrypted = self._is_encrypted or not are_in_clear(self._streams)
            return self._is_encrypted

    def clock(self) -> int:
        """Return the time, in microseconds since 1970-01-01 UTC."""
        return time.time_ns() // 1000

    def forget(self, conversation_id: UUID) -> int:
        """Erase bodies, salts, blobs and the key of a conversation; return how many events."""
        with self._lock:
            self._ready()
            stream = self._streams.get(conversation_id)
            if stream is not None:
                must_be_forgettable(stream.events[0].type)
            self._erased.append(conversation_id)
            return self._finish(lambda: self._erase(conversation_id))

    def may_forget(self) -> bool:
        """Return True: who has the process has all of it."""
        return True

    def residue(self) -> tuple[str, ...]:
        """Return nothing: it is on no disk."""
        return ()

    def rewrite(self) -> tuple[str, ...]:
        """Do nothing: it is on no disk."""
        return ()

    def erasures(self) -> int:
        """Return how often something was erased."""
        return len(self._erased)

    def erased(self, after: int) -> list[UUID]:
        """Return the conversations of the erasures that come after so many, in order."""
        return self._erased[after:]

    def digest(self, text: str) -> bytes:
        """Return the keyed digest (16 bytes) of a name that must not stand in clear."""
        return keyed_digest(self._digest_key, text)

    def prover(self, tenant: UUID | None) -> Proof:
        """Return what proves a tenant's word, or the log's own."""
        return prover_of(self._digest_key, tenant)

    def actors(self) -> MemoryActors:
        """Return the names of those who act."""
        return self._actors

    def inventory(self) -> MemoryInventory:
        """Return all that is stored, row by row."""
        with self._lock:
            return inventory_of(self._streams, self._keys, self._blobs, self._erased)

    def close(self) -> None:
        """End all subscriptions; using the backend afterwards is an error."""
        self.wakeups.close()
        self.steps.close()

    def _erase(self, conversation_id: UUID) -> int:
        self._keys = {k: owner for k, owner in self._keys.items() if owner != conversation_id}
        self._blobs.forget(conversation_id)
        self._actors.forget(conversation_id)
        stream = self._streams.get(conversation_id)
        return 0 if stream is None else stream.erase()

    def _owner(self, conversation_id: UUID) -> UUID | None:
        return None if (stream := self._streams.get(conversation_id)) is None else stream.tenant

    def _append(self, append: Append) -> Verdict:
        if (refused := self._refused(append)) is not None:
            return refused
        head = self._place(append.conversation_id).head
        recording = record(
            append, head, shard=SHARD, position=len(self._log), recorded_at=self._recorded_at
        )
        self._finish(lambda: self._keep(append, recording))
        return recording.verdict()

    def _refused(self, append: Append) -> Verdict | None:
        """Return why nothing is to be recorded, or None."""
        place = self._place(append.conversation_id)
        known = [self._known(append.conversation_id, event) for event in append.events]
        if (refused := refusal(append, known, place)) is not None:
            return refused
        if (missing := self._blobs.missing(append)) is not None:
            return missing
        return None if place.begun else under_destroyed_key(append, self._owner)

    def _known(self, conversation_id: UUID, event: NewEvent) -> Known | None:
        stream = self._streams.get(conversation_id)
        place = self._ids.get(event.event_id)
        if place is None and stream is not None and event.once is not None:
            version = stream.onces.get(self.digest(event.once))
            place = None if version is None else (conversation_id, version)
        if place is None:
            return None
        owner, version = place
        stored = self._streams[owner].events[version - 1]
        return Known(owner, version, stored.type, stored.salt, stored.digest)

    def _keep(self, append: Append, recording: Recording) -> None:
        stream = self._streams.setdefault(append.conversation_id, Stream(append.tenant))
        for new, event in zip(append.events, recording.events, strict=True):
            stream.keep(event, new.effect.points)
            self._log[event.position - 1 :] = [(append.conversation_id, event.version)]
            self._ids[event.event_id] = (append.conversation_id, event.version)
            if new.once is not None:
                stream.onces[self.digest(new.once)] = event.version
            self._blobs.refer(append.conversation_id, new.blobs)
        stream.head = recording.head
        opened = self._open.setdefault(append.tenant, set())
        (opened.discard if stream.head.closed else opened.add)(append.conversation_id)

    def _place(self, conversation_id: UUID) -> Place:
        stream = self._streams.get(conversation_id)
        return Place(NO_HEAD) if stream is None else Place(stream.head, stream.forgotten, True)

    def _kept(self, tenant: UUID, conversation_id: UUID, blob: B, data: tuple[bytes, ...]) -> B:
        with self._lock:
            self._ready()
            must_take(self._streams, tenant, conversation_id)
            self._blobs.put(conversation_id, blob, data)
        return blob

    def _finish(self, change: Callable[[], R]) -> R:
        """Make a change that may be made twice: if an exception cuts it short, the next verb does."""
        self._unfinished = change
        done = change()
        self._unfinished = None
        return done

    # Not a scope that takes the lock too: an exception amid entering it would leave it locked.
    def _ready(self) -> None:
        if self.wakeups.closed:
            raise StorageUnavailable("the store is closed: connect again")
        if self._unfinished is not None:
            self._finish(self._unfinished)
