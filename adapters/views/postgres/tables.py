"""The caller's own tables beside the log: how statements that are not ours get into a transaction."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, Final, Literal, Self

import psycopg
from psycopg import RawCursor
from psycopg.abc import Query
from psycopg.pq import ExecStatus, TransactionStatus
from psycopg.rows import TupleRow
from psycopg.sql import as_string

from onrecord.adapters.storage.postgres.connections import LogConnection, sent
from onrecord.adapters.storage.postgres.errors import translated
from onrecord.domain.errors import InvalidInput
from onrecord.domain.log import RecordedEvent
from onrecord.projections.views.own_views import OwnTables
from onrecord.projections.views.step import NotWritten
from onrecord.projections.views.view import Feed

_BLANK: Final = re.compile(r"(?:[\s;]|--[^\r\n]*(?:[\r\n]|$))+")
_COMMENT: Final = re.compile(r"/\*|\*/")
_ENDS: Final = re.compile(
    r"(?:abort|begin|commit|end|prepare\s+transaction|rollback|start)\b", re.IGNORECASE
)
_COPIES: Final = re.compile(r"copy\b.*\b(?:stdin|stdout)\b", re.IGNORECASE | re.DOTALL)

STALLED: Final = "5000"
"""Milliseconds that a worker may hold its locks while nothing happens: as long as a lease."""

_OF_THE_SERVER: Final = ("08", "25", "53", "57", "58")
"""Classes of errors that no event is to blame for: lost, stalled, full, ended. All are tried again."""


class TransactionEnded(Exception):
    """A projection of one's own ended the transaction that was lent to it.

    So what it had written was kept, with a checkpoint behind events that it may not have written.
    """

    def __init__(self) -> None:
        """Say what to do."""
        super().__init__(
            "it ended the transaction that it was lent, so its rows may lack events. Mend what ends it, "
            "then resume the projection and rebuild it"
        )


class _LentCursor(RawCursor[TupleRow]):
    """A cursor of a connection that is lent: it ends no transaction."""

    def execute(self, query: Query, *arguments: Any, **options: Any) -> Self:
        """Execute a statement; InvalidInput for one that ends the transaction."""
        _must_not_end(_text_of(query, self))
        return super().execute(query, *arguments, **options)

    def executemany(self, query: Query, *arguments: Any, **options: Any) -> None:
        """Execute a statement many times; InvalidInput for one that ends the transaction."""
        _must_not_end(_text_of(query, self))
        super().executemany(query, *arguments, **options)


def _text_of(query: Query, cursor: RawCursor[TupleRow]) -> str:
    if isinstance(query, str):
        return query
    if isinstance(query, bytes):
        return query.decode("utf-8", "replace")
    return as_string(query, cursor)


def _must_not_end(statement: str) -> None:
    if _ENDS.match(_without_beginning(statement)):
        raise InvalidInput("the transaction is not yours to end: raise, and it is undone")


def _without_beginning(statement: str) -> str:
    """Return a statement from its first word on, without the comments before it; they nest."""
    at = 0
    while True:
        if blank := _BLANK.match(statement, at):
            at = blank.end()
        elif statement.startswith("/*", at):
            at = _end_of_comment(statement, at)
        else:
            return statement[at:]


def _end_of_comment(statement: str, at: int) -> int:
    depth = 0
    for mark in _COMMENT.finditer(statement, at):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return mark.end()
    return len(statement)


class PostgresTransaction:
    """A transaction of a worker, or of a reader, in the hands of a projection of one's own."""

    def __init__(self, connection: LogConnection, generation: int) -> None:
        """Use a connection that is in a transaction."""
        self._connection, self.generation = connection, generation

    @property
    def database(self) -> Literal["postgresql"]:
        """Return which database it is."""
        return "postgresql"

    @property
    def connection(self) -> Any:
        """Return the connection of psycopg; its cursors take `$1`, not `%s`."""
        return self._connection

    def execute(self, statement: str, *parameters: object) -> list[tuple[Any, ...]]:
        """Run one statement and return its rows; `$1` is the first parameter."""
        _must_not_end(statement)
        if _COPIES.match(_without_beginning(statement)):
            raise InvalidInput(
                "this is no statement with rows: use `transaction.connection` to copy"
            )
        # Without parameters the driver sends several statements as they are, and one may be COMMIT.
        # In a pipeline the server takes one statement, and refuses several.
        is_piped = ";" in statement and not parameters
        with self._connection.pipeline() if is_piped else nullcontext():
            cursor = self._connection.execute(statement.encode(), parameters or None)
        return [] if cursor.description is None else cursor.fetchall()


def limit(connection: LogConnection) -> None:
    """Let the server end a transaction that stalls while a projection of one's own is at it."""
    sent(connection, "batch_begun", STALLED)
    sent(connection, "statements_limited", STALLED)


def write_own(connection: LogConnection, feed: Feed, events: Sequence[RecordedEvent]) -> None:
    """Have a projection of one's own write events, in a transaction with limits; raises as `loan` does."""
    assert isinstance(feed.view, OwnTables)
    with loan(connection, feed.generation) as transaction:
        feed.view.write(transaction, events)


@contextmanager
def loan(connection: LogConnection, generation: int) -> Generator[PostgresTransaction]:
    """Lend a transaction to a projection of one's own; NotWritten where it raises, and nothing stays.

    TransactionEnded where it ended the transaction. What no event is to blame for is a StorageError: a lost connection, a statement that takes too long, a
    stalled transaction that the server ended. Then the whole batch is done again.
    """
    try:
        with connection.transaction(), _handed_over(connection):
            yield PostgresTransaction(connection, generation)
            # What it set would stay after the transaction, and change what we and others do by this
            # connection. A program that swallowed an error of the server is told of it here.
            with connection.pipeline():
                for settings in ("user_reset", "role_reset", "settings_reset"):
                    sent(connection, settings)
                limit(connection)
    except Exception as exc:
        if connection.closed:
            raise translated(psycopg.OperationalError()) from exc
        if connection.info.transaction_status != TransactionStatus.INTRANS:
            # There was nothing to go back to any more: neither the transaction nor the place in it.
            raise TransactionEnded from exc
        if isinstance(exc, psycopg.OperationalError) and _is_of_the_server(exc):
            raise translated(exc) from exc
        raise NotWritten(exc) from exc


def _is_of_the_server(error: psycopg.OperationalError) -> bool:
    return error.sqlstate is None or error.sqlstate.startswith(_OF_THE_SERVER)


@contextmanager
def _handed_over(connection: LogConnection) -> Generator[None]:
    """Keep a connection open, and fit for what comes next, while it is in other hands."""
    cursors = connection.cursor_factory
    connection.is_handed_over, connection.cursor_factory = True, _LentCursor
    try:
        yield
    except Exception:
        _end_copy(connection)
        raise
    finally:
        connection.is_handed_over, connection.cursor_factory = False, cursors


def _end_copy(connection: LogConnection) -> None:
    """Bring a COPY to its end that nobody reads or feeds: until then the server takes no statement."""
    driver = connection.pgconn
    if connection.closed or driver.transaction_status != TransactionStatus.ACTIVE:
        return
    while (result := driver.get_result()) is not None:
        if result.status == ExecStatus.COPY_OUT:
            while driver.get_copy_data(0)[0] > 0:
                pass
        elif result.status == ExecStatus.COPY_IN:
            driver.put_copy_end(b"nobody feeds it")
