"""One SQLite file: what may be opened, how it is made and migrated, whose it is, who writes.

Its first transaction is written without a write-ahead log, so that from then on the first page
says that the file is an Onrecord log; nothing is ever written to a file that says otherwise.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from uuid import UUID

from uuid_utils.compat import uuid4

from onrecord.adapters.storage.append import new_digest_key
from onrecord.adapters.storage.clocks import WatchedClock
from onrecord.adapters.storage.interrupts import releasing
from onrecord.adapters.storage.queries import load_migrations
from onrecord.adapters.storage.sqlite.connection import Connections, Session
from onrecord.adapters.storage.sqlite.header import (
    LOG_FILE,
    application_id,
    is_of_a_release,
    run_steps,
)
from onrecord.adapters.storage.sqlite.held_files import (
    NO_LEAF,
    LogEnd,
    Mark,
    make,
    must_be_the_only_user,
)
from onrecord.adapters.storage.sqlite.lock import LockFile, lock_file, refuse_network_filesystem
from onrecord.domain.errors import (
    CorruptRecord,
    ForeignDatabase,
    InvalidInput,
    SchemaNewer,
    SchemaOlder,
    SchemaUnreleased,
    StorageBusy,
    StorageError,
    StorageReadOnly,
    StorageUnavailable,
)

_SCHEMA: Final = len(load_migrations("sqlite"))
_FLUSH: Final = "flush_now"
_ID_SIZE: Final = 16
_INODE: Final = struct.Struct(">Q")


@dataclass(slots=True)
class SqliteFile:
    """An open file: who it is, and how to read it and write to it.

    `appended` is called after an append, with the last position before it and after it. `_unemptied`
    says, to whoever has the turn, that the write-ahead log may hold what was erased.
    """

    path: Path
    connections: Connections
    incarnation: bytes
    digest_key: bytes
    _lock: LockFile
    _wait: float
    appended: Callable[[int, int], None] | None = None
    _unemptied: bool = False
    _clock: WatchedClock = field(default_factory=WatchedClock)

    @contextmanager
    def writing(self, *, is_flushed: bool = True) -> Generator[Session]:
        """Lend a connection in a write transaction, when it is this writer's turn.

        One that is not flushed is durable with the next one that is.
        """
        # Said each time: whatever came amid the last one, this one is flushed as it has to be.
        flush = _FLUSH if is_flushed else "flush_later"
        with self._turn(), self.connections.transaction(flush) as session:
            yield session

    @contextmanager
    def erasing(self, conversation_id: UUID) -> Generator[Session]:
        """Lend a connection as `writing` does; afterwards no file holds what was erased.

        Raises StorageBusy when it is erased, but a reader still needs the pages as they were; then
        appends and whoever opens the file try again.
        """
        with self._turn():
            with self.connections.transaction(_FLUSH) as session:
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
    def appending(self) -> Generator[tuple[Session, LogEnd]]:
        """Lend a connection as `writing` does, with the log's end; what moves it is marked.

        The end comes with the time of what is recorded: so every way to record stamps by one clock.
        """
        with self._turn():
            with self.connections.transaction(_FLUSH) as session:
                end, known = log_end(session), self._lock.mark()
                if known is not None and not _is_as_marked(session, known, end):
                    # Someone cut the log while it was open.
                    self._lock.lose(known)
                    end.incarnation = uuid4().bytes
                    session.run("renew_incarnation", end.incarnation)
                begun = end.position if known is None else known.begun
                end.recorded_at = self._clock.stamp(end.recorded_at)
                before = end.position
                yield session, end
            self.incarnation = end.incarnation
            self._lock.set_mark(Mark(end.position, begun, end.incarnation, end.leaf))
            if self._unemptied:
                self._try_to_empty()
        self._clock.say_jump()
        if self.appended is not None:
            self.appended(before, end.position)

    def marks(self) -> tuple[Mark | None, list[Mark]]:
        """Return the mark beside the file, and those that the log did not go on from."""
        with self._turn(), self.connections.borrowed() as session:
            known, lost = self._lock.mark(), self._lock.lost()
            if known is not None and not _is_as_marked(session, known, log_end(session)):
                lost.append(known)
            return known, lost

    def finish_erasing(self) -> None:
        """Empty the write-ahead log if an erasure could not, and nobody reads from it by now."""
        with self.connections.borrowed() as session:
            (unemptied,) = session.one("is_unemptied") or (0,)
        if unemptied:
            with self._turn():
                self._unemptied = True
                self._try_to_empty()

    def has_residue(self) -> bool:
        """Whether the free space of the file's pages may hold copies of what was erased."""
        with self.connections.borrowed() as session:
            (residue,) = session.one("has_residue") or (0,)
        return bool(residue)

    def write_anew(self) -> bool:
        """Write the file without the free space of its pages, if that may hold what was erased.

        Return whether it was written and holds no such pages any more. It stays marked where a
        reader still needs the pages of before, in file or write-ahead log.
        """
        if not self.has_residue():
            return False
        with self._turn():
            with closing(Connections(str(self.path), self._wait)) as own, own.borrowed() as session:
                session.run("write_anew")
            if not self._emptied(self.connections):
                return False
            with self.connections.transaction(_FLUSH) as session:
                session.run("unmark_residue")
        return True

    def _try_to_empty(self) -> None:
        """Empty the write-ahead log without waiting for those who read from it."""
        with closing(Connections(str(self.path), 0.0)) as impatient, suppress(StorageError):
            self._emptied(impatient)

    def _emptied(self, connections: Connections) -> bool:
        """Empty the write-ahead log; False if a reader still needs it."""
        with connections.borrowed() as session:
            busy, _, _ = session.one("empty_wal") or (1, 0, 0)
        if not busy:
            with self.connections.transaction(_FLUSH) as session:
                session.run("unmark_unemptied")
            self._unemptied = False
        return not busy

    @contextmanager
    def _turn(self) -> Generator[None]:
        """Have the turn to write to files that others will find, at its end as at its beginning.

        What was committed meanwhile to files that were taken away is not acknowledged.
        """
        with self._lock.turn(self._wait):
            self.connections.must_be_in_place()
            yield
            self.connections.must_be_in_place()


