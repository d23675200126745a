"""Hints of appends between processes on PostgreSQL, and that nothing depends on them."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from queue import SimpleQueue
from typing import LiteralString
from uuid import uuid4

import psycopg
import pytest

from onrecord.adapters.storage.postgres.postgres import Limits, Postgres, open_postgres
from onrecord.adapters.storage.queries import lock_of
from onrecord.adapters.storage.subscription import NoHints
from onrecord.domain.log import Cursor, Recorded
from tests.factories import appending, raw_event
from tests.patience import PATIENCE, until
from tests.postgres_places import fresh_log
from tests.postgres_server import VERSIONS, server
from tests.postgres_sessions import never_poll

THOSE_WHO_LISTEN = """
FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ShareLock'
AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
LISTENERS = "SELECT count(*)" + THOSE_WHO_LISTEN
END_LISTENERS = "SELECT count(pg_terminate_backend(pid))" + THOSE_WHO_LISTEN
SESSIONS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


@pytest.fixture(params=VERSIONS)
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    made = fresh_log(request.param)
    yield made
    server(request.param).drop(made)


@pytest.fixture
def never_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Idle subscriptions wait for hints alone, as far as a test is patient."""
    never_poll(monkeypatch)


@pytest.fixture
def opened() -> Iterator[Callable[[str], Postgres]]:
    """Opens a log as a process of its own would; all are closed after the test."""
    with ExitStack() as stack:

        def opening(url: str, limits: Limits | None = None) -> Postgres:
            log = open_postgres(url, limits or Limits())
            stack.callback(log.close)
            return log

        yield opening


def append_one(log: Postgres) -> int:
    (verdict,) = log.append([appending(uuid4(), raw_event())])
    assert isinstance(verdict, Recorded)
    return verdict.position


def start(log: Postgres) -> Cursor:
    append_one(log)
    return next(cursor for cursor in log.cursors() if cursor.position)


def counted(url: str, query: LiteralString) -> int:
    with psycopg.connect(url, autocommit=True) as connection:
        (count,) = connection.execute(query).fetchone() or (None,)
        assert isinstance(count, int)
        return count


class Follower:
    """A thread that follows a log; the positions that it saw come through a queue."""

    def __init__(self, log: Postgres, after: Cursor) -> None:
        self.seen: SimpleQueue[int] = SimpleQueue()
        self.subscription = log.subscribe(after)
        self.thread = threading.Thread(target=self.follow)
        self.thread.start()

    def follow(self) -> None:
        for event in self.subscription:
            self.seen.put(event.position)

    def stop(self) -> None:
        self.subscription.stop()
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()


def wait_for_listeners(url: str, count: int) -> None:
    until(lambda: counted(url, LISTENERS) == count, f"the number of {count} listeners")


@pytest.mark.usefixtures("never_polls")
def test_an_append_of_another_process_wakes_up_an_idle_subscription(
    url: str, opened: Callable[[str], Postgres]
) -> None:
    here, there = opened(url), opened(url)
    follower = Follower(here, start(there))
    wait_for_listeners(url, 1)
    for _ in range(5):
        position = append_one(there)
        assert follower.seen.get(timeout=PATIENCE) == position
    follower.stop()


@pytest.mark.usefixtures("never_polls")
def test_a_listener_whose_connection_was_ended_comes_back_by_itself(
    url: str, opened: Callable[[str], Postgres]
) -> None:
    here, there = opened(url), opened(url)
    follower = Follower(here, start(there))
    wait_for_listeners(url, 1)
    assert counted(url, END_LISTENERS) == 1
    position = append_one(there)
    assert follower.seen.get(timeout=PATIENCE) == position
    position = append_one(there)
    assert follower.seen.get(timeout=PATIENCE) == position
    follower.stop()


def test_a_subscription_that_hears_nothing_polls(url: str) -> None:
    here = open_postgres(url, new_hints=NoHints)
    there = open_postgres(url, new_hints=NoHints)
    follower = Follower(here, start(there))
    position = append_one(there)
    assert follower.seen.get(timeout=PATIENCE) == position
    follower.stop()
    here.close()
    there.close()


def test_a_log_whose_listen_url_leads_nowhere_polls(url: str) -> None:
    nowhere = "postgresql://postgres@127.0.0.1:1/none?connect_timeout=1"
    here = open_postgres(url, Limits(listen=nowhere))
    follower = Follower(here, start(here))
    there = open_postgres(url)
    position = append_one(there)
    assert follower.seen.get(timeout=PATIENCE) == position
    follower.stop()
    here.close()
    there.close()


def test_a_process_that_does_not_wait_for_events_does_not_listen(
    url: str, opened: Callable[[str], Postgres]
) -> None:
    log = opened(url)
    start(log)
    assert counted(url, LISTENERS) == 0


def test_who_listens_does_not_hold_up_an_erasure(
    url: str, opened: Callable[[str], Postgres]
) -> None:
    here = opened(url)
    follower = Follower(here, start(here))
    wait_for_listeners(url, 1)
    conversation = uuid4()
    here.append([appending(conversation, raw_event())])
    impatient = opened(f"{url}{'&' if '?' in url else '?'}options=-c%20lock_timeout%3D2000")
    assert impatient.forget(conversation) == 1
    follower.stop()


def test_closing_leaves_no_session_and_no_thread(url: str) -> None:
    before = threading.active_count()
    log = open_postgres(url)
    follower = Follower(log, start(log))
    wait_for_listeners(url, 1)
    log.close()
    follower.thread.join(PATIENCE)
    until(
        lambda: counted(url, SESSIONS) == 0 and threading.active_count() == before,
        "the end of every session and thread",
    )


def test_where_nobody_listens_nothing_is_notified(
    url: str, opened: Callable[[str], Postgres]
) -> None:
    log = opened(url)
    assert log.connections.ask("hint", ("me",)) == []
    with psycopg.connect(url, autocommit=True) as other:
        other.execute("LISTEN onrecord")
        other.execute("SELECT pg_advisory_lock_shared(%s, 0)", (lock_of("onrecord"),))
        assert len(log.connections.ask("hint", ("me",))) == 1
        assert [notify.payload for notify in other.notifies(timeout=PATIENCE, stop_after=1)] == [
            "me"
        ]


def test_a_hint_commits_without_a_flush_and_leaves_the_session_as_it_was(
    url: str, opened: Callable[[str], Postgres]
) -> None:
    log = opened(url)
    with psycopg.connect(url, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock_shared(%s, 0)", (lock_of("onrecord"),))
        [(during, _)] = log.connections.ask("hint", ("me",))
    assert during == "off"
    with log.connections.transaction() as connection:
        assert connection.execute("SHOW synchronous_commit").fetchone() == ("on",)
