"""One SQLite file: what may be opened, how it is made and migrated, whose it is, who writes.

Its first transaction is written without a write-ahead log, so that from then on the first page
says that the file is a Onrecord log; nothing is ever written to a file that says otherwise.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import UUID

from uuid_utils.compat import uuid4

from onrecord.adapters.storage.filesystems import refuse_network_filesystem
from onrecord.adapters.storage.keyed_digest import new_digest_key
from onrecord.adapters.storage.queries import load_migrations
from onrecord.adapters.storage.sqlite_connection import Connections, Session
from onrecord.adapters.storage.sqlite_header import application_id
from onrecord.adapters.storage.sqlite_lock import LockFile, lock_file
from onrecord.domain.errors import (
    ForeignDatabase,
    InvalidInput,
    SchemaNewer,
    SchemaOlder,
    StorageBusy,
    StorageError,
    StorageReadOnly,
    StorageUnavailable,
)

_APPLICATION_ID: Final = 0x48414E53
_SCHEMA: Final = len(load_migrations("sqlite"))
_INODE: Final = struct.Struct(">Q")


@dataclass(slots=True)
class SqliteFile:
    """An open file: who it is, and how to read it and write to it.

    `_unemptied` says, to whoever has the turn, that the write-ahead log may hold what was erased.
    """

    path: Path
    connections: Connections
    incarnation: UUID
    digest_key: bytes
    _lock: LockFile
    _wait: float
    _inode: int
    _unemptied: bool = False

    @contextmanager
    def writing(self) -> Generator[Session]:
        """Lend a connection in a write transaction, when it is this writer's turn."""
        with self._lock.turn(self._wait):
            self._must_be_in_place()
            with self.connections.transaction() as session:
                yield session

    @contextmanager
    def erasing(self, conversation_id: UUID) -> Generator[Session]:
        """Lend a connection as `writing` does; afterwards no file holds what was erased.

        Raises StorageBusy when it is erased, but a reader still needs the pages as they were; then
        appends and whoever opens the file try again.
        """
        with self._lock.turn(self._wait):
            self._must_be_in_place()
            with self.connections.transaction() as session:
                yield session
                session.run("mark_unemptied")
            self._unemptied = True
            if self._emptied(self.connections):
                return
        raise StorageBusy(
            f"{conversation_id} is erased, but the write-ahead log still holds it, for a program "
            f"reads from it: end that program, then run `onrecord forget {conversation_id}`"
        )

    @contextmanager
    def appending(self) -> Generator[tuple[Session, Tail]]:
        """Lend a connection as `writing` does, with the log's tail; what moves it is marked."""
        with self._lock.turn(self._wait):
            self._must_be_in_place()
            with self.connections.transaction() as session:
                tail = Tail(*(session.one("last_event") or (0, 0)))
                yield session, tail
            self._lock.set_mark(tail.position)
            if self._unemptied:
                self._try_to_empty()

    def finish_erasing(self) -> None:
        """Empty the write-ahead log if an erasure could not, and nobody reads from it by now."""
        with self.connections.borrowed() as session:
            (unemptied,) = session.one("is_unemptied") or (0,)
        if unemptied:
            with self._lock.turn(self._wait):
                self._unemptied = True
                self._try_to_empty()

    def _try_to_empty(self) -> None:
        """Empty the write-ahead log without waiting for those who read from it."""
        with closing(Connections(str(self.path), 0.0)) as impatient, suppress(StorageError):
            self._emptied(impatient)

    def _emptied(self, connections: Connections) -> bool:
        """Empty the write-ahead log; False if a reader still needs it."""
        with connections.borrowed() as session:
            busy, _, _ = session.one("empty_wal") or (1, 0, 0)
        if not busy:
            with self.connections.transaction() as session:
                session.run("unmark_unemptied")
            self._unemptied = False
        return not busy

    def _must_be_in_place(self) -> None:
        """Refuse to write to a file that nobody will find: it would be lost when closed."""
        try:
            inode = os.stat(self.path).st_ino  # noqa: PTH116 - on the path of every append
        except OSError as exc:
            raise StorageUnavailable(f"{self.path} was taken away: connect again") from exc
        if inode != self._inode:
            raise StorageUnavailable(f"{self.path} was replaced by another file: connect again")


@dataclass(slots=True)
class Tail:
    """Where the log ends: its last position, and the time of its last event."""

    position: int
    recorded_at: int


