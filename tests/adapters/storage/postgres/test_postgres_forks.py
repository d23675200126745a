"""A fork amid something on PostgreSQL: the child says nothing on the sessions of its parent."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest

from onrecord.adapters.storage.postgres.connections import LogConnection, address_of, connected
from onrecord.adapters.storage.postgres.postgres import Limits, Postgres, migrate, open_postgres
from onrecord.domain.errors import StorageUnavailable
from onrecord.domain.log import Recorded
from tests.awaited import appended
from tests.factories import appending, raw_event
from tests.patience import until
from tests.postgres_server import VERSIONS, server

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning"),
]


class InChild(BaseException):
    """Raised in a child where its parent goes on."""


@pytest.fixture
def url() -> Iterator[str]:
    running = server(VERSIONS[-1])
    created = running.create("log", migrate)
    yield created
    running.drop(created)


@pytest.fixture
def log(url: str) -> Iterator[Postgres]:
    opened = open_postgres(url, Limits(connections=2))
    yield opened
    opened.close()


def one(log: Postgres) -> Recorded:
    (verdict,) = log.append([appending(uuid4(), raw_event())])
    assert isinstance(verdict, Recorded)
    return verdict


def backend(connection: LogConnection) -> int:
    row = connection.execute(b"SELECT pg_backend_pid()").fetchone()
    assert row is not None
    assert row[0] == connection.pgconn.backend_pid
    return connection.pgconn.backend_pid


def fork_raising() -> int:
    """Fork; the child raises, so that it leaves all scopes that its parent is amid."""
    child = os.fork()
    if child == 0:
        raise InChild
    return child


def run(work: Callable[[], int], in_child: Callable[[], object]) -> None:
    """Do work that forks, and in the child something behind it; fail where the child fails."""
    parent = os.getpid()
    child = 0
    try:
        child = work()
    except InChild:
        in_child()
        os._exit(0)
    finally:
        if os.getpid() != parent:
            os._exit(1)
    ended: list[int] = []

    def is_over() -> bool:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            ended.append(os.waitstatus_to_exitcode(status))
        return bool(pid)

    until(is_over, "the end of the child")
    assert ended == [0]


def test_a_transaction_goes_on_when_a_child_leaves_it(log: Postgres) -> None:
    one(log)

    def work() -> int:
        with log.connections.transaction() as connection:
            before = backend(connection)
            child = fork_raising()
            _wait_without_reaping(child)
            assert backend(connection) == before
        return child

    run(work, lambda: one(log))
    assert one(log).position == 3


def test_a_child_cannot_commit_for_its_parent(log: Postgres) -> None:
    one(log)
    parent = os.getpid()

    def work() -> int:
        child = 0
        try:
            with log.connections.transaction() as connection:
                child = os.fork()
                if child:
                    _wait_without_reaping(child)
                    backend(connection)
        except StorageUnavailable as error:
            assert os.getpid() != parent
            raise InChild from error
        return child

    run(work, lambda: one(log))
    assert one(log).position == 3


def test_a_connection_of_its_own_goes_on_when_a_child_leaves_it(url: str) -> None:
    def work() -> int:
        with connected(address_of(url)) as connection:
            before = backend(connection)
            child = fork_raising()
            _wait_without_reaping(child)
            assert backend(connection) == before
        return child

    run(work, lambda: None)


def test_an_event_loop_goes_on_when_a_child_leaves_it(url: str, log: Postgres) -> None:
    async def append() -> None:
        await appended(log, [appending(uuid4(), raw_event())])

    async def amid() -> int:
        await append()
        sessions = _sessions(url)
        child = fork_raising()
        _wait_without_reaping(child)
        await append()
        assert _sessions(url) <= sessions
        return child

    # The first of all asks in a thread, which a loop in the child would wait for.
    asyncio.run(append())
    run(lambda: asyncio.run(amid()), lambda: one(log))


def _sessions(url: str) -> set[object]:
    """The sessions of a database, asked on one of its own: a pool may open another to be asked."""
    with connected(address_of(url)) as connection:
        found = connection.execute(
            b"SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
            b"AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
        ).fetchall()
    return {pid for (pid,) in found}


def _wait_without_reaping(child: int) -> None:
    until(
        lambda: os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT),
        "the end of the child",
    )
