"""Who waits for a connection waits beside the others, not behind them."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress
from threading import Thread

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool

from onrecord.adapters.storage.postgres_pool import Pool
from tests.patience import PATIENCE, join, until

CALLERS = 6


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
        with suppress(psycopg.Error), pool.lent():
            raise AssertionError("a silent server gave a connection")

    callers = [Thread(target=ask, daemon=True) for _ in range(CALLERS)]
    for caller in callers:
        caller.start()
    until(lambda: made[0].get_stats().get("requests_waiting") == CALLERS, "each caller's wait")
    silent_server.close()  # Else the pool would wait for those who connect.
    pool.close()
    join(*callers)