def open_file(path: Path, wait: float) -> SqliteFile:
    """Return the file at a path, made if there is none; typed errors say why it cannot be used."""
    path = _usable(path)
    lock = _lock_file(path)
    connections = Connections(str(path), wait)
    try:
        with lock.turn(wait):
            _prepare(connections)
            incarnation, digest_key = _recognise(path, connections, lock)
    except BaseException:
        connections.close()
        raise
    inode = path.stat().st_ino
    file = SqliteFile(path, connections, incarnation, digest_key, lock, wait, inode)
    file.finish_erasing()
    return file


def migrate_sqlite(path: Path, *, wait: float = 30.0) -> int:
    """Bring the schema of a file up to date, adding only, and return how many steps that took.

    Nothing is done if it is up to date, or is newer.
    """
    path = _usable(path)
    connections = Connections(str(path), wait)
    try:
        with _lock_file(path).turn(wait):
            version = _schema_version(connections)
            _bring_up_to_date(connections, version)
            return max(0, _SCHEMA - version)
    finally:
        connections.close()


def _usable(path: Path) -> Path:
    if str(path) == ":memory:":
        raise InvalidInput("a log in SQLite's memory keeps nothing: use memory:// instead")
    path = path.resolve()
    try:
        _must_be_a_file(path)
        refuse_network_filesystem(path)
        _must_be_writable(path)
        _must_be_ours(path)
    except OSError as exc:
        raise StorageUnavailable(f"{path} cannot be reached: check its permissions") from exc
    return path


def _must_be_a_file(path: Path) -> None:
    if path.is_dir():
        raise StorageUnavailable(f"{path} is a folder: name a file in it")
    if not path.parent.is_dir():
        raise StorageUnavailable(f"the folder {path.parent} does not exist: make it first")
    if path.exists() and not path.is_file():
        raise ForeignDatabase(f"{path} is not a file: choose another name")


def _must_be_writable(path: Path) -> None:
    # The folder too: SQLite keeps the write-ahead log beside the file.
    for place in (path.parent, path):
        if place.exists() and not os.access(place, os.W_OK):
            raise StorageReadOnly(f"{place} takes no writes: check its permissions")


def _must_be_ours(path: Path) -> None:
    is_made = path.exists() and path.stat().st_size > 0
    if is_made and application_id(path) != _APPLICATION_ID:
        raise ForeignDatabase(f"{path} is not a Onrecord log: choose another file")


def _lock_file(path: Path) -> LockFile:
    place = path.with_name(f"{path.name}-lock")
    try:
        return lock_file(place)
    except PermissionError as exc:
        raise StorageReadOnly(f"{place} takes no writes: check its permissions") from exc
    except OSError as exc:
        raise StorageUnavailable(f"{place} cannot be made: check the disk") from exc


def _prepare(connections: Connections) -> None:
    """Make the file if it is new; refuse another schema than ours."""
    version = _schema_version(connections)
    if version > _SCHEMA:
        raise SchemaNewer(
            f"the log has schema {version}, this Onrecord knows {_SCHEMA}: upgrade Onrecord"
        )
    if 0 < version < _SCHEMA:
        raise SchemaOlder(
            f"the log has schema {version}, this Onrecord needs {_SCHEMA}: run onrecord migrate"
        )
    _bring_up_to_date(connections, version)


def _schema_version(connections: Connections) -> int:
    with connections.borrowed() as session:
        return _version_in(session)


def _version_in(session: Session) -> int:
    (version,) = session.one("schema_version") or (0,)
    return int(version)


def _bring_up_to_date(connections: Connections, version: int) -> None:
    if version < _SCHEMA:
        with connections.transaction() as session:
            _migrate(session, _version_in(session))
    with connections.borrowed() as session:
        # Changes nothing, unless the process that made the file was killed just before.
        session.run("enter_wal")


def _migrate(session: Session, version: int) -> None:
    for migration in load_migrations("sqlite")[version:]:
        session.migrate(migration.sql)
    if version == 0:
        session.run("insert_meta", uuid4().bytes, b"", new_digest_key())


def _recognise(path: Path, connections: Connections, lock: LockFile) -> tuple[UUID, bytes]:
    """Return incarnation and digest key; a copied or restored file gets another incarnation."""
    identity = lock.nonce() + _INODE.pack(path.stat().st_ino)
    with connections.transaction() as session:
        incarnation, known_as, digest_key = session.one("select_meta") or (b"", b"", b"")
        position, _ = session.one("last_event") or (0, 0)
        if known_as != identity or position < lock.mark():
            incarnation = incarnation if known_as == b"" else uuid4().bytes
            session.run("update_incarnation", incarnation, identity)
    lock.set_mark(position)
    return UUID(bytes=incarnation), digest_key