def residue_of(path: Path) -> str:
    """Return the sentence that says what a file may still hold."""
    return (
        f"free space in {path} may hold pieces of what was erased: `onrecord sweep` writes the file "
        "anew, where no program reads from it meanwhile"
    )


@releasing
def open_file(path: Path, wait: float) -> SqliteFile:
    """Return the file at a path, made if there is none; typed errors say why it cannot be used."""
    path = _usable(path)
    lock = _lock_file(path)
    connections = Connections(str(path), wait)
    try:
        with lock.turn(wait):
            _make(path)
            must_be_the_only_user(path, wait)
            _prepare(connections)
            incarnation, digest_key = _recognise(path, connections, lock)
            connections.hold_files(lock.identity())
            # The lock file may have been removed before this had the turn.
            connections.must_be_in_place()
    except BaseException:
        connections.close()
        raise
    file = SqliteFile(path, connections, incarnation, digest_key, lock, wait)
    file.finish_erasing()
    return file


@releasing
def migrate_sqlite(path: Path, *, wait: float = 30.0) -> int:
    """Bring the schema of a file up to date, adding only, and return how many steps that took.

    Nothing is done if it is up to date, or is newer.
    """
    path = _usable(path)
    connections = Connections(str(path), wait)
    try:
        with _lock_file(path).turn(wait):
            _make(path)
            must_be_the_only_user(path, wait)
            version = _schema_version(connections)
            _must_be_released(connections, version)
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
    if is_made and application_id(path) != LOG_FILE:
        raise ForeignDatabase(f"{path} is not an Onrecord log: choose another file")


