"""A store in one SQLite file: the embedded default, for any number of threads and processes.

sql/001_log.sql explains the tables. An append is one transaction and one flush of the
write-ahead log; readers do not wait for it. Beside the file lie its write-ahead log (`-wal`,
`-shm`) and the file by which writers take turns (`-lock`); they belong together.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final
from uuid import UUID

from uuid_utils.compat import uuid7

from onrecord.adapters.storage.append import (
    Proof,
    keyed_digest,
    must_be_apart,
    must_be_forgettable,
    must_take_clear,
    prover_of,
)
from onrecord.adapters.storage.interrupts import releasing
from onrecord.adapters.storage.sqlite import blobs
from onrecord.adapters.storage.sqlite.actors import SqliteActors
from onrecord.adapters.storage.sqlite.append import (
    HIGHEST,
    SHARD,
    append_all,
    catalogue_line,
    head_of,
    is_said_in_clear,
    must_take,
    read_head,
    recorded_event,
)
from onrecord.adapters.storage.sqlite.connection import Row, Session, Value
from onrecord.adapters.storage.sqlite.file import (
    SqliteFile,
    log_end,
    migrate_sqlite,
    open_file,
    residue_of,
)
from onrecord.adapters.storage.sqlite.inventory import SqliteInventory
from onrecord.adapters.storage.steps import ThreadSteps
from onrecord.adapters.storage.subscription import (
    PollingSubscription,
    Wakeups,
    must_be_current,
    owned_by,
)
from onrecord.domain.content import Blob, KeyedBlob
from onrecord.domain.encryption.blobs import KeyedBytes
from onrecord.domain.head import Head, Pointer
from onrecord.domain.log import (
    BEFORE_FIRST,
    Append,
    CatalogueEntry,
    Cursor,
    NewSince,
    RecordedEvent,
    Subscription,
    Told,
    Verdict,
)

__all__ = ["Sqlite", "migrate_sqlite", "open_sqlite"]

_PAGE: Final = 256
_SHARED_SECONDS: Final = 0.02
"""Nobody tells of what other processes append. To look whether a file has more takes some 40 µs."""

_FORGETTING: Final = (
    *("forget_head", "forget_blobs", "forget_key", "forget_snapshots"),
    "forget_actor_name",
)
_told_of: Final = Told._make


def open_sqlite(path: Path, *, wait: float = 30.0) -> Sqlite:
    """Return the store in a file, made if there is none.

    `wait` is how many seconds a writer waits for its turn before StorageBusy. ForeignDatabase,
    SchemaNewer, SchemaOlder, StorageReadOnly, StorageUnavailable, StorageFull and
    UnsupportedFilesystem say why a file cannot be used; then nothing was written to it.
    """
    return Sqlite(open_file(path, wait))


class Sqlite:
    """A log, a catalogue and blobs in one file; get it by `open_sqlite`."""

    def __init__(self, file: SqliteFile) -> None:
        """Use an open file."""
        self.file = file
        self.wakeups = Wakeups(shared_seconds=_SHARED_SECONDS)
        self.steps: Final = ThreadSteps()

    @releasing
    def append(self, appends: Sequence[Append]) -> list[Verdict]:
        """Record what can be recorded and return a verdict for each request, in order."""
        with self.file.appending() as (session, end):
            verdicts = append_all(session, self.file.digest_key, end, appends)
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
        last = HIGHEST if until is None else until
        left = HIGHEST if limit is None else limit
        while left > 0:
            size = min(left, _PAGE)
            page = self._events("select_conversation", conversation_id.bytes, after, last, size)
            yield from page
            if len(page) < size:
                return
            after, left = page[-1].version, left - size

    def first_events(self, conversation_ids: Sequence[UUID]) -> list[RecordedEvent]:
        """Return the events of version 1 of several conversations."""
        with self.file.connections.borrowed() as session:
            rows = [
                row
                for conversation_id in conversation_ids
                for row in session.all("select_conversation", conversation_id.bytes, 0, 1, 1)
            ]
        return [recorded_event(row) for row in rows]

    def tell(
        self, conversation_id: UUID, *, exchange: int = 0, until: int | None = None
    ) -> Iterator[Told]:
        """Yield what a fold takes of a conversation's events, from an exchange on."""
        place, last = conversation_id.bytes, HIGHEST if until is None else until
        after = BEFORE_FIRST
        while True:
            with self.file.connections.borrowed() as session:
                rows = session.all("select_told", place, exchange, after, last, _PAGE)
            yield from [_told_of((conversation_id, *row)) for row in rows]
            if len(rows) < _PAGE:
                return
            exchange, after = 0, rows[-1][0]

    def read_log(self, after: Cursor, limit: int) -> list[RecordedEvent]:
        """Return at most `limit` events after a cursor, in order of position."""
        with self.file.connections.borrowed() as session:
            rows = session.all("select_log", after.position, limit)
            # Looked at afterwards: the log may be cut, and become another one, just before either.
            last = self._last(session)
        must_be_current(after, last)
        return [recorded_event(row) for row in rows]

    def subscribe(self, after: Cursor, tenant: UUID | None = None) -> Subscription:
        """Return the events after a cursor, those to come included."""
        self.read_log(after, 1)
        wanted = owned_by(tenant, self.owner)
        return PollingSubscription(self.read_log, after, self.wakeups, wanted)

    def cursors(self) -> list[Cursor]:
        """Return the cursor of the last position; there is one shard."""
        with self.file.connections.borrowed() as session:
            return [self._last(session)]

    def incarnation(self) -> UUID:
        """Return the incarnation of the log, as its latest append, cursor or page of the log found it."""
        return UUID(bytes=self.file.incarnation)

    def head(self, conversation_id: UUID) -> Head:
        """Return where a conversation stands; an empty Head if it has not begun."""
        with self.file.connections.borrowed() as session:
            return read_head(session, conversation_id)

    def new_since(self, conversation_id: UUID, after: int, limit: int) -> NewSince:
        """Return where a conversation stands, and at most `limit` events that came after a version."""
        with self.file.connections.borrowed() as session:
            # First of all: what is erased meanwhile is found erased by who asks next.
            row = session.one("select_progress", conversation_id.bytes)
            incarnation, erasures, *place = row or (self.file.incarnation, 0)
            head = head_of(place or None)
            rows: list[Row] = []
            if limit and after < head.version:
                where = (conversation_id.bytes, after, head.version, limit)
                rows = session.all("select_conversation", *where)
        self.file.incarnation = incarnation
        return NewSince(self.incarnation(), erasures, head, list(map(recorded_event, rows)))

    def pointed(
        self, conversation_id: UUID, pointer: Pointer, until: int, limit: int
    ) -> list[RecordedEvent]:
        """Return the last events up to a version whose effect `points` so, the last one first."""
        return self._events("select_pointed", conversation_id.bytes, pointer, until, limit)

    def exchange_start(self, conversation_id: UUID, exchange: int) -> int:
        """Return the version of the prompt that opened an exchange; 0 if there is none such."""
        row = self._row("select_exchange_start", conversation_id.bytes, exchange)
        return 0 if row is None else row[0]

    @releasing
    def open(self, tenant: UUID, key: str, conversation_id: UUID | None = None) -> UUID:
        """Return the id of the conversation of that key, made now if the key is new."""
        name = tenant.bytes, self.digest(key)
        if (known := self._row("select_key", *name)) is not None:
            return UUID(bytes=known[0])
        made = conversation_id or uuid7()
        must_be_apart([Append(tenant, made, ())])
        # What is said there, or stored, is flushed behind it in the same log: no key is flushed alone.
        with self.file.writing(is_flushed=False) as session:
            if conversation_id is not None:
                must_take(session, tenant, made)
            if session.one("insert_key", *name, made.bytes) is None:
                # Another writer was quicker.
                (stored_id,) = session.one("select_key", *name) or (made.bytes,)
                return UUID(bytes=stored_id)
        return made

    def find(self, tenant: UUID, key: str) -> UUID | None:
        """Return the id of the conversation of that key, or None."""
        row = self._row("select_key", tenant.bytes, self.digest(key))
        return None if row is None else UUID(bytes=row[0])

    def owner(self, conversation_id: UUID) -> UUID | None:
        """Return the tenant whose conversation it is; None if it has not begun."""
        row = self._row("select_place", conversation_id.bytes)
        return None if row is None else UUID(bytes=row[0])

    def conversations(self, tenant: UUID) -> Iterator[CatalogueEntry]:
        """Yield the conversations that have begun, the one that moved last first."""
        with self.file.connections.borrowed() as session:
            rows = session.all("select_conversations", tenant.bytes)
        yield from map(catalogue_line, rows)

    def open_conversations(self, tenant: UUID) -> list[UUID]:
        """Return the conversations that have begun and are not closed, by their ids."""
        with self.file.connections.borrowed() as session:
            rows = session.all("open_conversations", tenant.bytes)
        return [UUID(bytes=conversation_id) for (conversation_id,) in rows]

    @releasing
    def put_blob(self, tenant: UUID, conversation_id: UUID, chunks: Iterable[bytes]) -> Blob:
        """Store bytes, durably, and return the reference; storing them again changes nothing."""
        must_take_clear(self.is_encrypted())
        return blobs.put_blob(self.file, tenant, conversation_id, chunks)

    def put_keyed_blob(self, tenant: UUID, conversation_id: UUID, stored: KeyedBytes) -> KeyedBlob:
        """Store the bytes of an encrypted blob, durably, and return where they stand."""
        return blobs.put_keyed_blob(self.file, tenant, conversation_id, stored)

    def get_blob(self, conversation_id: UUID, blob: Blob | KeyedBlob) -> Iterator[bytes]:
        """Yield the bytes of a blob in pieces of at most 1 MiB; CorruptRecord if it is missing."""
        return blobs.get_blob(self.file, conversation_id, blob)

    @releasing
    def sweep_blobs(self, age: int) -> int:
        """Delete blobs that no event refers to and that were stored so long ago, at least."""
        return blobs.sweep_blobs(self.file, age)

    def is_encrypted(self) -> bool:
        """Return whether the log is marked as encrypted."""
        with self.file.connections.borrowed() as session:
            return log_end(session).is_encrypted

    def may_mark(self) -> bool:
        """Return True: who may write to the file may mark it."""
        return True

    @releasing
    def mark_encrypted(self) -> bool:
        """Mark the log as encrypted, unless its conversations are in clear; return whether it is."""
        # Nobody takes it back, so that a program that opens the log needs no turn.
        if self.is_encrypted():
            return True
        with self.file.writing() as session:
            if is_said_in_clear(session):
                return False
            session.run("mark_encrypted")
        return True

    def clock(self) -> int:
        """Return the time of this machine, in microseconds since 1970-01-01 UTC."""
        return time.time_ns() // 1000

    @releasing
    def forget(self, conversation_id: UUID) -> int:
        """Erase bodies, salts, blobs and the key of a conversation; return how many events."""
        for first in self.read(conversation_id, limit=1):
            must_be_forgettable(first.type)
        with self.file.erasing(conversation_id) as session:
            session.run("forget_events", conversation_id.bytes)
            erased = session.changed()
            for query in (*_FORGETTING, "insert_erasure"):
                session.run(query, conversation_id.bytes)
        return erased

    def may_forget(self) -> bool:
        """Return True: who may write to the file may erase."""
        return True

    def residue(self) -> tuple[str, ...]:
        """Say where bytes that were erased may still be on the disk, and what to do."""
        if not self.file.has_residue():
            return ()
        return (residue_of(self.file.path),)

    def rewrite(self) -> tuple[str, ...]:
        """Write the file anew if it may hold bytes that were erased; return its name if none are left."""
        return (self.file.path.name,) if self.file.write_anew() else ()

    def erasures(self) -> int:
        """Return how often something was erased."""
        (number,) = self._row("last_erasure") or (0,)
        return int(number)

    def erased(self, after: int) -> list[UUID]:
        """Return the conversations of the erasures that come after so many, in order."""
        with self.file.connections.borrowed() as session:
            return [
                UUID(bytes=conversation_id) for (conversation_id,) in session.all("erased", after)
            ]

    def digest(self, text: str) -> bytes:
        """Return the keyed digest (16 bytes) of a name that must not stand in clear."""
        return keyed_digest(self.file.digest_key, text)

    def prover(self, tenant: UUID | None) -> Proof:
        """Return what proves a tenant's word, or the log's own: who has the file may do both."""
        return prover_of(self.file.digest_key, tenant)

    def actors(self) -> SqliteActors:
        """Return the names of those who act."""
        return SqliteActors(self.file)

    def inventory(self) -> SqliteInventory:
        """Return all that is stored, row by row."""
        return SqliteInventory(self.file)

    def close(self) -> None:
        """End all subscriptions and close the file; using the store afterwards is an error."""
        self.wakeups.close()
        self.steps.close()
        self.file.connections.close()

    def _last(self, session: Session) -> Cursor:
        end = log_end(session)
        self.file.incarnation = end.incarnation
        return Cursor(self.incarnation(), SHARD, end.position)

    def _events(self, query: str, *values: Value) -> list[RecordedEvent]:
        with self.file.connections.borrowed() as session:
            rows = session.all(query, *values)
        return [recorded_event(row) for row in rows]

    def _row(self, query: str, *values: Value) -> Row | None:
        with self.file.connections.borrowed() as session:
            return session.one(query, *values)
