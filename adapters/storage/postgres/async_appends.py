"""Appends that coroutines await: in each event loop one connection, and one commit at a time.

What is awaited while a commit is under way goes into the next one, as in group_commit.py. The
commits are a task's of their own, which lives while there is something to commit: a caller that is
cancelled disturbs neither it nor the others.
"""

from __future__ import annotations

import asyncio
import threading
from asyncio import AbstractEventLoop, Future
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeAlias

import psycopg
from psycopg import AsyncConnection, AsyncRawCursor
from psycopg.rows import TupleRow

from onrecord.adapters.storage.postgres.batch import Requests, RequestsDumper, parameters_of
from onrecord.adapters.storage.postgres.connections import Address, queries_of
from onrecord.adapters.storage.postgres.errors import is_lost, translated, translated_again
from onrecord.adapters.storage.postgres.group_commit import SHARED_FATE, Row, fitting, own_error
from onrecord.adapters.storage.postgres.pool import leave_to_parent
from onrecord.domain.errors import OnrecordError, StorageUnavailable

_Connection: TypeAlias = AsyncConnection[TupleRow]

_CLOSED: Final = "the store is closed: connect again"
_ENDED: Final = (
    "the event loop ended; whether the last append was recorded is not known: append the same "
    "events again, their ids make that safe"
)

_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 1.0


class AsyncAppends:
    """The appends of a process's event loops to one log. Safe to share between their threads."""

    def __init__(self, address: Address, *, wait: float, prepared: bool) -> None:
        """Connect as loops need it; try for `wait` seconds to reach a server that went away."""
        self._address, self._wait, self._prepared = address, wait, prepared
        self._lock = threading.Lock()
        self._loops: dict[AbstractEventLoop, _LoopAppends] = {}
        self._closed = False

    async def commit(self, requests: Sequence[bytes]) -> list[Row]:
        """Return the rows of a caller's requests, once they are committed."""
        loop = asyncio.get_running_loop()
        appends = self._loops.get(loop)
        if appends is None or appends.closed:
            appends = self._begin(loop)
        return await appends.commit(requests)

    def close(self) -> None:
        """Close the connections of all loops; appending afterwards is an error."""
        with self._lock:
            self._closed = True
            loops, self._loops = self._loops, {}
        for loop, appends in loops.items():
            _close(loop, appends)

    def _begin(self, loop: AbstractEventLoop) -> _LoopAppends:
        with self._lock:
            if self._closed:
                raise StorageUnavailable(_CLOSED)
            for other in [other for other in self._loops if other.is_closed()]:
                self._loops.pop(other).close()
            connecting = _Connecting(self._address, self._wait, 0 if self._prepared else None)
            self._loops[loop] = _LoopAppends(connecting)
            return self._loops[loop]


def _close(loop: AbstractEventLoop, appends: _LoopAppends) -> None:
    if loop.is_running() and _running_loop() is not loop:
        # It may close in this moment; then nothing runs there any more.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(appends.close)
            return
    appends.close()


def _running_loop() -> AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


@dataclass(frozen=True, slots=True)
class _Connecting:
    """How a loop connects."""

    address: Address
    wait: float
    threshold: int | None

    def query(self, name: str) -> bytes:
        """Return a named query for the log's schema."""
        return queries_of(self.address.schema)[name]

    async def connected(self) -> _Connection:
        """Return a connection, tried for until the time is over."""
        loop = asyncio.get_running_loop()
        deadline, pause = loop.time() + self.wait, _FIRST_PAUSE
        while True:
            try:
                return await self._connect()
            except psycopg.OperationalError:
                if loop.time() + pause > deadline:
                    raise
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _connect(self) -> _Connection:
        connection = await AsyncConnection.connect(
            self.address.conninfo,
            autocommit=True,
            cursor_factory=AsyncRawCursor,
            prepare_threshold=self.threshold,
        )
        leave_to_parent(connection)
        try:
            connection.adapters.register_dumper(Requests, RequestsDumper)
            # It finds out whether the log has moved to another server meanwhile.
            await connection.execute(self.query("identity"))
        except BaseException:
            connection.pgconn.finish()
            raise
        return connection


@dataclass(frozen=True, slots=True)
class _Caller:
    """Requests of a caller, and what it awaits."""

    requests: Sequence[bytes]
    rows: Future[list[Row]]

    def fail(self, error: Exception) -> None:
        # In a loop that was closed nobody waits any more, and nobody can be told.
        if not self.rows.done() and not self.rows.get_loop().is_closed():
            self.rows.set_exception(error)


