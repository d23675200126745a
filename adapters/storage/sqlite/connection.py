"""Connections to one SQLite file, for many threads and across forks.

SQLite forbids a forked child even to close what its parent opened, and a new connection of the
child would trust locks that only the parent holds. So before a fork every connection is closed,
between two statements of whoever uses it; parent and child open their own when they need one. Of
several threads that fork at once one does so after another.

Whoever has a connection is noted (adapters/storage/interrupts.py), so that one that an exception has left is found.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final, cast
from weakref import WeakSet

import apsw

from onrecord.adapters.storage.interrupts import Hold, holds, own_holds, release_left
from onrecord.adapters.storage.queries import load_queries
from onrecord.adapters.storage.sqlite.driver import FileConnection
from onrecord.adapters.storage.sqlite.errors import storage_error
from onrecord.adapters.storage.sqlite.held_files import HeldFiles, Identity
from onrecord.domain.errors import StorageError, StorageUnavailable

Row = tuple[Any, ...]
Value = bytes | int | str | None


class Session:
    """A borrowed connection: runs the named queries of a dialect."""

    __slots__ = ("_connection", "_sql")

    def __init__(self, connection: apsw.Connection | None, sql: Mapping[str, str]) -> None:
        """Use a connection that nobody else uses meanwhile, and these queries."""
        self._sql = sql
        self.use(connection)

    def use(self, connection: apsw.Connection | None) -> None:
        """Use another connection, or none any more: what it has is somebody else's."""
        # Its type hints name collections.abc.Buffer, which Python 3.11 does not have.
        self._connection = cast("Any", connection or _NONE)

    def run(self, query: str, *values: Value) -> None:
        """Run a query for what it does."""
        self._connection.execute(self._sql[query], values)

    def one(self, query: str, *values: Value) -> Row | None:
        """Return the first row of a query, or None."""
        return cast("Row | None", self._connection.execute(self._sql[query], values).fetchone())

    def all(self, query: str, *values: Value) -> list[Row]:
        """Return all rows of a query."""
        return cast("list[Row]", self._connection.execute(self._sql[query], values).fetchall())

    def migrate(self, sql: str) -> None:
        """Run the statements of a migration."""
        self._connection.execute(sql)

    def abandon(self) -> None:
        """Roll back what was begun, if SQLite has not done so by itself."""
        if self._connection.in_transaction:
            self.run("rollback")

    @property
    def driver(self) -> Any:
        """Return the driver's connection, for statements that are not ours."""
        return self._connection

    @contextmanager
    def savepoint(self) -> Generator[None]:
        """Undo what is written inside if an exception leaves it."""
        with self._connection:
            yield

    def changed(self) -> int:
        """Return how many rows the last query changed."""
        return int(self._connection.changes())


class _NoConnection:
    """What a session has before it has a connection, and after that was taken back."""

    in_transaction = False

    def execute(self, *_: object) -> None:
        raise StorageUnavailable("this was interrupted by an exception or a fork: do it again")


