"""Connections that coroutines wait for: of each event loop a few, one statement a round trip.

The pool is not psycopg's. That one has tasks of its own, which a loop that ends cancels before it asks
anybody to close, and what they hold then is lost with a warning at best. This one has none: a connection
is opened and given back by who waits for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Final

import psycopg
from psycopg import pq
from psycopg.rows import TupleRow

from onrecord.adapters.storage.postgres.errors import is_lost, translated, translated_again
from onrecord.adapters.storage.postgres.event_loops import (
    Connecting,
    EventLoops,
    LoopConnection,
)
from onrecord.adapters.storage.postgres.pool import AllLent
from onrecord.adapters.storage.steps import CLOSED
from onrecord.domain.errors import StorageUnavailable

_ALL_LENT: Final = "no connection came back in time"


class AsyncConnections:
    """The connections of a process's event loops to one log. Safe to share between their threads."""

    def __init__(self, connecting: Connecting, *, most: int) -> None:
        """Connect as loops need it, `most` at once in each."""
        self._connecting = connecting
        self._loops = EventLoops(lambda: _LoopConnections(connecting, most))

    async def ask(self, name: str, parameters: Sequence[object] = ()) -> list[TupleRow]:
        """Return the rows of a named query, committed; once more on another connection if one is lost.

        Each query of ours may be repeated, as `Connections.ask` says. Where the caller is cancelled,
        what it asked for is done or not.
        """
        own, query = await self._loops.own(), self._connecting.query(name)
        try:
            return await own.ask(query, parameters)
        except psycopg.Error as error:
            if not is_lost(error):
                raise translated(error) from error
        try:
            own.discard()  # Those that nobody has are lost with it.
            return await own.ask(query, parameters)
        except psycopg.Error as error:
            raise translated_again(error) from error

    def close(self) -> None:
        """Close the connections of all loops; asking afterwards is an error."""
        self._loops.close()


class _LoopConnections:
    """The connections of one event loop; the one that came back last is lent first."""

    def __init__(self, connecting: Connecting, most: int) -> None:
        self._connecting = connecting
        self._left = asyncio.Semaphore(most)
        self._free: list[LoopConnection] = []
        self._lent: set[LoopConnection] = set()
        self._loop = asyncio.get_running_loop()
        self.closed = False

    async def ask(self, query: bytes, parameters: Sequence[object]) -> list[TupleRow]:
        async with self._loan() as connection:
            cursor = await connection.execute(query, parameters, binary=True)
            return [] if cursor.rownumber is None else await cursor.fetchall()

    def discard(self) -> None:
        """Close those that nobody has."""
        free, self._free = self._free, []
        for connection in free:
            connection.pgconn.finish()

    def close(self) -> None:
        """Lend no more. What is lent is closed as it comes back, or here if its loop is gone."""
        self.closed = True
        self.discard()
        if self._loop.is_closed():
            for connection in tuple(self._lent):
                connection.pgconn.finish()

    @asynccontextmanager
    async def _loan(self) -> AsyncGenerator[LoopConnection]:
        await self._wait_for_turn()
        connection: LoopConnection | None = None
        try:
            connection = await self._lend()
            self._lent.add(connection)
            yield connection
        finally:
            self._left.release()
            if connection is not None:
                self._take_back(connection)

    async def _wait_for_turn(self) -> None:
        if not self._left.locked():
            await self._left.acquire()  # At once: a time limit would cost more than it does.
            return
        try:
            async with asyncio.timeout(self._connecting.wait):
                await self._left.acquire()
        except TimeoutError:
            raise AllLent(_ALL_LENT) from None

    async def _lend(self) -> LoopConnection:
        while self._free:
            connection = self._free.pop()
            if not connection.closed:
                return connection
        if self.closed:
            raise StorageUnavailable(CLOSED)
        return await self._connecting.connected()

    def _take_back(self, connection: LoopConnection) -> None:
        self._lent.discard(connection)
        # One that is amid something was left by a caller that was cancelled.
        is_idle = connection.pgconn.transaction_status == pq.TransactionStatus.IDLE
        if is_idle and not self.closed:
            self._free.append(connection)
        else:
            connection.pgconn.finish()
