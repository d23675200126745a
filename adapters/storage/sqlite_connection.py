"""Connections to one SQLite file, for many threads and across forks.

SQLite forbids a forked child even to close what its parent opened, and a new connection of the
child would trust locks that only the parent holds. So before a fork every connection is closed,
between two statements of whoever uses it; parent and child open their own when they need one.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, Final, cast
from weakref import WeakSet

import apsw

from onrecord.adapters.storage.queries import load_queries
from onrecord.adapters.storage.sqlite_errors import storage_error
from onrecord.domain.errors import StorageError, StorageUnavailable

_MOST_IDLE: Final = 8
# A path begins with a slash; a URI names a database in memory, which has none.
_FLAGS: Final = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI

Row = tuple[Any, ...]
Value = bytes | int | str | None


class Session:
    """A borrowed connection: runs the named queries of a dialect."""

    __slots__ = ("_connection", "_sql")

    def __init__(self, connection: apsw.Connection, sql: Mapping[str, str]) -> None:
        """Use a connection that nobody else uses meanwhile, and these queries."""
        self._sql = sql
        # Its type hints name collections.abc.Buffer, which Python 3.11 does not have.
        self._connection = cast("Any", connection)

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

    @contextmanager
    def savepoint(self) -> Generator[None]:
        """Undo what is written inside if an exception leaves it."""
        with self._connection:
            yield

    def changed(self) -> int:
        """Return how many rows the last query changed."""
        return int(self._connection.changes())


class Connections:
    """Opens, lends and takes back connections; each thread has the one it borrowed to itself."""

    def __init__(self, path: str, wait: float, dialect: str = "sqlite") -> None:
        """Open nothing yet; `wait` is how many seconds a statement waits for another's lock.

        `dialect` is the folder of its queries.
        """
        self.queries = load_queries(dialect)
        self._path = path
        self._wait = wait
        self._idle: list[apsw.Connection] = []
        self._lent = 0
        self._closed = False
        self._changed = threading.Condition()
        _pools.add(self)

    def borrowed(self) -> Loan:
        """Lend a connection; SQLite's errors inside come out as StorageErrors."""
        return Loan(self)

    @contextmanager
    def transaction(self) -> Generator[Session]:
        """Lend a connection in a write transaction: durable at the end, nothing on an error."""
        with self.borrowed() as session:
            session.run("begin")
            try:
                yield session
                session.run("commit")
            except BaseException:
                session.abandon()
                raise

    def close(self) -> None:
        """Close every connection, once it was given back; lend none any more."""
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: self._lent == 0)
            self._close_idle()

    def before_fork(self) -> None:
        """Close every connection and keep others from opening one."""
        self._changed.acquire()
        self._changed.wait_for(lambda: self._lent == 0)
        for connection in self._idle:
            # The file goes on being used: the write-ahead log stays as it is.
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        self._close_idle()

    def after_fork_in_parent(self) -> None:
        """Let threads open connections again."""
        self._changed.release()

    def after_fork_in_child(self) -> None:
        """Forget the parent's threads."""
        self._changed = threading.Condition()

    def take(self) -> apsw.Connection:
        """Return a connection that nobody else has; `give_back` is to follow."""
        with self._changed:
            if self._closed:
                raise StorageUnavailable("the store is closed: connect again")
            connection = self._idle.pop() if self._idle else self._opened()
            self._lent += 1
            return connection

    def give_back(self, connection: apsw.Connection) -> None:
        """Take a connection back."""
        with self._changed:
            self._lent -= 1
            if len(self._idle) < _MOST_IDLE:
                self._idle.append(connection)
            else:
                connection.close()
            if not self._lent:
                self._changed.notify_all()

    def _opened(self) -> apsw.Connection:
        try:
            connection = apsw.Connection(self._path, _FLAGS)
        except apsw.Error as exc:
            raise storage_error(exc, self._path, 0) from exc
        try:
            connection.set_busy_timeout(round(self._wait * 1000))
            Session(connection, self.queries).run("prepare_connection")
        except apsw.Error as exc:
            system_errno = connection.system_errno
            connection.close()
            raise storage_error(exc, self._path, system_errno) from exc
        return connection

    def meaning(self, error: apsw.Error, connection: apsw.Connection) -> StorageError:
        """Return what an error of a connection means."""
        return storage_error(error, self._path, connection.system_errno)

    def _close_idle(self) -> None:
        while self._idle:
            self._idle.pop().close()


class Loan:
    """A connection for as long as a `with` lasts; it is on the path of every verb, so it is lean."""

    __slots__ = ("_connection", "_connections")

    def __init__(self, connections: Connections) -> None:
        """Borrow nothing yet."""
        self._connections = connections

    def __enter__(self) -> Session:
        """Borrow a connection."""
        self._connection = self._connections.take()
        return Session(self._connection, self._connections.queries)

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """Give it back; raise a StorageError for an error of SQLite."""
        connection, meant = self._connection, None
        if isinstance(error, apsw.Error):
            meant = self._connections.meaning(error, connection)
        self._connections.give_back(connection)
        if meant is not None:
            raise meant from error


_pools: Final[WeakSet[Connections]] = WeakSet()
_paused: Final[list[Connections]] = []


def _before_fork() -> None:
    for pool in list(_pools):
        pool.before_fork()
        _paused.append(pool)


def _after_fork_in_parent() -> None:
    while _paused:
        _paused.pop().after_fork_in_parent()


def _after_fork_in_child() -> None:
    while _paused:
        _paused.pop().after_fork_in_child()


os.register_at_fork(
    before=_before_fork,
    after_in_parent=_after_fork_in_parent,
    after_in_child=_after_fork_in_child,
)
