"""A borrowed connection to SQLite, as those who have it use it: by named queries."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, Final, cast

import apsw

from onrecord.domain.errors import StorageUnavailable

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
