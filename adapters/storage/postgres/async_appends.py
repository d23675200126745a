"""Appends that coroutines await: in each event loop one connection, and one commit at a time.

What is awaited while a commit is under way goes into the next one, as in group_commit.py. The
commits are a task's of their own, which lives while there is something to commit: a caller that is
cancelled disturbs neither it nor the others.
"""

from __future__ import annotations

import asyncio
from asyncio import AbstractEventLoop, Future
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

import psycopg
from psycopg.rows import TupleRow

from onrecord.adapters.storage.postgres.batch import parameters_of
from onrecord.adapters.storage.postgres.errors import is_lost, translated, translated_again
from onrecord.adapters.storage.postgres.event_loops import (
    Connecting,
    EventLoops,
    LoopConnection,
)
from onrecord.adapters.storage.postgres.group_commit import SHARED_FATE, Row, fitting, own_error
from onrecord.adapters.storage.steps import CLOSED
from onrecord.domain.errors import OnrecordError, StorageUnavailable

_ENDED: Final = (
    "the event loop ended; whether the last append was recorded is not known: append the same "
    "events again, their ids make that safe"
)


class AsyncAppends:
    """The appends of a process's event loops to one log. Safe to share between their threads."""

    def __init__(self, connecting: Connecting) -> None:
        """Connect as loops need it."""
        self._loops = EventLoops(lambda: _LoopAppends(connecting))

    async def commit(self, requests: Sequence[bytes]) -> list[Row]:
        """Return the rows of a caller's requests, once they are committed."""
        return await (await self._loops.own()).commit(requests)

    def close(self) -> None:
        """Close the connections of all loops; appending afterwards is an error."""
        self._loops.close()


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
    """The appends of one event loop: used in that loop, and closed there, or once that is gone."""

    def __init__(self, connecting: Connecting) -> None:
        self._connecting = connecting
        self._connection: LoopConnection | None = None
        self._waiting: deque[_Caller] = deque()
        self._task: asyncio.Task[None] | None = None
        self.closed = False

    async def commit(self, requests: Sequence[bytes]) -> list[Row]:
        if self.closed:
            raise StorageUnavailable(CLOSED)
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
            self._waiting.popleft().fail(StorageUnavailable(CLOSED))
        if self._task is None or self._task.get_loop().is_closed():
            self._disconnect()

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
