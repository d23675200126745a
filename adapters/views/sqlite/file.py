"""The file of a SQLite log's views: how it is made, whose it is, and who may write to it.

`talks.db` has its views in `talks.db-views`, whose writers take turns by `talks.db-views-lock`. All
that is in it can be made again from the log, so what is damaged, or was folded from another log, is
emptied and begun anew. It is emptied in place, as SQLite's own documentation advises for damaged
files (SQLITE_DBCONFIG_RESET_DATABASE), so that no program is left reading a file that was deleted.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Generator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from typing import Final
from uuid import UUID, uuid4

import apsw

from onrecord.adapters.storage.queries import load_migrations, load_queries
from onrecord.adapters.storage.sqlite.connection import Connections, Loan, Session
from onrecord.adapters.storage.sqlite.errors import storage_error
from onrecord.adapters.storage.sqlite.header import (
    VIEWS_FILE,
    application_id,
    is_of_a_release,
    run_steps,
)
from onrecord.adapters.storage.sqlite.held_files import make
from onrecord.adapters.storage.sqlite.lock import LockFile, lock_file
from onrecord.domain.errors import (
    CorruptRecord,
    ForeignDatabase,
    SchemaNewer,
    StorageBusy,
    StorageError,
    StorageReadOnly,
    StorageUnavailable,
)
from onrecord.domain.log import Backend
from onrecord.projections.views.registry import VIEWS

DIALECT: Final = "sqlite_views"
"""The folder of its SQL."""


class ViewsFile:
    """The views of one incarnation of a log, in a file beside it or in memory; made when needed."""

    def __init__(self, path: Path | None, wait: float) -> None:
        """Open nothing yet; without a `path` it is in memory. A turn is waited for so long."""
        self.path = path
        self.wait = wait
        self._place = f"file:/onrecord-{uuid4().hex}?vfs=memdb" if path is None else str(path)
        self.connections = Connections(self._place, wait, DIALECT)
        self._threads = _Threads()
        self._lock: LockFile | None = None
        self._inode: int | None = None

    @contextmanager
    def turn(self, incarnation: UUID, wait: float | None = None) -> Generator[None]:
        """Have the turn to write; then the file is there, and it is of this incarnation.

        StorageBusy if the turn does not come within `wait` seconds.
        """
        with self._turns().turn(self.wait if wait is None else wait):
            if not self.is_in_place():
                self._look()
            try:
                self._prepare(incarnation)
            except (CorruptRecord, ForeignDatabase):
                self.begin_anew(incarnation)
            self._inode = self._inode_now()
            yield

    def is_in_place(self) -> bool:
        """Whether the file is the one that was prepared: it may be deleted at any time."""
        return self._inode is not None and self._inode == self._inode_now()

    def is_there(self) -> bool:
        """Whether there is a file, of whatever kind."""
        return (self._inode if self.path is None else self._inode_now()) is not None

    def is_damaged(self) -> bool:
        """Whether SQLite finds a fault in it; it is read to its end."""
        try:
            with self.borrowed() as session:
                return session.one("check") != ("ok",)
        except CorruptRecord:
            return True

    def is_prepared(self, incarnation: UUID) -> bool:
        """Whether it can be read as it is, without having the turn."""
        if not self.is_in_place():
            return False
        with self.borrowed() as session:
            return made_of(session) == (len(load_migrations(DIALECT)), str(incarnation))

    def transaction(self) -> AbstractContextManager[Session]:
        """Lend a connection in a write transaction, to who has the turn."""
        return self.connections.transaction()

    def borrowed(self) -> Loan:
        """Lend a connection, for reading."""
        return self.connections.borrowed()

    def begin_anew(self, incarnation: UUID) -> None:
        """Empty the file, whatever is in it, and make it again, while having the turn."""
        self._reset()
        self._prepare(incarnation)
        self.empty_wal(patiently=True)

    def empty_wal(self, *, patiently: bool) -> bool:
        """Empty the write-ahead log; False if a reader still needs it, and does for long."""
        if patiently:
            return _emptied_wal(self.connections)
        with closing(Connections(self._place, 0.0, DIALECT)) as impatient:
            return _emptied_wal(impatient)

    def has_residue(self) -> bool:
        """Whether the free space of its pages may hold copies of what was erased."""
        if self.path is None:
            return False
        with self.borrowed() as session:
            (residue,) = session.one("has_residue") or (0,)
        return bool(residue)

    def write_anew(self) -> bool:
        """Write the file without the free space of its pages, while having the turn.

        Return whether no such pages are left. It stays marked where a reader still needs them.
        """
        own = Connections(self._place, self.wait, DIALECT)
        with closing(own), own.borrowed() as session:
            session.run("write_anew")
        if not self.empty_wal(patiently=True):
            return False
        with self.transaction() as session:
            session.run("unmark_residue")
        return True

    def close(self) -> None:
        """Close every connection."""
        self.connections.close()

    def _turns(self) -> LockFile | _Threads:
        if self.path is None:
            return self._threads
        place = self.path.with_name(f"{self.path.name}-lock")
        try:
            # Kept, so that it stays open between two turns.
            self._lock = lock_file(place, _log_of(self.path))
            return self._lock
        except PermissionError as exc:
            raise _unwritable(place) from exc
        except OSError as exc:
            raise StorageUnavailable(f"{place} cannot be made: check the disk") from exc

    def _inode_now(self) -> int | None:
        if self.path is None:
            return 0
        try:
            return self.path.stat().st_ino
        except FileNotFoundError:
            return None

    def _look(self) -> None:
        """See whether the file that is there may be used, and open it instead of another one."""
        if self.path is None:
            return
        _must_be_writable(self.path)
        doubtful = _must_not_be_foreign(self.path)
        self.connections.close()
        if not self.path.exists():
            _remove_what_it_left(self.path)
            self._make(self.path)
        self.connections = Connections(self._place, self.wait, DIALECT)
        if doubtful:
            self._must_be_ours_or_empty()

    def _make(self, path: Path) -> None:
        try:
            make(path, beside=_log_of(path))
        except OSError as exc:
            raise StorageUnavailable(f"{path} cannot be made: check the disk") from exc

    def _must_be_ours_or_empty(self) -> None:
        with self.borrowed() as session:
            (objects,) = session.one("count_objects") or (0,)
            (application,) = session.one("application_id") or (0,)
        if objects and application != VIEWS_FILE:
            raise _foreign(self._place)

    def _prepare(self, incarnation: UUID) -> None:
        newest = len(load_migrations(DIALECT))
        with self.borrowed() as session:
            migrations, folded_from = made_of(session)
        if migrations > newest:
            raise SchemaNewer(
                f"the views in {self._place} have schema {migrations}, this Onrecord knows {newest}:"
                " upgrade Onrecord, or delete the file, which is made again from the log"
            )
        if migrations and (folded_from != str(incarnation) or not self._is_of_a_release()):
            self._reset()
            migrations = 0
        if migrations < newest:
            self._migrate(migrations, incarnation)

    def _is_of_a_release(self) -> bool:
        with self.borrowed() as session:
            return is_of_a_release(session, DIALECT)

    def _migrate(self, migrations: int, incarnation: UUID) -> None:
        with self.borrowed() as session:
            # First, so that no file is made whose writers and readers wait for one another.
            session.run("enter_wal")
        with self.connections.transaction() as session:
            steps = load_migrations(DIALECT)
            run_steps(session, steps[migrations:])
            session.run("set_made", len(steps), str(incarnation), 0)

    def _reset(self) -> None:
        try:
            _emptied(self._place, self.wait)
        except apsw.Error as exc:
            raise _unmendable(self._place, exc) from exc


def _log_of(path: Path) -> Path:
    """Return the log beside which a file of views stands."""
    return path.with_name(path.name.removesuffix("-views"))


class _Threads:
    """The turn of a database in memory: only threads use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    @contextmanager
    def turn(self, wait: float) -> Generator[None]:
        if not self._lock.acquire(timeout=wait):
            raise StorageBusy("another thread catches the views up for too long: retry")
        try:
            yield
        finally:
            self._lock.release()


