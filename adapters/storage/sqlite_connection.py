"""Connections to one SQLite file, for many threads and across forks.

SQLite forbids a forked child even to close what its parent opened, and a new connection of the
child would trust locks that only the parent holds. So before a fork every connection is closed,
between two statements of whoever uses it; parent and child open their own when they need one.

Whoever has a connection is noted (holds.py), so that one that an exception has left is found.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Final
from weakref import WeakSet

import apsw

from onrecord.adapters.storage.holds import Hold, held, own_holds, release_left
from onrecord.adapters.storage.queries import load_queries
from onrecord.adapters.storage.sqlite_errors import storage_error
from onrecord.adapters.storage.sqlite_held_files import HeldFiles
from onrecord.adapters.storage.sqlite_session import Row, Session, Value
from onrecord.domain.errors import StorageError, StorageUnavailable

__all__ = ["Connections", "Loan", "Row", "Session", "Value"]

_MOST_IDLE: Final = 8
_PAUSE: Final = 0.001
"""Seconds between two looks while waiting for a fork or a returned connection."""
# A path begins with a slash; a URI names a database in memory, which has none.
_FLAGS: Final = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI


class Connections:
    """Opens, lends and takes back connections; each thread has the one it borrowed to itself."""

    def __init__(self, path: str, wait: float, dialect: str = "sqlite") -> None:
        """Open nothing yet; `wait` is how many seconds a statement waits for another's lock.

        `dialect` is the folder of its queries; `idle` is what nobody has at the moment.
        """
        self.queries = load_queries(dialect)
        self.files: HeldFiles | None = None
        self.path = path
        self._wait = wait
        self.idle: list[apsw.Connection] = []
        self._closed = False
        _pools.add(self)

    def borrowed(self) -> Loan:
        """Lend a connection; SQLite's errors inside come out as StorageErrors."""
        return Loan(self)

    @contextmanager
    def transaction(self) -> Generator[Session]:
        """Lend a connection in a write transaction: durable at the end, nothing on an error."""
        with Loan(self, writes=True) as session:
            try:
                session.run("begin")
                yield session
                session.run("commit")
            except BaseException:
                session.abandon()
                raise

    def close(self) -> None:
        """Close every connection, once it was given back; lend none any more."""
        self._closed = True
        self._until_given_back()
        self._close_idle()

    def close_for_fork(self) -> None:
        """Close every connection, once it was given back, while a fork keeps others from opening one."""
        self._until_given_back()
        for connection in self.idle:
            # The file goes on being used: the write-ahead log stays as it is.
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        self._close_idle()

    def take(self) -> apsw.Connection:
        """Return a connection that nobody else has; `Loan` notes who has it."""
        if self._closed:
            raise StorageUnavailable("the store is closed: connect again")
        if self.files is not None:
            self.files.glance(self._is_in_use)
        try:
            return self.idle.pop()
        except IndexError:
            return self._opened()

    def trim(self) -> None:
        """Close what is too many to be kept; all of them once it is closed."""
        while len(self.idle) > (0 if self._closed else _MOST_IDLE):
            with suppress(IndexError):
                self.end(self.idle.pop())

    def meaning(self, error: apsw.Error, connection: apsw.Connection | None) -> StorageError:
        """Return what an error of a connection means."""
        return storage_error(error, self.path, 0 if connection is None else connection.system_errno)

    def _opened(self) -> apsw.Connection:
        try:
            connection = apsw.Connection(self.path, _FLAGS)
        except apsw.Error as exc:
            raise storage_error(exc, self.path, 0) from exc
        try:
            connection.set_busy_timeout(round(self._wait * 1000))
            Session(connection, self.queries).run("prepare_connection")
            self._look(connection)
        except apsw.Error as exc:
            system_errno = connection.system_errno
            connection.close()
            raise storage_error(exc, self.path, system_errno) from exc
        except BaseException:
            connection.close()
            raise
        return connection

    def hold_files(self) -> None:
        """From now on lend no connection once somebody took the files away that are open."""
        with self.borrowed() as session:
            session.one("schema_version")  # A look opens the write-ahead log and its index.
            files = HeldFiles(self.path)
            files.take_note()
            self.files = files

    def must_be_in_place(self) -> None:
        """Raise StorageUnavailable where somebody took the files away that are open."""
        if self.files is not None:
            self.files.check(self._is_in_use)

    def _look(self, connection: apsw.Connection) -> None:
        """Open the files by a look; the first connection of a process tells which they are."""
        if self.files is None:
            return
        Session(connection, self.queries).one("schema_version")
        if self._is_in_use():
            self.files.check(lambda: True)
        else:
            self.files.take_note()

    def end(self, connection: apsw.Connection) -> None:
        """Close a connection."""
        if self.files is not None and not self.files.may_be_copied_back():
            with suppress(apsw.ConnectionClosedError):  # It was closed, and an exception came then.
                connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection.close()

    def _is_in_use(self) -> bool:
        """Whether the files are open: some connection is there."""
        return bool(self.idle) or any(loan.is_lent for loan in _loans_of(self))

    def _until_given_back(self) -> None:
        while loans := _loans_of(self):
            release_left(everywhere=True)
            # One's own, amid which the handler of a signal runs, will not be given back meanwhile.
            if all(loan.thread == threading.get_ident() and not loan.is_left() for loan in loans):
                return
            time.sleep(_PAUSE)

    def _close_idle(self) -> None:
        while self.idle:
            self.end(self.idle.pop())


