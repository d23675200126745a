"""Who waits for a connection waits beside the others, and is served in turn."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from threading import Thread

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool

from onrecord.adapters.storage.postgres.pool import AllLent, Pool
from onrecord.adapters.storage.postgres.postgres import Limits, Postgres, migrate, open_postgres
from onrecord.domain.errors import StorageBusy
from tests.patience import PATIENCE, join, until
from tests.postgres_server import VERSIONS, server

CALLERS = 6
A_TURN = 1.0
"""After so many seconds who waited stood behind all others once."""


@pytest.fixture
def silent_server() -> Iterator[socket.socket]:
    """A server that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0), backlog=4 * CALLERS) as server:
        yield server


def test_all_who_ask_a_server_that_says_nothing_wait_side_by_side(
    silent_server: socket.socket,
) -> None:
    port = silent_server.getsockname()[1]
    made: list[ConnectionPool[Connection[TupleRow]]] = []

    def new_pool() -> ConnectionPool[Connection[TupleRow]]:
        made.append(
            ConnectionPool(f"host=127.0.0.1 port={port}", min_size=0, max_size=2, open=False)
        )
        return made[-1]

    pool = Pool(new_pool, wait=PATIENCE)

    def ask() -> None:
        with suppress(psycopg.Error), pool.loan():
            raise AssertionError("a silent server gave a connection")

    callers = [Thread(target=ask, daemon=True) for _ in range(CALLERS)]
    for caller in callers:
        caller.start()
    until(lambda: made[0].get_stats().get("requests_waiting") == CALLERS, "each caller's wait")
    silent_server.close()  # Else the pool would wait for those who connect.
    pool.close()
    join(*callers)


@pytest.fixture
def url() -> Iterator[str]:
    running = server(VERSIONS[-1])
    created = running.create("log", migrate)
    yield created
    running.drop(created)


def narrow(url: str, wait: float) -> Postgres:
    """A log of which a process may open one connection."""
    return open_postgres(url, Limits(connections=1, wait=wait))


def test_who_waits_for_long_keeps_the_turn(url: str) -> None:
    log = narrow(url, PATIENCE)
    served: list[str] = []

    def ask(name: str) -> None:
        with log.connections.transaction():
            served.append(name)

    first, second = (Thread(target=ask, args=(name,)) for name in ("first", "second"))
    with log.connections.transaction():
        first.start()
        begun = time.monotonic()
        until(lambda: time.monotonic() > begun + A_TURN / 2, "the second")
        second.start()
        until(lambda: time.monotonic() > begun + A_TURN * 1.2, "the end of the loan")
    join(first, second)
    log.close()
    assert served == ["first", "second"]


def test_connections_that_are_all_in_use_are_no_server_that_is_away(url: str) -> None:
    log = narrow(url, 0.2)
    with (
        log.connections.transaction(),
        pytest.raises(StorageBusy, match="in use") as refused,
    ):
        log.clock()
    assert isinstance(refused.value.__cause__, AllLent)
    assert log.clock() > 0
    log.close()


def test_who_waits_for_a_server_is_served_when_it_is_back(url: str) -> None:
    places = ["host=127.0.0.1 port=1"]

    def new_pool() -> ConnectionPool[Connection[TupleRow]]:
        return ConnectionPool(
            lambda: places[-1], min_size=0, max_size=1, reconnect_timeout=0, open=False
        )

    pool = Pool(new_pool, wait=PATIENCE)
    served: list[bool] = []

    def ask() -> None:
        with pool.loan() as connection:
            served.append(not connection.closed)

    callers = [Thread(target=ask) for _ in range(CALLERS)]
    for caller in callers:
        caller.start()
    begun = time.monotonic()
    until(lambda: time.monotonic() > begun + A_TURN / 2, "the server")
    places.append(url)
    join(*callers)
    pool.close()
    assert served == [True] * CALLERS
