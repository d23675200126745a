"""What tests do to a PostgreSQL log from beside it: hold a shard up, count, end sessions."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final, LiteralString
from uuid import uuid4

import psycopg
import pytest

from onrecord.adapters.storage.subscription import Wakeups
from onrecord.domain.log import Backend
from tests.factories import appending, raw_event

HOLD: Final = "SELECT FROM onrecord.shard_lock WHERE shard = %s FOR UPDATE"
"""Holds a shard up until the end of the transaction."""

OTHER_SESSIONS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""
END_OTHER_SESSIONS = """
SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""
WAITING_SESSIONS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND wait_event IN ('transactionid', 'tuple')
"""
END_WAITING_SESSIONS = """
SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
WHERE datname = current_database() AND wait_event IN ('transactionid', 'tuple')
"""
COMMITS = "SELECT count(DISTINCT xmin::text) FROM onrecord.event"
"""How many transactions wrote the events that there are."""


def counted(url: str, query: LiteralString) -> int:
    """The number that a query answers, asked in a session of its own."""
    with psycopg.connect(url, autocommit=True) as connection:
        (count,) = connection.execute(query).fetchone() or (None,)
        assert isinstance(count, int)
        return count


def shard_of(log: Backend) -> int:
    """The shard of the tenant that the tests write for; appends an event to find it."""
    log.append([appending(uuid4(), raw_event())])
    return next(cursor.shard for cursor in log.cursors() if cursor.position)


@contextmanager
def stuck(url: str, shard: int) -> Generator[None]:
    """Nothing is appended to a shard until the scope ends."""
    with psycopg.connect(url) as holder:
        holder.execute(HOLD, (shard,))
        yield
        holder.rollback()


def never_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let idle subscriptions wait for hints alone, as far as a test is patient."""
    wait = Wakeups.wait

    def patient(wakeups: Wakeups, seen: int, stopped: Callable[[], bool], _: float = 0) -> None:
        wait(wakeups, seen, stopped, 300)

    monkeypatch.setattr(Wakeups, "wait", patient)
