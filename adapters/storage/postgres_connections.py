"""Connections to PostgreSQL: a pool, one statement a round trip, and a second try if one is lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from typing import Final, TypeAlias, cast
from uuid import UUID

import psycopg
from psycopg import Connection, IsolationLevel, RawCursor
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool, PoolTimeout

from onrecord.adapters.storage.postgres_batch import Requests, RequestsDumper
from onrecord.adapters.storage.postgres_errors import is_lost, translated, translated_again
from onrecord.adapters.storage.queries import load_queries
from onrecord.domain.errors import InvalidInput

QUERIES: Final = {name: sql.encode() for name, sql in load_queries("postgres").items()}

_AGAIN_SECONDS: Final = 1.0
"""After how long who waits for a connection asks for a new one, for the server may be back."""

_Pool: TypeAlias = ConnectionPool[Connection[TupleRow]]

_DEFAULTS: Final = {"connect_timeout": "10", "application_name": "onrecord"}


def conninfo(url: str) -> str:
    """Return what libpq needs to connect; InvalidInput where it is no URL of PostgreSQL."""
    try:
        given = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        # Not chained: the driver repeats the part that it did not understand.
        raise InvalidInput(
            "the URL is not understood: write postgresql://user:password@host:5432/database, "
            "with %40 for an @ in the password"
        ) from None
    return make_conninfo(**(_DEFAULTS | {name: str(value) for name, value in given.items()}))


def connected(info: str) -> Connection[TupleRow]:
    """Return one connection of its own; a typed error says why there is none."""
    try:
        return psycopg.connect(info, autocommit=True, cursor_factory=RawCursor)
    except psycopg.Error as error:
        raise translated(error) from error


class Connections:
    """The connections of one process to one log. Safe to share between threads."""

    def __init__(self, info: str, *, most: int, wait: float, prepared: bool) -> None:
        """Open as they are needed, `most` at once; wait for one that long (seconds)."""
        self._lock = threading.Lock()
        self._incarnation: UUID | None = None
        self._digest_key = b""
        self._threshold = 0 if prepared else None
        self._info, self._most, self._wait = info, most, wait
        self._opened = False
        self._pool = self._new_pool()

    def ask(self, name: str, parameters: Sequence[object] = ()) -> list[TupleRow]:
        """Return the rows of a named query, committed.

        If the connection is lost, it is asked once more on another one: each query of ours may be
        repeated, for event ids tell an append that was recorded already.
        """
        try:
            return self._ask(name, parameters)
        except psycopg.Error as error:
            if not is_lost(error):
                raise translated(error) from error
        try:
            self._pool.check()
            return self._ask(name, parameters)
        except psycopg.Error as error:
            raise translated_again(error) from error

    @contextmanager
    def transaction(self, *, is_piped: bool = False) -> Generator[Connection[TupleRow]]:
        """Yield a connection in a transaction: committed at the end, rolled back at an error.

        If it is piped, a statement waits for no answer but its own, and the end for all of them.
        """
        try:
            pool, connection = self._lent()
            try:
                with connection.pipeline() if is_piped else nullcontext(), connection.transaction():
                    yield connection
            finally:
                pool.putconn(connection)
        except psycopg.Error as error:
            raise translated(error) from error

    def incarnation(self) -> UUID:
        """Return the incarnation of the log that the newest connection found."""
        if self._incarnation is None:
            self.ask("identity")
        return cast("UUID", self._incarnation)

    def digest_key(self) -> bytes:
        """Return the key of the log's digests."""
        self.incarnation()
        return self._digest_key

    def close(self) -> None:
        """Close them all; asking afterwards is an error."""
        with self._lock:
            self._opened = True
        self._pool.close()

    def _ask(self, name: str, parameters: Sequence[object]) -> list[TupleRow]:
        # Not `with pool.connection()`: there is no transaction to end, and looking takes time.
        pool, connection = self._lent()
        try:
            return fetched(connection, name, parameters)
        finally:
            pool.putconn(connection)

    def _lent(self) -> tuple[_Pool, Connection[TupleRow]]:
        """Return a connection and the pool that it goes back to.

        A pool that tries to connect by itself waits longer each time, so that a server that is back
        would be found late. Ours gives up at once, and whoever waits asks it again.
        """
        if not self._opened:
            self._open()
        pool, deadline = self._pool, time.monotonic() + self._wait
        while (left := deadline - time.monotonic()) > _AGAIN_SECONDS:
            with suppress(PoolTimeout):
                return pool, pool.getconn(_AGAIN_SECONDS)
        return pool, pool.getconn(max(left, 0))

    def _open(self) -> None:
        with self._lock:
            if self._opened:
                return
            try:
                # Waits for the first connection: who asks while it comes up makes it two.
                self._pool.open(wait=True, timeout=self._wait)
            except PoolTimeout:
                self._pool = self._new_pool()
                raise
            self._opened = True

    def _new_pool(self) -> _Pool:
        return ConnectionPool(
            self._info,
            kwargs={"autocommit": True, "cursor_factory": RawCursor},
            configure=self._introduce,
            min_size=1,
            max_size=self._most,
            timeout=self._wait,
            reconnect_timeout=0,
            open=False,
            name="onrecord",
        )

    def _introduce(self, connection: Connection[TupleRow]) -> None:
        connection.prepare_threshold = self._threshold
        # A snapshot from before a lock was waited for would show what is erased by then.
        connection.isolation_level = IsolationLevel.READ_COMMITTED
        connection.adapters.register_dumper(Requests, RequestsDumper)
        [(incarnation, key)] = fetched(connection, "identity")
        self._digest_key, self._incarnation = key, incarnation


def fetched(
    connection: Connection[TupleRow], name: str, parameters: Sequence[object] = ()
) -> list[TupleRow]:
    """Return the rows of a named query on a connection, values in their binary form."""
    cursor = connection.execute(QUERIES[name], parameters, binary=True)
    # Its `description` would say the same, but makes a list of the columns for it.
    return [] if cursor.rownumber is None else cursor.fetchall()