def _emptied_wal(connections: Connections) -> bool:
    with connections.borrowed() as session:
        busy, _, _ = session.one("empty_wal") or (1, 0, 0)
    return not busy


def made_of(session: Session) -> tuple[int, str]:
    """Return by how many migrations a file was made, and of which log."""
    (there,) = session.one("is_made") or (0,)
    if not there:
        return 0, ""
    made = session.one("made_of")
    if made is None:
        raise CorruptRecord("the views' file does not say of which log it is")
    return made[0], made[1]


def _must_be_writable(path: Path) -> None:
    # The folder too: SQLite keeps the write-ahead log beside the file.
    for place in (path.parent, path):
        if place.exists() and not os.access(place, os.W_OK):
            raise _unwritable(place)


def _must_not_be_foreign(path: Path) -> bool:
    """Refuse what is surely not ours; return whether only SQLite can tell: it may hold nothing."""
    if not path.exists():
        return False
    if not path.is_file():
        raise _foreign(str(path))
    if not path.stat().st_size:
        return False
    application = application_id(path)
    if application not in (0, VIEWS_FILE):
        raise _foreign(str(path))
    return application == 0


def _remove_what_it_left(path: Path) -> None:
    """Take away what belonged to a file that was deleted: of a new one it would tell wrong things.

    Programs that still have the old file open keep these too, until they look again.
    """
    for name in ("wal", "shm", "journal"):
        path.with_name(f"{path.name}-{name}").unlink(missing_ok=True)


