"""kill -9 at any moment of an append: nothing acknowledged is lost, nothing is half there."""

import multiprocessing
import time
from pathlib import Path
from random import Random

import pytest

from onrecord.adapters.storage.sqlite.sqlite import open_sqlite
from tests.contract.places import SqlitePlace
from tests.faults.kills import kill_writers
from tests.ledger import verified_log
from tests.patience import join_process


def test_nothing_acknowledged_is_lost_to_kills_on_sqlite(tmp_path: Path, seed: int) -> None:
    assert kill_writers(SqlitePlace(tmp_path), rounds=50, seed=seed) > 0


@pytest.mark.soak
def test_nothing_acknowledged_is_lost_to_a_thousand_kills_on_sqlite(
    tmp_path: Path, seed: int
) -> None:
    assert kill_writers(SqlitePlace(tmp_path), rounds=350, seed=seed) > 0


def open_and_close(path: Path) -> None:
    open_sqlite(path).close()


def test_a_file_whose_making_was_killed_is_made_at_the_next_open(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["tests.faults.writer"])
    for number in range(40):
        path = tmp_path / f"{number}.db"
        process = processes.Process(target=open_and_close, args=(path,), daemon=True)
        process.start()
        time.sleep(random.uniform(0, 0.02))
        process.kill()
        join_process(process)
        backend = open_sqlite(path)
        assert verified_log(backend) == []
        backend.close()