_NONE: Final = _NoConnection()


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
    def transaction(self, *before: str) -> Generator[Session]:
        """Lend a connection in a write transaction: durable at the end, nothing on an error.

        `before` are queries that are run before it begins.
        """
        with Loan(self, writes=True) as session:
            try:
                for query in before:
                    session.run(query)
                session.run("begin")
                yield session
                session.run("commit")
            except BaseException:
                session.abandon()
                raise

    def close(self) -> None:
        """Close every connection, once it was given back; lend none any more."""
        self._closed = True
        _until_given_back(self)
        self.close_idle()

    def close_idle(self) -> None:
        """Close what nobody has at the moment."""
        with suppress(IndexError):
            while True:
                self.close_one(self.idle.pop())

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
        """Close what is too many to be kept; all of them once it is closed, or while somebody forks."""
        while len(self.idle) > (0 if self._closed or _forking else _MOST_IDLE):
            with suppress(IndexError):
                self.close_one(self.idle.pop())

    def meaning(self, error: apsw.Error, connection: apsw.Connection | None) -> StorageError:
        """Return what an error of a connection means."""
        return storage_error(error, self.path, 0 if connection is None else connection.system_errno)

    def _opened(self) -> apsw.Connection:
        try:
            connection = FileConnection(self.path, _FLAGS)
        except apsw.Error as exc:
            raise storage_error(exc, self.path, 0) from exc
        try:
            connection.set_busy_timeout(round(self._wait * 1000))
            # Else SQLite plans a query anew for each other value: half of what a short read costs.
            connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
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

    def hold_files(self, lock: Identity) -> None:
        """From now on lend no connection once somebody took the files away that are open."""
        with self.borrowed() as session:
            session.one("schema_version")  # A look opens the write-ahead log and its index.
            files = HeldFiles(self.path, lock)
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

    def close_one(self, connection: apsw.Connection) -> None:
        """Close a connection; while somebody forks the write-ahead log stays, for the file is in use."""
        if _forking or (self.files is not None and not self.files.may_be_copied_back()):
            with suppress(apsw.ConnectionClosedError):  # It was closed, and an exception came then.
                connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        apsw.Connection.close(connection)  # Even one that is handed over.

    def _is_in_use(self) -> bool:
        """Whether the files are open: some connection is there."""
        return bool(self.idle) or any(loan.is_lent for loan in _loans_of(self))


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
            if _forking:
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
                self.connections.close_one(connection)
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

        Who has another connection goes on, for only then will it give that one back. Who is to fork
        next waits all the same: nobody waits for what it has.
        """
        while _forking[:1] not in ([], [self.thread]):
            if self.thread not in _forking and self._has_others():
                return
            self.step_aside(lambda: time.sleep(_PAUSE))

    def _has_others(self) -> bool:
        return any(isinstance(hold, Loan) and hold is not self for hold in own_holds())

    def _take_back_from_writers(self) -> None:
        """Roll back the transaction that an exception has left open: this one would wait for it."""
        others = (loan for loan in tuple(_writers) if loan is not self)
        if any(loan.connections.path == self.connections.path for loan in others):
            release_left(everywhere=True)


def _loans_of(connections: Connections | None) -> list[Loan]:
    """Return what is lent, or about to be: of these connections, or of all."""
    loans = (hold for hold in holds() if isinstance(hold, Loan))
    return [loan for loan in loans if connections in (None, loan.connections)]


def _until_given_back(connections: Connections | None, waiting: Collection[int] = ()) -> None:
    """Wait for what is lent, but not for what this thread has, or those have that wait for it.

    A thread has some where it is amid its use: there it forks, or the handler of a signal runs.
    """
    own = threading.get_ident()

    def must_come_back(loan: Loan) -> bool:
        return loan.is_left() or (loan.thread != own and loan.thread not in waiting)

    while any(map(must_come_back, _loans_of(connections))):
        release_left(everywhere=True)
        time.sleep(_PAUSE)


_writers: Final[dict[Loan, None]] = {}
"""The loans in a write transaction: as writers take turns, few for each file."""
_pools: Final[WeakSet[Connections]] = WeakSet()
_forking: Final[list[int]] = []
"""The threads that fork. The first of them does; the others wait until it has."""
_inherited: Final[list[apsw.Connection]] = []
"""Connections of the parent that were open as it forked: never closed by the child."""


def _before_fork() -> None:
    _wait_in_line(threading.get_ident())
    _until_given_back(None, _forking)
    for pool in list(_pools):
        pool.close_idle()


def _wait_in_line(thread: int) -> None:
    while _forking[:1] != [thread]:
        if thread in _forking:
            time.sleep(_PAUSE)
        else:
            # Once more, where the handler of a signal has forked meanwhile.
            _forking.append(thread)


def _after_fork_in_parent() -> None:
    with suppress(ValueError):
        _forking.remove(threading.get_ident())


def _after_fork_in_child() -> None:
    _forking.clear()
    for hold in holds():
        if isinstance(hold, Loan):
            hold.forfeit()


# Twice. What a signal's handler raises ends one of these functions, at its first step or later, and
# the interpreter goes on to the next. Done twice, each does nothing new.
for _ in range(2):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