def _foreign(place: str) -> StorageError:
    return ForeignDatabase(
        f"{place} holds something else, and is where the views of the log are kept: move it away"
    )


def _unwritable(place: Path) -> StorageError:
    return StorageReadOnly(
        f"{place} takes no writes, and the views of a log are kept beside it: let this user write "
        "there, or copy the log to a folder of its own"
    )


def _unmendable(place: str, error: apsw.Error) -> StorageError:
    if isinstance(error, apsw.BusyError | apsw.FullError | apsw.ReadOnlyError | apsw.IOError):
        return storage_error(error, place, 0)
    return CorruptRecord(
        f"{place} is damaged: end the programs that use it and delete it; it is made again"
    )


def _emptied(place: str, wait: float) -> None:
    """Empty a database by a connection of its own: the pool's cannot open one that is damaged."""
    connection = apsw.Connection(place, apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI)
    try:
        connection.set_busy_timeout(round(wait * 1000))
        session = Session(connection, load_queries(DIALECT))
        with suppress(apsw.Error):
            session.run("count_objects")  # Only then does it know of the write-ahead log.
        connection.config(apsw.SQLITE_DBCONFIG_RESET_DATABASE, 1)
        session.run("reset")
        connection.config(apsw.SQLITE_DBCONFIG_RESET_DATABASE, 0)
    finally:
        connection.close()


# Taking out of the views' file what the log has erased.
#
# Whoever calls has the turn of the file. The log counts its erasures, and the file says how many
# of them are done in it. The write-ahead log is emptied afterwards, for it holds the pages as
# they were.


def erase(log: Backend, file: ViewsFile, *, patiently: bool = False) -> bool:
    """Take out of all views what the log has erased since.

    Returns whether no file holds it any more: a reader may still need the write-ahead log, who is
    waited for if that is to be done patiently. It is tried again whenever something is read.
    """
    done, unemptied = _done(file)
    due = log.erasures()
    if due < done:
        # An older file was put in the log's place: what came since is not in it, nor its erasures.
        file.begin_anew(log.incarnation())
        done, unemptied = 0, False
    if due > done:
        with file.transaction() as session:
            for conversation in log.erased(done)[: due - done]:
                _take_out(session, str(conversation))
            session.run("set_erasures", due)
    if due == done and not unemptied:
        return True
    if emptied := file.empty_wal(patiently=patiently):
        with file.transaction() as session:
            session.run("unmark_unemptied")
    return emptied


def _done(file: ViewsFile) -> tuple[int, bool]:
    with file.borrowed() as session:
        done, unemptied = session.one("erasing") or (0, 0)
    return done, bool(unemptied)


def _take_out(session: Session, conversation: str) -> None:
    for name in VIEWS:
        session.run(f"{name}_forget", conversation)
    session.run("own_forget", conversation)
    session.run("retry_erased", conversation)