def _lock_file(path: Path) -> LockFile:
    place = path.with_name(f"{path.name}-lock")
    try:
        return lock_file(place, path)
    except PermissionError as exc:
        raise StorageReadOnly(f"{place} takes no writes: check its permissions") from exc
    except OSError as exc:
        raise StorageUnavailable(f"{place} cannot be made: check the disk") from exc


def _make(path: Path) -> None:
    try:
        make(path, beside=path)
    except OSError as exc:
        raise StorageUnavailable(f"{path} cannot be made: check the disk") from exc


def _prepare(connections: Connections) -> None:
    """Make the file if it is new; refuse another schema than ours."""
    version = _schema_version(connections)
    if version > _SCHEMA:
        raise SchemaNewer(
            f"the log has schema {version}, this Onrecord knows {_SCHEMA}: upgrade Onrecord"
        )
    _must_be_released(connections, version)
    if 0 < version < _SCHEMA:
        raise SchemaOlder(
            f"the log has schema {version}, this Onrecord needs {_SCHEMA}: run onrecord migrate"
        )
    _bring_up_to_date(connections, version)


def _must_be_released(connections: Connections, version: int) -> None:
    if version == 0:
        return
    with connections.borrowed() as session:
        if is_of_a_release(session, "sqlite"):
            return
    raise SchemaUnreleased(
        "the log was made by no release of Onrecord and cannot be read by one: begin a new log in "
        "another file"
    )


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
    run_steps(session, load_migrations("sqlite")[version:])
    if version == 0:
        session.run("insert_meta", uuid4().bytes, b"", new_digest_key())


def _recognise(path: Path, connections: Connections, lock: LockFile) -> tuple[bytes, bytes]:
    """Return incarnation and digest key; a copied or restored file gets another incarnation."""
    identity = lock.nonce() + _INODE.pack(path.stat().st_ino)
    with connections.transaction() as session:
        known_as, digest_key = session.one("select_meta") or (b"", b"")
        end, mark = log_end(session), lock.mark()
        # A copy whose lock file came along goes on from the mark, as another incarnation.
        goes_on = _goes_on_from if known_as != identity else _is_as_marked
        is_lost = mark is not None and not goes_on(session, mark, end)
        if mark is not None and is_lost:
            lock.lose(mark)
        if known_as != identity or is_lost:
            end.incarnation = end.incarnation if known_as == b"" else uuid4().bytes
            session.run("update_incarnation", end.incarnation, identity)
        begun = end.position if mark is None else mark.begun
        marked = Mark(end.position, begun, end.incarnation, end.leaf)
        if not is_lost:
            # Before the commit: a process killed between the two would leave another log's mark.
            lock.set_mark(marked)
    lock.set_mark(marked)
    return end.incarnation, digest_key


def log_end(session: Session) -> LogEnd:
    """Return where the log ends, and which it is: another process may have renewed its incarnation."""
    found = session.one("log_end") or (b"", 0, 0, 0, b"")
    incarnation, encrypted, position, recorded_at, leaf = found
    if len(incarnation) != _ID_SIZE:
        raise CorruptRecord("the log does not say which one it is: restore it from a backup")
    return LogEnd(incarnation, position or 0, recorded_at or 0, leaf or NO_LEAF, bool(encrypted))


def _is_as_marked(session: Session, mark: Mark, end: LogEnd) -> bool:
    """Return whether a log is the one that was marked, and went on from there."""
    return mark.incarnation == end.incarnation and _goes_on_from(session, mark, end)


def _goes_on_from(session: Session, mark: Mark, end: LogEnd) -> bool:
    """Return whether a log has what it had when it was marked."""
    if mark.position == end.position:
        return mark.is_before(end, end.leaf)
    (leaf,) = session.one("leaf_at", mark.position) or (None,)
    return mark.is_before(end, leaf)
