"""What each event loop of a process has of its own: a connection belongs to the loop that opened it."""

from __future__ import annotations

import asyncio
import threading
from asyncio import AbstractEventLoop
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeAlias, TypeVar

import psycopg
from psycopg import AsyncConnection, AsyncRawCursor
from psycopg.rows import TupleRow

from onrecord.adapters.storage.postgres.batch import Requests, RequestsDumper
from onrecord.adapters.storage.postgres.connections import Address, Identity, queries_of
from onrecord.adapters.storage.postgres.pool import leave_to_parent
from onrecord.adapters.storage.steps import CLOSED
from onrecord.domain.errors import StorageUnavailable

LoopConnection: TypeAlias = AsyncConnection[TupleRow]


_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 1.0


@dataclass(frozen=True, slots=True)
class Connecting:
    """How a loop connects.

    It tries for `wait` seconds to reach a server that went away. `threshold` is the driver's, of
    statements to be prepared. `introduced` is told what each connection was told of the log.
    """

    address: Address
    wait: float
    threshold: int | None
    introduced: Callable[[Identity], None]

    def query(self, name: str) -> bytes:
        """Return a named query for the log's schema."""
        return queries_of(self.address.schema)[name]

    async def connected(self) -> LoopConnection:
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

    async def _connect(self) -> LoopConnection:
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
            cursor = await connection.execute(self.query("identity"), binary=True)
            [row] = await cursor.fetchall()
            self.introduced(Identity._make(row))
        except BaseException:
            connection.pgconn.finish()
            raise
        return connection


class LoopResource(Protocol):
    """What a loop has of its own. It is used in that loop, and closed there, or once that is gone."""

    closed: bool

    def close(self) -> None:
        """Take no more, and let go of connections."""
        ...


LoopResourceT = TypeVar("LoopResourceT", bound=LoopResource)


class EventLoops(Generic[LoopResourceT]):
    """What the event loops of a process have, one each. Safe to share between their threads."""

    def __init__(self, new: Callable[[], LoopResourceT]) -> None:
        """Make what a loop has when it first asks; it is closed when the loop ends."""
        self._new = new
        self._lock = threading.Lock()
        self._owned: dict[AbstractEventLoop, LoopResourceT] = {}
        self._ends: dict[AbstractEventLoop, AsyncGenerator[None]] = {}
        self._closed = False

    async def own(self) -> LoopResourceT:
        """Return what the loop that runs has."""
        loop = asyncio.get_running_loop()
        resource = self._owned.get(loop)
        if resource is None or resource.closed:
            resource = self._begin(loop)
            end = self._ends[loop] = _until_the_loop_ends(resource)
            await anext(end)
        return resource

    def close(self) -> None:
        """Close what all loops have; asking afterwards is an error."""
        with self._lock:
            self._closed = True
            all_owned, self._owned = self._owned, {}
            self._ends = {}
        for loop, resource in all_owned.items():
            _close(loop, resource)

    def _begin(self, loop: AbstractEventLoop) -> LoopResourceT:
        with self._lock:
            if self._closed:
                raise StorageUnavailable(CLOSED)
            for other in [other for other in self._owned if other.is_closed()]:
                self._owned.pop(other).close()
                self._ends.pop(other, None)
            self._owned[loop] = self._new()
            return self._owned[loop]


async def _until_the_loop_ends(resource: LoopResource) -> AsyncGenerator[None]:
    # A loop that ends closes its generators, as asyncio.run sees to; tasks are gone by then.
    try:
        yield
    finally:
        resource.close()


def _close(loop: AbstractEventLoop, resource: LoopResource) -> None:
    if loop.is_running() and _running_loop() is not loop:
        # It may close in this moment; then nothing runs there any more.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(resource.close)
            return
    resource.close()


def _running_loop() -> AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
