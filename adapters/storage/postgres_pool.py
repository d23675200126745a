"""The connections of a process to one server, lent so that an exception of a signal loses none.

psycopg_pool counts its connections, and lends them by many steps. The handler of a signal that raises
between two of them loses a connection of the pool's, or leaves a lock of its queue locked. Such a pool
is asked for nothing more: the next who needs a connection opens another pool, and what was lent goes
back to the old one, which closes it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Generic, TypeVar, cast

import psycopg
from psycopg import Connection, pq
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from onrecord.adapters.storage.holds import Hold, release_left

C = TypeVar("C", bound=Connection[Any])

_AGAIN_SECONDS: Final = 1.0
"""After how long who waits for a connection asks for a new one, for the server may be back."""


class Pool(Generic[C]):
    """Lends connections, and opens the pool that has them when it is needed."""

    def __init__(self, new_pool: Callable[[], ConnectionPool[C]], wait: float) -> None:
        """Open nothing yet; a connection is waited for so long (seconds)."""
        self._new_pool, self._wait = new_pool, wait
        # Re-entered where a signal's handler uses the log amid this.
        self._lock = threading.RLock()
        self._pool = new_pool()
        self._opened = self._closed = False
        self._begun: ConnectionPool[C] | None = None

    def lent(self) -> Loan[C]:
        """Lend a connection for as long as a `with` lasts."""
        return Loan(self)

    def check(self) -> None:
        """Look whether the connections that nobody has still work, and replace those that do not."""
        pool = self._pool
        try:
            pool.check()
        except psycopg.Error:
            raise
        except BaseException:
            self.retire(pool)
            raise

    def close(self) -> None:
        """Close all connections; lend none any more."""
        with self._lock:
            self._closed = True
        self._pool.close()

    def retire(self, pool: ConnectionPool[C]) -> None:
        """Ask a pool for nothing more."""
        with self._lock:
            if self._pool is not pool or self._closed:
                return
            self._pool, self._opened = self._new_pool(), False
        # Not here: a lock that it waits for may be the one that was left locked.
        with suppress(RuntimeError):
            threading.Thread(target=pool.close, name="onrecord-retired-pool", daemon=True).start()

    def lend(self, loan: Loan[C]) -> None:
        """Have a connection for a loan, which notes the pool before.

        A pool that tries to connect by itself waits longer each time, so that a server that is back
        would be found late. Ours gives up at once, and whoever waits asks it again.
        """
        deadline = time.monotonic() + self._wait
        while loan.connection is None:
            pool = loan.source = self._open()
            left = max(deadline - time.monotonic(), 0)
            try:
                loan.connection = pool.getconn(min(left, _AGAIN_SECONDS))
            except psycopg.Error as error:
                loan.source = None
                if not self._may_ask_again(pool, error, left):
                    raise
                release_left(everywhere=True)

    def _may_ask_again(self, pool: ConnectionPool[C], error: psycopg.Error, left: float) -> bool:
        match error:
            case PoolTimeout():
                return left > _AGAIN_SECONDS
            case PoolClosed():
                return self._pool is not pool  # It was retired meanwhile.
            case _:
                return False

    def _open(self) -> ConnectionPool[C]:
        if self._opened or self._closed:
            return self._pool
        with self._lock:
            if self._opened or self._closed:
                return self._pool
            if self._begun is self._pool:
                # An exception came as it was opened, and another before it was retired.
                self.retire(self._pool)
            pool = self._begun = self._pool
            try:
                # Connects to nothing: each who asks waits for a connection of its own, not for this.
                pool.open()
            except BaseException:
                self.retire(pool)
                raise
            self._opened = True
            return pool


class Loan(Hold, Generic[C]):
    """A connection for as long as a `with` lasts."""

    __slots__ = ("_is_clean", "_pool", "connection", "source")

    def __init__(self, pool: Pool[C]) -> None:
        """Borrow nothing yet: `source` is the pool that `connection` comes from, or is to come from."""
        self._pool = pool
        self.source: ConnectionPool[C] | None = None
        self.connection: C | None = None
        self._is_clean = False

    def __enter__(self) -> C:
        """Borrow a connection."""
        self.note()
        try:
            self._pool.lend(self)
        except BaseException:
            self.give_back()
            raise
        return cast("C", self.connection)

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """Give it back."""
        self._is_clean = error is None or isinstance(error, Exception)
        self.give_back()

    def give_back(self) -> None:
        """Let others have the connection; one that is amid something is closed and rolled back."""
        if (source := self.source) is not None:
            connection = self.connection
            if connection is None:
                # An exception came as it was lent or given back: the pool may have lost it.
                self._pool.retire(source)
            else:
                if not (self._is_clean and _is_idle(connection)):
                    # Its own `close` does nothing if it was cut short once.
                    connection.pgconn.finish()
                self.connection = None
                source.putconn(connection)
            self.source = None
        self.drop()


def _is_idle(connection: Connection[Any]) -> bool:
    state = connection.pgconn
    return (
        state.transaction_status == pq.TransactionStatus.IDLE
        and state.pipeline_status == pq.PipelineStatus.OFF
    )
