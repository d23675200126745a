"""All that a SQLite log stores, row by row, for `onrecord verify`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final
from uuid import UUID

from onrecord.adapters.storage.queries import load_migrations, load_queries
from onrecord.adapters.storage.sqlite.append import SHARD, head_of
from onrecord.adapters.storage.sqlite.connection import Connections, Row, Session
from onrecord.adapters.storage.sqlite.file import SqliteFile
from onrecord.adapters.storage.sqlite.held_files import Mark
from onrecord.domain.errors import counted
from onrecord.domain.head import Head
from onrecord.domain.inventory import (
    Commitment,
    Oddity,
    StoredBlob,
    StoredChunk,
    StoredEvent,
    StoredHead,
    StoredKey,
    StoredSnapshot,
)
from onrecord.domain.log import RecordedEvent

_ODDITIES: Final = tuple(name for name in load_queries("sqlite") if name.startswith("oddity_"))
_OPEN_CALLS: Final = 2
"""The place of `open_calls` among the columns of a head."""


class SqliteInventory:
    """The rows of an open file."""

    def __init__(self, file: SqliteFile) -> None:
        """Read from a file."""
        self._file = file

    @contextmanager
    def moment(self) -> Generator[SqliteMoment]:
        """Lend the log as it is now."""
        with self._file.connections.borrowed() as session:
            session.run("begin_moment")
            try:
                yield SqliteMoment(session)
            finally:
                session.abandon()

    def log(self, shard: int, after: int, limit: int) -> list[StoredEvent]:
        """Return events in order of position, those behind a position."""
        with self._file.connections.borrowed() as session:
            return [_event(row) for row in session.all("inventory_log", after, limit)]

    def commitments(self, shard: int, after: int, limit: int) -> list[Commitment]:
        """Return what commits to events in order of position, to those behind a position."""
        with self._file.connections.borrowed() as session:
            rows = session.all("inventory_commitments", after, limit)
        return list(map(Commitment._make, rows))

    def chunks(self, of: StoredHead, blob: StoredBlob) -> Iterator[StoredChunk]:
        """Yield the parts of a blob in their order, each read by itself: they may go meanwhile."""
        after = -(2**62)
        while (chunk := self._chunk(int(blob.row), after)) is not None:
            after = chunk.number
            yield chunk

    def _chunk(self, blob: int, after: int) -> StoredChunk | None:
        with self._file.connections.borrowed() as session:
            row = session.one("inventory_chunk", blob, after)
        return None if row is None else StoredChunk(row[0], None, row[1])

    def oddities(self) -> Iterator[Oddity]:
        """Yield what does not hold of all that no conversation has of its own."""
        with self._file.connections.borrowed() as session:
            oddities = [row for name in _ODDITIES for row in session.all(name)]
            schema = session.all("schema_objects")
        for conversation_id, why in oddities:
            yield Oddity(None if conversation_id is None else _uuid(conversation_id), why)
        for name in sorted(set(schema) ^ set(_schema_made()), key=str):
            yield Oddity(None, f"the schema is not that of this release: {name[0]} {name[1]}")
        for why in faults_of_file(self._file.connections):
            yield Oddity(None, f"the file is damaged: {why}")
        for mark in self._file.marks()[1]:
            yield Oddity(None, _set_back(mark, self._file.path))

    def seen(self) -> list[str]:
        """Return what else was looked at."""
        return ["the file: its pages, and each index against its table"]

    def erased_unbegun(self) -> list[UUID]:
        """Return the conversations of which an erasure is noted, and that never began."""
        with self._file.connections.borrowed() as session:
            return [_uuid(conversation_id) for (conversation_id,) in session.all("erased_unbegun")]

    def is_marked(self) -> bool:
        """Return whether there is a mark beside the file."""
        return self._file.marks()[0] is not None

    def shows_operators(self) -> bool:
        """Return True: who has the file has all of it."""
        return True

    def shows_all_tenants(self) -> bool:
        """Return True: who has the file has all of it."""
        return True

    def unseen(self) -> list[str]:
        """Return what could not be checked."""
        with self._file.connections.borrowed() as session:
            (keys,) = session.one("unbegun_keys") or (0,)
            (blobs,) = session.one("unbegun_blobs") or (0,)
        mark, _ = self._file.marks()
        begun = 0 if mark is None else mark.begun
        unchecked = {
            f"{counted(keys, 'key')} of conversations in which nothing was said yet": keys,
            f"{counted(blobs, 'document')} that no event came after yet": blobs,
            f"whether the file was cut before position {begun}, where the mark beside it began": begun,
        }
        return [what for what, is_so in unchecked.items() if is_so]


class SqliteMoment:
    """The log inside a read transaction."""

    def __init__(self, session: Session) -> None:
        """Read by a connection that is in one."""
        self._session = session

    def heads(self, after: UUID | None, limit: int) -> list[StoredHead]:
        """Return heads of all tenants in the order of their ids, those behind an id."""
        place = b"" if after is None else after.bytes
        return [_head(row) for row in self._session.all("inventory_heads", place, limit)]

    def head(self, conversation_id: UUID) -> StoredHead | None:
        """Return the head of a conversation, or None."""
        row = self._session.one("inventory_head", conversation_id.bytes)
        return None if row is None else _head(row)

    def events(self, of: StoredHead, after: int, limit: int) -> list[StoredEvent]:
        """Return events of a conversation in order of version, those behind a version."""
        rows = self._session.all("inventory_events", of.conversation_id.bytes, after, limit)
        return [_event(row) for row in rows]

    def keys(self, of: StoredHead) -> list[StoredKey]:
        """Return the names that the catalogue has of a conversation."""
        rows = self._session.all("inventory_keys", of.conversation_id.bytes)
        return [StoredKey(_uuid(tenant), digest) for tenant, digest in rows]

    def blobs(self, of: StoredHead) -> list[StoredBlob]:
        """Return the blobs of a conversation, those that are still arriving too."""
        return [
            StoredBlob(str(number), _uuid(tenant), SHARD, sha256, None, bool(referenced), at)
            for number, tenant, sha256, referenced, at in self._session.all(
                "inventory_blobs", of.conversation_id.bytes
            )
        ]

    def erasures(self, of: StoredHead) -> int:
        """Return how many erasures are noted of a conversation."""
        (count,) = self._session.one("inventory_erasures", of.conversation_id.bytes) or (0,)
        return int(count)

    def snapshots(self, of: StoredHead) -> list[StoredSnapshot]:
        """Return the snapshots of an aggregate."""
        rows = self._session.all("inventory_snapshots", of.conversation_id.bytes)
        return [StoredSnapshot(None, version) for (version,) in rows]


def faults_of_file(connections: Connections) -> list[str]:
    """Return what SQLite finds wrong with the pages of a file, and with its indexes."""
    with connections.borrowed() as session:
        faults = [str(why) for (why,) in session.all("file_faults")]
    return [] if faults == ["ok"] else faults


def _event(row: Row) -> StoredEvent:
    position, conversation_id, version, exchange, event_id, *rest, points, once, begun = row
    place = (SHARD, position, _uuid(conversation_id), version, exchange, _uuid(event_id))
    return StoredEvent(RecordedEvent(*place, *rest), None, points, None, once, bool(begun))


def _head(row: Row) -> StoredHead:
    conversation_id, tenant, position, started_at, recorded_at, forgotten, *head = row
    return StoredHead(
        _uuid(conversation_id),
        _uuid(tenant),
        SHARD,
        _folded(tuple(head)),
        position,
        started_at,
        recorded_at,
        bool(forgotten),
    )


def _folded(row: Row) -> Head:
    """Return the head; where nobody of ours spelled its open calls, it has one that nobody opened."""
    odd = (*row[:_OPEN_CALLS], '{"":-1}', *row[_OPEN_CALLS + 1 :])
    try:
        head = head_of(row)
        spelled = json.dumps(dict(head.open_calls), separators=(",", ":"))
    except (ValueError, TypeError):
        return head_of(odd)
    return head if spelled == row[_OPEN_CALLS] else head_of(odd)


def _uuid(data: bytes) -> UUID:
    """Return an id; what is none, for somebody changed it, is some other id."""
    return UUID(bytes=data if len(data) == 16 else hashlib.sha256(data).digest()[:16])


def _set_back(mark: Mark, path: Path) -> str:
    return (
        f"the file was set back, cut or replaced: it went to position {mark.position} once, where "
        f"its leaf was {mark.leaf.hex()[:16]}; where that was meant, end all programs that use it "
        f"and remove {path.name}-lock"
    )


def _schema_made() -> list[Row]:
    """Return what the migrations of this release make."""
    with closing(Connections("file:schema?mode=memory", 0.0)) as fresh, fresh.borrowed() as session:
        for migration in load_migrations("sqlite"):
            session.migrate(migration.sql)
        return session.all("schema_objects")