class Loan(Hold):
    """A connection for as long as a `with` lasts; it is on the path of every verb, so it is lean.

    One that `writes` is in a transaction that keeps all other writers of the file out.
    """

    __slots__ = ("_connection", "_is_clean", "_session", "connections", "writes")

    def __init__(self, connections: Connections, *, writes: bool = False) -> None:
        """Borrow nothing yet."""
        self.connections = connections
        self.writes = writes
        self._connection: apsw.Connection | None = None
        self._session = Session(None, connections.queries)
        self._is_clean = False

    def __enter__(self) -> Session:
        """Borrow a connection."""
        self.note()
        try:
            if self.writes:
                _writers[self] = None
            if _forking is not None:
                self._wait_for_the_fork()
            if self.writes:
                self._take_back_from_writers()
            self._connection = self.connections.take()
            self._session.use(self._connection)
        except BaseException:
            self.give_back()
            raise
        return self._session

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """Give it back; raise a StorageError for an error of SQLite."""
        meant = None
        self._is_clean = error is None or isinstance(error, Exception)
        if isinstance(error, apsw.Error):
            meant = self.connections.meaning(error, self._connection)
        self.give_back()
        if meant is not None:
            raise meant from error

    def give_back(self) -> None:
        """Let others have the connection; one that an exception came amid is closed and rolled back."""
        if (connection := self._connection) is not None:
            # A scope that an exception has left may be ended later, when another has the connection.
            self._session.use(None)
            if self._is_clean and not connection.in_transaction:
                # No handler runs between these two: given back twice, it would be lent to two.
                self._connection = None
                self.connections.idle.append(connection)
                self.connections.trim()
            else:
                self.connections.end(connection)
                self._connection = None
        self.drop()

    def drop(self) -> None:
        """Note no longer that it is lent."""
        _writers.pop(self, None)
        super().drop()

    @property
    def is_lent(self) -> bool:
        """Whether it has its connection."""
        return self._connection is not None

    def forfeit(self) -> None:
        """Leave the connection to the process that opened it: what a forked child does."""
        if self._connection is not None:
            _inherited.append(self._connection)
            self._connection = None
            self._session.use(None)
        self.drop()

    def _wait_for_the_fork(self) -> None:
        """Wait while another thread forks: it waits for all that is lent.

        Who has another connection goes on, for only then will it give that one back.
        """
        while _forking not in (None, self.thread) and not self._has_others():
            self.step_aside(lambda: time.sleep(_PAUSE))

    def _has_others(self) -> bool:
        return any(isinstance(hold, Loan) and hold is not self for hold in own_holds())

    def _take_back_from_writers(self) -> None:
        """Roll back the transaction that an exception has left open: this one would wait for it."""
        others = (loan for loan in tuple(_writers) if loan is not self)
        if any(loan.connections.path == self.connections.path for loan in others):
            release_left(everywhere=True)


def _loans_of(connections: Connections) -> list[Loan]:
    loans = (hold for hold in held() if isinstance(hold, Loan))
    return [loan for loan in loans if loan.connections is connections]


_writers: Final[dict[Loan, None]] = {}
"""The loans in a write transaction: as writers take turns, few for each file."""
_pools: Final[WeakSet[Connections]] = WeakSet()
_forking: int | None = None
"""The thread that forks, while it does."""
_inherited: Final[list[apsw.Connection]] = []
"""Connections of the parent that was amid their use as it forked: never closed by the child."""


def _before_fork() -> None:
    global _forking
    _forking = threading.get_ident()
    try:
        _close_all()
    except BaseException:
        # The fork goes on all the same, and would copy what is still open.
        _close_all()
        raise


def _close_all() -> None:
    for pool in list(_pools):
        pool.close_for_fork()


def _after_fork_in_parent() -> None:
    global _forking
    _forking = None


def _after_fork_in_child() -> None:
    global _forking
    _forking = None
    for hold in held():
        if isinstance(hold, Loan):
            hold.forfeit()


os.register_at_fork(
    before=_before_fork,
    after_in_parent=_after_fork_in_parent,
    after_in_child=_after_fork_in_child,
)
