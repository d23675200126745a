"""Workers that are killed, stall, meet each other, or lose the server or the time: views hold."""

import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from random import Random

import psycopg
import pytest

from onrecord.adapters.storage.postgres.postgres import Limits, Postgres, migrate, open_postgres
from onrecord.adapters.views.postgres.worker_thread import WorkerThread
from tests.adapters.views.workers import Stepping, asked, working
from tests.faults.kills import verify_all
from tests.faults.talking import talking
from tests.faults.workers import (
    POISONED,
    Crew,
    contents,
    contents_from_scratch,
    finish,
    lapse,
)
from tests.patience import join, until
from tests.postgres_server import VERSIONS, Server, carried_server, server

VERSION = VERSIONS[-1]
CREW = 3
LONGEST_LIFE = 0.25


@pytest.fixture
def url() -> Iterator[str]:
    database = server(VERSION).create("log", migrate)
    yield database
    server(VERSION).drop(database)


@pytest.fixture
def log(url: str) -> Iterator[Postgres]:
    opened = open_postgres(url, Limits(wait=2.0))
    yield opened
    opened.close()


def holds(url: str, of: Server) -> int:
    """Check that every view is what a fold of the whole log comes to; return how many events."""
    finish(url)
    log = open_postgres(url)
    events = len(verify_all(log))
    log.close()
    found, wanted = contents(url), contents_from_scratch(url, of)
    for name, rows in wanted.items():
        assert (rows - found[name], found[name] - rows) == (Counter(), Counter()), name
    assert wanted["parked"]
    return events


def test_views_are_as_folded_from_scratch_whenever_workers_are_killed(
    url: str, log: Postgres, seed: int
) -> None:
    kill_workers(url, log, seed, kills=8)


@pytest.mark.soak
@pytest.mark.parametrize("hundred", range(10))
def test_views_are_as_folded_from_scratch_after_a_thousand_kills(
    url: str, log: Postgres, seed: int, hundred: int
) -> None:
    kill_workers(url, log, seed + hundred, kills=100)


def kill_workers(url: str, log: Postgres, seed: int, kills: int) -> None:
    random = Random(seed)
    with Crew(url, CREW) as crew, talking(log, seed):
        for _ in range(kills):
            time.sleep(random.uniform(0, LONGEST_LIFE))
            killed = random.choice(crew.names)
            crew.kill(killed)
            if random.random() < 0.7:
                lapse(url, killed)
            crew.start()
    assert holds(url, server(VERSION)) > 0


def test_a_worker_that_stalls_past_its_leases_and_wakes_changes_nothing(
    url: str, log: Postgres, seed: int
) -> None:
    stall_workers(url, log, seed, stalls=3)


@pytest.mark.soak
def test_workers_that_stall_a_hundred_times_change_nothing(
    url: str, log: Postgres, seed: int
) -> None:
    stall_workers(url, log, seed, stalls=100)


def stall_workers(url: str, log: Postgres, seed: int, stalls: int) -> None:
    random = Random(seed)
    with Crew(url, CREW) as crew, talking(log, seed):
        for _ in range(stalls):
            stalled = random.choice(crew.names)
            until(lambda name=stalled: owned(url, name) > 0, "its share")  # type: ignore[misc]
            time.sleep(random.uniform(0, LONGEST_LIFE))
            crew.send(stalled, signal.SIGSTOP)
            lapse(url, stalled)
            until(lambda name=stalled: owned(url, name) == 0, "who takes over")  # type: ignore[misc]
            crew.send(stalled, signal.SIGCONT)
    assert holds(url, server(VERSION)) > 0


def owned(url: str, name: str) -> int:
    [(count,)] = asked(url, "SELECT count(*) FROM onrecord.part WHERE owner = %s", name)
    return int(count)


def test_two_hands_on_the_same_parts_fold_each_event_once(
    url: str, log: Postgres, seed: int
) -> None:
    one = Stepping(url, POISONED, "one")
    lease, ended = one.claim(), threading.Event()
    feeds = one.builds.feeding().feeds

    def fold() -> None:
        hand = WorkerThread(one.advance, one.builds, one.tally)
        while not ended.is_set():
            hand.turn(lease, feeds)

    threads = [threading.Thread(target=fold) for _ in range(2)]
    for thread in threads:
        thread.start()
    with talking(log, seed):
        time.sleep(1)
    ended.set()
    for thread in threads:
        join(thread)
    assert one.tally.batches_lost > 0
    one.parts.leave()
    one.close()
    assert holds(url, server(VERSION)) > 0


# Each look at the clock is up to twenty seconds off, before or behind: leases of five run out and
# begin in the future.
STEPPING = """
CREATE SEQUENCE onrecord.looks;
CREATE OR REPLACE FUNCTION onrecord.clock() RETURNS bigint LANGUAGE sql VOLATILE
RETURN (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
    + hashint8extended(nextval('onrecord.looks'), {seed}) % 20000000;
CREATE OR REPLACE FUNCTION onrecord.moment() RETURNS bigint LANGUAGE sql VOLATILE
RETURN onrecord.clock();
"""
STEADY = """
CREATE OR REPLACE FUNCTION onrecord.clock() RETURNS bigint LANGUAGE sql VOLATILE
RETURN (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
"""


def test_leases_by_a_clock_that_steps_lead_to_no_wrong_view(
    url: str, log: Postgres, seed: int
) -> None:
    with psycopg.connect(url, autocommit=True) as operator:
        operator.execute(STEPPING.format(seed=seed).encode())
        with ExitStack() as workers:
            crew = [workers.enter_context(working(url, POISONED)) for _ in range(CREW)]
            with talking(log, seed):
                until(
                    lambda: sum(worker.losses for worker in crew) > 2 * CREW,
                    "changes of hands",
                )
        operator.execute(STEADY)
    assert holds(url, server(VERSION)) > 0


def test_a_server_that_crashes_amid_batches_leaves_views_and_checkpoints_together(
    seed: int,
) -> None:
    fragile = carried_server(VERSION if VERSION != "given" else "18")
    url = fragile.create("log", migrate)
    log = open_postgres(url, Limits(wait=2.0))
    with Crew(url, 2), talking(log, seed):
        for _ in range(2):
            before = folded(url)
            until(lambda seen=before: folded(url) > seen + 100, "rows")  # type: ignore[misc]
            fragile.crash()
            fragile.restart()
    log.close()
    assert holds(url, fragile) > 0
    fragile.crash()


def folded(url: str) -> int:
    [(count,)] = asked(url, "SELECT count(*) FROM onrecord.view_audit")
    return int(count)
