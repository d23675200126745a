"""Writers of one SQLite file: threads, processes and forked children take turns."""

import multiprocessing
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from uuid import uuid4

import pytest

from onrecord.adapters.storage.sqlite.lock import lock_file
from onrecord.adapters.storage.sqlite.sqlite import Sqlite, open_sqlite
from onrecord.domain.errors import StorageBusy
from tests.factories import appending, raw_event, started
from tests.ledger import verified_log
from tests.patience import PATIENCE, join
from tests.sqlite_by_hand import ByHand


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


@pytest.fixture
def store(path: Path) -> Iterator[Sqlite]:
    opened = open_sqlite(path)
    yield opened
    opened.close()


FORKING = """
import os, sys, threading
from pathlib import Path
from threading import Barrier
from uuid import uuid4
sys.path.insert(0, sys.argv[2])
from onrecord.adapters.storage.sqlite.sqlite import open_sqlite
from tests.factories import appending, answer, started
from tests.ledger import verified_log
from tests.patience import join
from tests.sqlite_by_hand import ByHand

store = open_sqlite(Path(sys.argv[1]))
conversation = uuid4()
store.append([appending(conversation, started())])
stop = threading.Event()

def write():
    own = uuid4()
    while not stop.is_set():
        store.append([appending(own, answer())])

threads = [threading.Thread(target=write) for _ in range(3)]
for thread in threads:
    thread.start()
children = []
for _ in range(5):
    child = os.fork()
    if not child:
        list(store.read(conversation))
        for _ in range(20):
            store.append([appending(conversation, answer())])
        store.close()
        sys.stdout.flush()
        os._exit(0)
    children.append(child)
statuses = [os.waitpid(child, 0)[1] for child in children]
stop.set()
for thread in threads:
    join(thread)
assert statuses == [0] * 5, statuses
assert store.head(conversation).version == 101
verified_log(store)
store.close()
again = open_sqlite(Path(sys.argv[1]))
assert again.head(conversation).version == 101
verified_log(again)
again.close()
"""


def test_parent_and_forked_children_write_to_the_same_store(path: Path) -> None:
    root = Path(__file__).parents[4]
    run = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKING, path, root],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, "")


def test_a_writer_waits_for_its_turn_a_bounded_time(store: Sqlite, path: Path) -> None:
    impatient = open_sqlite(path, wait=0.05)
    with lock_file(path.with_name("log.db-lock")).turn(1), ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(impatient.append, [appending(uuid4(), started())])
        with pytest.raises(StorageBusy, match="retry"):
            waiting.result(timeout=PATIENCE)
    impatient.append([appending(uuid4(), started())])
    assert len(verified_log(store)) == 1
    impatient.close()


def test_readers_do_not_wait_for_the_writer(store: Sqlite, path: Path) -> None:
    conversation = uuid4()
    store.append([appending(conversation, started())])
    writer = ByHand.open(path)
    writer.run("BEGIN IMMEDIATE")
    assert len(list(store.read(conversation))) == 1
    assert store.head(conversation).version == 1
    writer.close()


def test_threads_take_turns_one_at_a_time(path: Path) -> None:
    lock = lock_file(path.with_name("log.db-lock"))
    inside: list[int] = []
    most: list[int] = []

    def enter(number: int) -> None:
        for _ in range(50):
            with lock.turn(60):
                inside.append(number)
                most.append(len(inside))
                inside.remove(number)

    threads = [threading.Thread(target=enter, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        join(thread)
    assert (max(most), len(most)) == (1, 200)


def append_until(path: Path, ready: Barrier, position: int) -> int:
    """Append one by one until the log is that long; return how many were appended here."""
    store, conversation, own = open_sqlite(path), uuid4(), 0
    ready.wait()
    while store.cursors()[0].position < position:
        store.append([appending(conversation, raw_event())])
        own += 1
    store.close()
    return own


def test_no_process_starves_another(path: Path) -> None:
    with multiprocessing.get_context("spawn").Manager() as manager:
        ready = manager.Barrier(3)
        with ProcessPoolExecutor(3, multiprocessing.get_context("spawn")) as pool:
            counting = [pool.submit(append_until, path, ready, 600) for _ in range(3)]
            appended = [count.result(timeout=PATIENCE) for count in counting]
    assert min(appended) > 60
