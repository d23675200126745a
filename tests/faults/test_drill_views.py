"""Views in the drill of docs/operations.md: a restored view stands where its log does, and goes on."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import onrecord
from onrecord.adapters.storage.postgres.postgres import migrate, open_postgres
from onrecord.adapters.store import Store
from onrecord.projections.views.audit import AUDIT
from tests.adapters.views.workers import asked, caught_up, folded, working
from tests.faults.load import under_load
from tests.faults.test_drill import VACUUM_INTO
from tests.ledger import by_conversation, verified_log
from tests.patience import until
from tests.postgres_copies import run
from tests.postgres_server import GIVEN, VERSIONS, Server, server

VIEWS = {"audit": AUDIT}
AHEAD = """
SELECT count(*) FROM onrecord.checkpoint AS c WHERE c.position > coalesce(
    (SELECT max(e.position) FROM onrecord.event AS e WHERE e.shard = c.shard), 0)
"""


@pytest.fixture
def running() -> Server:
    return server(VERSIONS[-1])


@pytest.fixture
def url(running: Server) -> Iterator[str]:
    created = running.create("log", migrate)
    yield created
    running.drop(created)


@pytest.fixture
def empty(running: Server) -> Iterator[str]:
    created = running.create("bare", lambda _: None)
    yield created
    running.drop(created)


@pytest.mark.skipif(GIVEN is not None, reason="the programs of that server's version may lack here")
def test_views_that_are_dumped_amid_their_work_are_restored_and_go_on(
    running: Server, url: str, empty: str, tmp_path: Path
) -> None:
    dump = tmp_path / "talks.dump"
    log = open_postgres(url)
    with under_load(log) as load, working(url, VIEWS, threads=2):
        until(lambda: folded(url) != {}, "the first rows")
        run(running, "pg_dump", "--format=custom", f"--file={dump}", url)
        load.go_on()
    log.close()
    run(running, "pg_restore", "--exit-on-error", f"--dbname={empty}", str(dump))
    assert asked(empty, AHEAD) == [(0,)]
    rows_before = folded(empty)
    restored = open_postgres(empty)
    with under_load(restored), working(empty, VIEWS, threads=2):
        until(lambda: folded(empty).keys() > rows_before.keys(), "the rows of those who came since")
    caught_up(empty, VIEWS)
    versions = {
        conversation: [event.version for event in events]
        for conversation, events in by_conversation(verified_log(restored)).items()
    }
    restored.close()
    assert rows_before.keys() <= versions.keys()
    assert folded(empty) == versions


def test_views_of_before_say_nothing_of_a_file_that_was_restored(tmp_path: Path) -> None:
    path, backup = tmp_path / "talks.db", tmp_path / "backup.db"
    with onrecord.connect(f"sqlite:///{path}") as store:
        store.conversation("before").user("Hello")
        subprocess.run([sys.executable, "-c", VACUUM_INTO, path, backup], check=True)
        store.conversation("since").user("Hello")
        assert keys(store) == {"before", "since"}
    shutil.copy(backup, path)
    with onrecord.connect(f"sqlite:///{path}") as restored:
        assert keys(restored) == {"before"}
        restored.conversation("afterwards").user("Hello")
        assert keys(restored) == {"before", "afterwards"}


def keys(store: Store) -> set[str | None]:
    return {row.key for row in store.views.conversations()}
