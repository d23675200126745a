"""PostgreSQL when things break: clients killed, the server killed, answers lost, commits lazy."""

import os
import secrets
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from random import Random
from urllib.parse import urlsplit
from uuid import UUID, uuid4

import psycopg
import pytest

from onrecord.adapters.storage.postgres.postgres import Limits, Postgres, migrate, open_postgres
from onrecord.adapters.storage.subscription import NoHints
from onrecord.domain.errors import StorageUnavailable
from onrecord.domain.log import Duplicate, Recorded
from tests.factories import appending, raw_event
from tests.faults.kills import kill_writers, verify_all, whole_requests_only
from tests.faults.lossy_line import Cut, LossyLine, Way
from tests.faults.quiet import QuietPlace, wait_until
from tests.faults.writer import acknowledged, group
from tests.ledger import verified_log
from tests.patience import PATIENCE
from tests.postgres_places import fresh_log
from tests.postgres_server import VERSIONS, Server, carried_server
from tests.postgres_sessions import HOLD

WRITERS = 8
BETWEEN_ENDS = 30
BODY = 8000


CLIENTS = """
SELECT pid FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""
ONE_WAITS = """
SELECT count(*) = 1 FROM pg_stat_activity
WHERE datname = current_database() AND wait_event = 'transactionid'
"""


@pytest.fixture(params=VERSIONS)
def place(request: pytest.FixtureRequest) -> Iterator[QuietPlace]:
    created = QuietPlace(request.param, fresh_log(request.param))
    yield created
    created.remove()


@pytest.fixture
def log(place: QuietPlace) -> Iterator[Postgres]:
    opened = open_postgres(place.url)
    yield opened
    opened.close()


def test_nothing_acknowledged_is_lost_to_kills_on_postgres(place: QuietPlace, seed: int) -> None:
    assert kill_writers(place, rounds=30, seed=seed) > 0


@pytest.mark.soak
def test_nothing_acknowledged_is_lost_to_a_thousand_kills_on_postgres(
    place: QuietPlace, seed: int
) -> None:
    assert kill_writers(place, rounds=350, seed=seed) > 0


@pytest.fixture(params=VERSIONS if VERSIONS != ("given",) else ("18",))
def fragile(request: pytest.FixtureRequest) -> Server:
    """A server of its own, to be crashed."""
    return carried_server(request.param)


def kill_a_process_of(server: Server, url: str) -> None:
    """Kill one process of the server: the others end too, and it recovers by itself."""
    with psycopg.connect(url, autocommit=True) as operator, suppress(psycopg.OperationalError):
        for (pid,) in operator.execute(CLIENTS).fetchmany(1):
            os.kill(pid, signal.SIGKILL)


def crash(server: Server, url: str) -> None:
    server.crash()
    server.restart()


def restart(server: Server, url: str) -> None:
    server.stop()
    server.restart()


def test_nothing_acknowledged_is_lost_however_the_server_ends(fragile: Server, seed: int) -> None:
    lose_the_server(fragile, [crash, restart, kill_a_process_of], seed)


@pytest.mark.soak
def test_nothing_acknowledged_is_lost_in_a_hundred_ends_of_the_server(
    fragile: Server, seed: int
) -> None:
    lose_the_server(fragile, [crash, restart, kill_a_process_of] * 34, seed)


def lose_the_server(
    fragile: Server, ends: Sequence[Callable[[Server, str], None]], seed: int
) -> None:
    """End the server in these ways while threads of one process append; all that was told is there."""
    url = fragile.create("log", migrate)
    stopped = threading.Event()
    told: set[UUID] = set()
    log = open_postgres(url, Limits(connections=4, wait=2.0))

    def write(number: int) -> None:
        own, random = uuid4(), Random(f"{seed}/{number}")
        while not stopped.is_set():
            request = appending(own, *group("crash", random.randrange(1, 4), random))
            with suppress(StorageUnavailable):
                told.update(acknowledged([request], log))

    with ThreadPoolExecutor(WRITERS) as pool:
        writing = [pool.submit(write, n) for n in range(WRITERS)]
        try:
            for end in ends:
                wait_for_more(told)
                end(fragile, url)
            wait_for_more(told)
        finally:
            stopped.set()
        for written in writing:
            written.result(PATIENCE)
    log.close()
    again = open_postgres(url)
    events = verify_all(again)
    whole_requests_only(events)
    assert told <= {event.event_id for event in events}
    again.close()
    fragile.crash()


def wait_for_more(told: Collection[UUID]) -> None:
    before, deadline = len(told), time.monotonic() + PATIENCE
    while len(told) < before + BETWEEN_ENDS:
        assert time.monotonic() < deadline, "the writers did not come back"
        time.sleep(0.005)


def test_each_acknowledgement_had_its_flush_even_if_commits_are_lazy_here(
    place: QuietPlace,
) -> None:
    with psycopg.connect(place.url, autocommit=True) as probe:
        database = urlsplit(place.url).path.lstrip("/")
        lazy = f"ALTER DATABASE {database} SET synchronous_commit = off"
        probe.execute(lazy.encode())
        log = open_postgres(place.url)
        for _ in range(100):
            before = written(probe)
            log.append([appending(uuid4(), raw_event(body=secrets.token_bytes(BODY)))])
            assert flushed(probe) >= before + BODY
        log.close()


def test_a_lazy_commit_would_be_seen_to_lack_its_flush(place: QuietPlace) -> None:
    with (
        psycopg.connect(place.url, autocommit=True) as probe,
        psycopg.connect(place.url, autocommit=True) as lazy,
    ):
        lazy.execute("SET synchronous_commit = off")
        lazy.execute("CREATE TABLE scratch (body bytea)")
        behind = 0
        for _ in range(100):
            before = written(probe)
            lazy.execute("INSERT INTO scratch VALUES (%s)", (secrets.token_bytes(BODY),))
            behind += flushed(probe) < before + BODY
        assert behind > 0


def written(probe: psycopg.Connection) -> int:
    return lsn(probe, "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn")


def flushed(probe: psycopg.Connection) -> int:
    return lsn(probe, "SELECT pg_current_wal_flush_lsn() - '0/0'::pg_lsn")


def lsn(probe: psycopg.Connection, query: str) -> int:
    row = probe.execute(query.encode()).fetchone()
    assert row is not None
    return int(row[0])


@pytest.fixture
def line(place: QuietPlace) -> Iterator[LossyLine]:
    opened = LossyLine(place.url)
    yield opened
    opened.close()


def test_an_append_whose_answer_was_lost_is_recorded_once(line: LossyLine) -> None:
    log = open_postgres(line.url, new_hints=NoHints)
    conversation = uuid4()
    log.append([appending(conversation, raw_event())])
    lost = appending(conversation, raw_event(), raw_event(), expected_version=1)
    line.cut(Cut(Way.BACK, after=0))
    assert log.append([lost]) == [Duplicate(2, 3)]
    assert line.lost == 1
    assert log.append([appending(conversation, raw_event())]) == [Recorded(4, 4, 4)]
    assert len(verified_log(log)) == 4
    log.close()


def test_an_append_whose_session_was_ended_is_tried_again(place: QuietPlace, log: Postgres) -> None:
    log.append([appending(uuid4(), raw_event())])
    shard = next(cursor.shard for cursor in log.cursors() if cursor.position)
    with (
        psycopg.connect(place.url) as holder,
        psycopg.connect(place.url, autocommit=True) as operator,
        ThreadPoolExecutor(1) as pool,
    ):
        holder.execute(HOLD, (shard,))
        waiting = pool.submit(log.append, [appending(uuid4(), raw_event())])
        wait_until(place.url, ONE_WAITS)
        operator.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
            "WHERE wait_event = 'transactionid'"
        )
        wait_until(place.url, ONE_WAITS)
        holder.rollback()
        assert waiting.result(timeout=PATIENCE) == [Recorded(1, 1, 2)]


def test_a_server_that_stays_away_is_unavailable_and_says_what_is_not_known(
    fragile: Server,
) -> None:
    log = open_postgres(fragile.create("log", migrate), Limits(wait=0.3))
    log.append([appending(uuid4(), raw_event())])
    fragile.crash()
    with pytest.raises(StorageUnavailable, match="append the same events again"):
        log.append([appending(uuid4(), raw_event())])
    log.close()