class _LoopAppends:
    """The appends of one event loop; all but the making of it happens in that loop."""

    def __init__(self, connecting: _Connecting) -> None:
        self._connecting = connecting
        self._connection: _Connection | None = None
        self._waiting: deque[_Caller] = deque()
        self._task: asyncio.Task[None] | None = None
        self._end: AsyncGenerator[None] | None = None
        self.closed = False

    async def commit(self, requests: Sequence[bytes]) -> list[Row]:
        if self._end is None:
            self._end = self._until_the_loop_ends()
            await anext(self._end)
        if self.closed:
            raise StorageUnavailable(_CLOSED)
        loop = asyncio.get_running_loop()
        caller = _Caller(requests, loop.create_future())
        self._waiting.append(caller)
        if self._task is None:
            self._begin(loop)
        return await caller.rows

    def close(self) -> None:
        """Take no more; what is under way is still committed if the loop runs on."""
        self.closed = True
        while self._waiting:
            self._waiting.popleft().fail(StorageUnavailable(_CLOSED))
        if self._task is None or self._task.get_loop().is_closed():
            self._disconnect()

    async def _until_the_loop_ends(self) -> AsyncGenerator[None]:
        # A loop that ends closes its generators, as asyncio.run sees to; tasks are gone by then.
        try:
            yield
        finally:
            self.close()

    def _begin(self, loop: AbstractEventLoop) -> None:
        self._task = loop.create_task(self._run(), name="onrecord-append")
        self._task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        # Not in the task: one that is cancelled before it begins does not run at all.
        self._task = None
        if self._waiting:
            self._begin(task.get_loop())
        elif self.closed:
            self._disconnect()

    async def _run(self) -> None:
        batch: list[_Caller] = []
        try:
            while batch := self._next_batch():
                await self._commit(batch)
        except BaseException:
            self._disconnect()
            raise
        finally:
            for caller in batch:
                caller.fail(StorageUnavailable(_ENDED))

    def _next_batch(self) -> list[_Caller]:
        while self._waiting:
            count = fitting(caller.requests for caller in self._waiting)
            batch = list(islice(self._waiting, count))
            for _ in batch:
                self._waiting.popleft()
            # Who was cancelled by now is not recorded.
            if wanted := [caller for caller in batch if not caller.rows.done()]:
                return wanted
        return []

    async def _commit(self, batch: Sequence[_Caller]) -> None:
        try:
            rows = await self._ask([each for caller in batch for each in caller.requests])
        except SHARED_FATE as error:
            for caller in (*batch, *self._hopeless(error)):
                caller.fail(own_error(error))
        except Exception as error:  # noqa: BLE001 - the caller that it is about gets it
            if len(batch) == 1:
                batch[0].fail(error)
                return
            for caller in batch:
                await self._commit((caller,))
        else:
            _hand_out(batch, rows)

    def _hopeless(self, error: OnrecordError) -> list[_Caller]:
        """Return who waits and need not look for a server that was looked for until now."""
        waiting = list(self._waiting) if isinstance(error, StorageUnavailable) else []
        for _ in waiting:
            self._waiting.popleft()
        return waiting

    async def _ask(self, requests: Sequence[bytes]) -> list[TupleRow]:
        # Once more on another connection, as Connections.ask does, for the same reason.
        try:
            return await self._rows_of(requests)
        except psycopg.Error as error:
            if self._connection is None or not is_lost(error):
                raise translated(error) from error
        try:
            return await self._rows_of(requests)
        except psycopg.Error as error:
            raise translated_again(error) from error

    async def _rows_of(self, requests: Sequence[bytes]) -> list[TupleRow]:
        if self._connection is None or self._connection.closed:
            self._connection = None  # If there is no other, nothing was asked.
            self._connection = await self._connecting.connected()
        append = self._connecting.query("append")
        cursor = await self._connection.execute(append, parameters_of(requests), binary=True)
        return await cursor.fetchall()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.pgconn.finish()
            self._connection = None


def _hand_out(batch: Sequence[_Caller], rows: list[TupleRow]) -> None:
    at = 0
    for caller in batch:
        if not caller.rows.done():
            caller.rows.set_result(rows[at : at + len(caller.requests)])
        at += len(caller.requests)
