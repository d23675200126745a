"""Threads that fork at once, and beside those that use several files: no child has its parent's connection."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")

BEGIN = """
import os, sys, threading, time
import logging  # Its own lock would keep two threads from forking at once, were it taken before ours.
from pathlib import Path
from uuid import uuid4
sys.path.insert(0, sys.argv[2])
from tests.patience import join, until

waiting, sleep = set(), time.sleep  # The threads that have waited for a fork, or to fork.

def noted_sleep(seconds):
    if sys._getframe(1).f_globals["__name__"] == "onrecord.adapters.storage.sqlite.connection":
        waiting.add(threading.current_thread().name)
    sleep(seconds)

time.sleep = noted_sleep
gates = {}  # Where a thread stands after all hooks of ours, just before it forks.
at_gate = set()

def gate():
    name = threading.current_thread().name
    at_gate.add(name)
    gates.get(name, lambda: None)()

os.register_at_fork(before=gate)
from onrecord.adapters.storage.sqlite.sqlite import open_sqlite
from onrecord.adapters.storage.sqlite import connection as sqlite_connection
from tests.factories import answer, appending

def append(store):
    store.append([appending(uuid4(), answer())])

def forked(in_child):
    child = os.fork()
    if not child:
        os._exit(in_child())
    statuses.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

def thread(work, name):
    made = threading.Thread(target=work, name=name, daemon=True)
    made.start()
    return made

statuses = []
folder = Path(sys.argv[1])
stores = [open_sqlite(folder / name) for name in ("one.db", "other.db")]
store, other = stores
pools = [store.file.connections for store in stores]

def lent():
    return sum(len(pool.idle) for pool in pools)
"""

AT_ONCE = """
done = threading.Event()

def reader():
    append(store)
    done.set()

gates["a"] = lambda: until(lambda: "b" in at_gate | waiting)
gates["b"] = lambda: until(lambda: done.is_set() or "reader" in waiting)
a = thread(lambda: forked(lent), "a")
until(lambda: "a" in at_gate)
b = thread(lambda: forked(lent), "b")
join(a)
thread(reader, "reader")
join(b)
until(done.is_set)
assert statuses == [0, 0], statuses
"""

TWO_FILES = """
def user(outer, inner):
    with outer.borrowed():
        noted.set()
        until(lambda: "MainThread" in waiting)
        with inner.borrowed() as session:
            session.one("schema_version")

for outer, inner in (pools, reversed(pools)):
    noted = threading.Event()
    using = thread(lambda: user(outer, inner), "user")
    until(noted.is_set)
    forked(lent)
    join(using)
    waiting.clear()
assert statuses == [0, 0], statuses
"""

AMID_USE = """
def forks_amid_its_use(pool):
    with pool.borrowed() as session:
        ready.wait()
        forked(left_to_the_parent)
        session.one("schema_version")

def left_to_the_parent():
    return len(sqlite_connection._inherited)

ready = threading.Barrier(2)
threads = [thread(lambda pool=pool: forks_amid_its_use(pool), str(pool)) for pool in pools]
for forking in threads:
    join(forking)
# As the first one forked, the other had its connection and waited; then it was given back.
assert sorted(statuses) == [1, 2], statuses
"""

END = """
for store in stores:
    append(store)
    store.close()
"""


def run(program: str, folder: Path) -> tuple[int, str]:
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "ignore",
            "-c",
            BEGIN + program + END,
            folder,
            Path(__file__).parents[4],
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("program", [AT_ONCE, TWO_FILES, AMID_USE], ids=["once", "two", "amid"])
def test_a_child_has_none_of_its_parents_connections(program: str, tmp_path: Path) -> None:
    assert run(program, tmp_path) == (0, "")
