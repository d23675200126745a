"""The connections of a process to one server, lent so that an exception of a signal loses none.

psycopg_pool counts its connections, and lends them by many steps. The handler of a signal that raises
between two of them loses a connection of the pool's, or leaves a lock of its queue locked. Such a pool
is asked for nothing more: the next who needs a connection opens another pool, and what was lent goes
back to the old one, which closes it.

A pool of psycopg_pool serves in turn who waits for it. So who waits asks once, and a thread asks
beside those who wait for what nobody else would do: to try the server again, to take back what was left.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Generic, TypeVar, cast
from weakref import WeakSet

import psycopg
from psycopg import AsyncConnection, Connection, pq
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from onrecord.adapters.storage.interrupts import Hold, holds, release_left

C = TypeVar("C", bound=Connection[Any])

_MOMENT: Final = 0.05
"""How long (seconds) most wait at most: who waits longer is seen to, and stands in the queue anew, once."""
_PACE: Final = 1.0
"""How often (seconds) who waits is seen to: the server may be back."""


class AllLent(PoolTimeout):
    """All connections that there may be are lent, and none came back in time."""


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
        self._attendant: threading.Thread | None = None
        self._inherited: list[ConnectionPool[C]] = []
        _POOLS.add(self)

    def loan(self) -> Loan[C]:
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

    def fill(self, loan: Loan[C]) -> None:
        """Have a connection for a loan, which notes the pool before."""
        deadline = time.monotonic() + self._wait
        patience = min(_MOMENT, self._wait)
        while loan.connection is None:
            pool = loan.source = self._open()
            try:
                loan.connection = pool.getconn(min(patience, deadline - time.monotonic()))
            except PoolClosed:
                loan.source = None
                if self._pool is pool:
                    raise
                # It was retired meanwhile.
            except PoolTimeout as error:
                loan.source = None
                if time.monotonic() >= deadline:
                    raise self._meaning(pool, error) from None
                release_left(everywhere=True)
                self._attend()
                patience = self._wait

    def begin_anew(self) -> None:
        """Leave the connections to the process that opened them: what a forked child does first."""
        self._inherited.append(self._pool)
        self._lock = threading.RLock()
        self._attendant = None
        self._pool, self._opened = self._new_pool(), False

    def _loans(self) -> list[Loan[C]]:
        """Return the loans of those who have a connection, and of those who wait for one."""
        loans = (cast("Loan[C]", hold) for hold in holds() if isinstance(hold, Loan))
        return [loan for loan in loans if loan.pool is self]

    def _meaning(self, pool: ConnectionPool[C], error: PoolTimeout) -> PoolTimeout:
        lent = any(loan.source is pool and loan.connection is not None for loan in self._loans())
        is_full = pool.get_stats()["pool_size"] >= pool.max_size
        return AllLent(str(error)) if lent and is_full else error

    def _attend(self) -> None:
        """See to it that somebody sees to those who wait."""
        with self._lock:
            if self._attendant is None or not self._attendant.is_alive():
                self._attendant = threading.Thread(
                    target=self._see_to_waiters, name="onrecord-pool", daemon=True
                )
                self._attendant.start()

    def _see_to_waiters(self) -> None:
        """Try the server again, and take back what was left, as long as anybody waits.

        A pool that tries to connect by itself waits longer each time, so that a server that is back
        would be found late. Ours gives up at once, and tries again when somebody asks.
        """
        while True:
            time.sleep(_PACE)
            with self._lock:
                if all(loan.connection is not None for loan in self._loans()):
                    self._attendant = None
                    return
            release_left(everywhere=True)
            with suppress(PoolTimeout, PoolClosed):
                pool = self._pool
                pool.putconn(pool.getconn(_MOMENT))

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

    __slots__ = ("_is_clean", "connection", "pool", "source")

    def __init__(self, pool: Pool[C]) -> None:
        """Borrow nothing yet: `source` is the pool that `connection` comes from, or is to come from."""
        self.pool = pool
        self.source: ConnectionPool[C] | None = None
        self.connection: C | None = None
        self._is_clean = False

    def __enter__(self) -> C:
        """Borrow a connection."""
        self.note()
        try:
            self.pool.fill(self)
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
                self.pool.retire(source)
            else:
                if not (self._is_clean and _is_idle(connection)):
                    # Its own `close` does nothing if it was cut short once.
                    connection.pgconn.finish()
                self.connection = None
                source.putconn(connection)
            self.source = None
        self.drop()

    def forfeit(self) -> None:
        """Leave the connection to the process that opened it: what a forked child does."""
        self.source = self.connection = None
        self.drop()


def _is_idle(connection: Connection[Any]) -> bool:
    state = connection.pgconn
    return (
        state.transaction_status == pq.TransactionStatus.IDLE
        and state.pipeline_status == pq.PipelineStatus.OFF
    )


_POOLS: Final[WeakSet[Pool[Any]]] = WeakSet()


def _after_fork_in_child() -> None:
    for hold in holds():
        if isinstance(hold, Loan):
            hold.forfeit()
    for pool in _POOLS:
        pool.begin_anew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


# The sessions of a process, of which a child that it forks has copies, and on which it says
# nothing.
#
# What a child sends on a copied socket, the end of the session too, the server takes for its
# parent's word. A fork may come amid a transaction, in the handler of a signal, and the scopes
# that the child then leaves roll back and close. So the first that a child does is to put a
# socket that leads nowhere in the place of each.

_sessions: Final[WeakSet[Connection[Any] | AsyncConnection[Any]]] = WeakSet()


def leave_to_parent(session: Connection[Any] | AsyncConnection[Any]) -> None:
    """Let each child that is forked from now on find a session that has ended."""
    _sessions.add(session)


def _cut_off() -> None:
    ours, theirs = socket.socketpair()
    theirs.close()
    with ours:
        for session in _sessions:
            # One that is closed has no socket.
            with suppress(psycopg.Error):
                os.dup2(ours.fileno(), session.pgconn.socket, inheritable=False)
    _sessions.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_cut_off)
