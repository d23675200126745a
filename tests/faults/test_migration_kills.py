"""kill -9 amid a migration: what there was is there, and the next one goes on where it can."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator
from random import Random

import pytest

import onrecord
from onrecord.adapters.app import migrate
from tests.adapters.storage.postgres.test_migration_traffic import make_older
from tests.patience import join_process
from tests.postgres_server import VERSIONS, Server, server

ROUNDS = 2


@pytest.fixture(params=VERSIONS)
def running(request: pytest.FixtureRequest) -> Iterator[Server]:
    yield server(request.param)


def nothing(_: str) -> None:
    """Leave the database as it was made."""


def killed_amid(url: str, moment: float) -> bool:
    """Kill a process that migrates after so many seconds; whether it was still at it."""
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["onrecord.adapters.app", "psycopg"])
    process = processes.Process(target=migrate, args=(url,), daemon=True)
    process.start()
    time.sleep(moment)
    process.kill()
    join_process(process)
    return process.exitcode != 0


@pytest.mark.parametrize("made", [nothing, make_older], ids=["a new log", "an older log"])
def test_a_migration_that_was_killed_is_done_by_the_next_one(
    running: Server, made: Callable[[str], None], seed: int
) -> None:
    random = Random(seed)
    whole = running.create("whole", made)
    began = time.monotonic()
    migrate(whole)
    takes = time.monotonic() - began
    running.drop(whole)
    for number in range(ROUNDS):
        url = running.create(f"killed{number}", made)
        while killed_amid(url, random.uniform(0, 2 * takes)):
            if random.random() < 0.5:
                break
        migrate(url)
        assert migrate(url) == 0
        with onrecord.connect(url) as store:
            store.conversation("support/4711").user("What is this?")
            assert store.conversation("support/4711").head().version == 2
            assert store.verify().faults == ()
        running.drop(url)
