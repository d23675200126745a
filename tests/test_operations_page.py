"""docs/operations.md is true: its queries find what they are for, its commands do what it says."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.rows import dict_row
from psycopg.sql import SQL, Identifier

import onrecord
from onrecord.adapters.storage.postgres.postgres import migrate, open_postgres
from onrecord.domain.log import Recorded
from tests.factories import appending, prompt
from tests.faults.load import under_load
from tests.faults.quiet import wait_until
from tests.faults.test_postgres_faults import ONE_WAITS
from tests.ledger import verified_log
from tests.patience import PATIENCE, until
from tests.postgres_server import GIVEN, VERSIONS, Server, server
from tests.postgres_sessions import HOLD

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")

VIEW_THAT_IS_BEHIND = """
INSERT INTO onrecord.view (name) VALUES ('audit') ON CONFLICT DO NOTHING;
INSERT INTO onrecord.generation (view, number, revision, status) VALUES ('audit', 1, 3, 'live');
INSERT INTO onrecord.checkpoint (view, generation, shard, part)
SELECT 'audit', 1, shard, part FROM onrecord.part;
"""
PARKED = """
INSERT INTO onrecord.parked (view, generation, conversation_id, tenant, shard, part, position,
    version, type, kind, error, attempts, parked_at)
SELECT 'audit', 1, e.conversation_id, e.tenant, e.shard, 0, e.position, e.version, e.type,
    'KeyError', 'no such row', 7, onrecord.clock() FROM onrecord.event AS e;
"""


def blocks(heading: str, language: str) -> list[str]:
    """The fenced blocks of a language below a heading, up to the next one of its kind."""
    level = heading.partition(" ")[0]
    (section,) = re.findall(
        rf"^{re.escape(heading)}.*?\n(.*?)(?=^#{{1,{len(level)}}} |\Z)",
        PAGE,
        re.MULTILINE | re.DOTALL,
    )
    return re.findall(rf"^```{language}\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)


@pytest.fixture(params=VERSIONS)
def running(request: pytest.FixtureRequest) -> Server:
    return server(request.param)


@pytest.fixture
def url(running: Server) -> Iterator[str]:
    """A log with one event, and a view that has folded none."""
    created = running.create("log", migrate)
    log = open_postgres(created)
    log.append([appending(uuid4(), prompt())])
    log.close()
    with psycopg.connect(created, autocommit=True) as owner:
        owner.execute(VIEW_THAT_IS_BEHIND)
    yield created
    running.drop(created)


Found = list[dict[str, Any]]


def asked(url: str, block: str) -> list[Found]:
    """The rows of each statement of a block."""
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.cursor(row_factory=dict_row)
        statements = [statement for statement in block.split(";\n") if statement.strip()]
        return [rows_of(cursor, statement) for statement in statements]


def rows_of(cursor: psycopg.Cursor[dict[str, Any]], statement: str) -> Found:
    cursor.execute(statement.encode())
    return cursor.fetchall() if cursor.description else []


def test_every_query_of_the_page_is_understood(url: str) -> None:
    queries = re.findall(r"^```sql\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert len(queries) == 9
    for query in queries:
        asked(url, query)


def test_two_workers_share_the_work_and_killing_one_loses_nothing(tmp_path: Path) -> None:
    url = server(VERSIONS[-1]).create("log", migrate)
    (block,) = blocks("## Two workers share the work", "sql")
    log = open_postgres(url)
    with (
        under_load(log),
        working(url, tmp_path / "first") as first,
        working(url, tmp_path / "second") as second,
    ):
        until(lambda: [row["parts"] for row in asked(url, block)[0]] == [16, 16])
        first.kill()
        until(lambda: [row["parts"] for row in asked(url, block)[0]] == [32])
        second.send_signal(signal.SIGTERM)
        assert second.wait(60) == 0
    log.close()
    once = [ONRECORD, "worker", "--once", "--url", url]
    subprocess.run(once, check=True, stdout=subprocess.DEVNULL)
    _, (row,) = asked(url, block)
    server(VERSIONS[-1]).drop(url)
    assert row["events"] == row["rows"] == row["different"] > 0


ONRECORD = str(Path(sys.executable).with_name("onrecord"))


@contextmanager
def working(url: str, told: Path) -> Generator[subprocess.Popen[bytes]]:
    """A worker of its own process; what it tells goes to a file."""
    command = [ONRECORD, "worker", "--url", url]
    with told.open("wb") as file, subprocess.Popen(command, stdout=file, stderr=file) as worker:
        try:
            yield worker
        finally:
            worker.kill()


def test_the_sizes_are_told_by_table(url: str) -> None:
    (block,) = blocks("## What a log grows by", "sql")
    ((largest, *_),) = asked(url, block)
    assert largest["rows"].endswith(("kB", "bytes"))


def test_a_view_that_is_behind_is_found(url: str) -> None:
    (block,) = blocks("### Lag", "sql")
    (rows,) = asked(url, block)
    assert {row["behind"] for row in rows} == {0, 1}
    assert rows[0]["view"] == "audit"


def test_parked_events_and_views_that_stand_still_are_found(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute(PARKED)
        owner.execute("UPDATE onrecord.view SET paused = true")
    (block,) = blocks("### Parked events", "sql")
    parked, standing = asked(url, block)
    assert [(row["view"], row["kind"], row["position"]) for row in parked] == [
        ("audit", "KeyError", 1)
    ]
    assert [(row["name"], row["paused"]) for row in standing] == [("audit", True)]


def test_who_holds_a_stuck_lock_is_found_and_can_be_ended(url: str) -> None:
    (block,) = blocks("### A stuck lock", "sql")
    log = open_postgres(url)
    (shard,) = (cursor.shard for cursor in log.cursors() if cursor.position)
    with closing(psycopg.connect(url)) as holder, ThreadPoolExecutor(1) as pool:
        holder.execute(HOLD, (shard,))
        waiting = pool.submit(log.append, [appending(uuid4(), prompt())])
        wait_until(url, ONE_WAITS)
        (rows,) = asked(url, block)
        held, waits = rows
        assert (held["lock"], held["waits"], held["state"]) == (
            f"shard {shard}",
            False,
            "idle in transaction",
        )
        assert held["pid"] == holder.info.backend_pid
        assert (waits["lock"], waits["waits"], waits["behind"]) == (
            f"shard {shard}",
            True,
            [held["pid"]],
        )
        asked(url, f"SELECT pg_terminate_backend({held['pid']})")
        assert waiting.result(timeout=PATIENCE) == [Recorded(1, 1, 2)]
    log.close()


@pytest.mark.parametrize("table", ["erasure", "migration"])
def test_the_locks_that_are_no_shards_have_names(url: str, table: str) -> None:
    (block,) = blocks("### A stuck lock", "sql")
    lock = SQL("LOCK TABLE onrecord.{} IN EXCLUSIVE MODE").format(Identifier(table))
    with (
        psycopg.connect(url) as holder,
        psycopg.connect(url) as other,
        ThreadPoolExecutor(1) as pool,
    ):
        holder.execute(lock)
        waiting = pool.submit(other.execute, lock)
        until(lambda: len(asked(url, block)[0]) == 2)
        told = [(row["lock"], row["waits"]) for row in asked(url, block)[0]]
        assert told == [(f"onrecord.{table}", False), (f"onrecord.{table}", True)]
        holder.rollback()
        waiting.result(timeout=PATIENCE)


def test_whose_parts_are_whose_is_told(url: str) -> None:
    (block,) = blocks("### A worker does not take over", "sql")
    parts, _ = asked(url, block)
    assert len(parts) > 1
    assert all(part["free"] for part in parts)


def test_generations_are_told(url: str) -> None:
    (block,) = blocks("### A rebuild that failed", "sql")
    ((row,),) = asked(url, block)
    assert (row["view"], row["status"], row["least"]) == ("audit", "live", 0)


@pytest.mark.skipif(GIVEN is not None, reason="the programs of that server's version may lack here")
def test_what_is_backed_up_as_the_page_says_is_restored_as_it_says(
    running: Server, url: str, tmp_path: Path
) -> None:
    log = open_postgres(url)
    for _ in range(3):
        log.append([appending(uuid4(), prompt())])
    with onrecord.connect(f"sqlite:///{tmp_path / 'talks.db'}") as chats:
        chats.conversation("support/4711").user("Hello")
        dump, server_backup, file_backup = blocks("## Backup", "sh")
        restoring = running.url_of("talks_restored")
        sh(running, tmp_path, url, dump)
        forgotten = next(event.conversation_id for event in verified_log(log))
        log.forget(forgotten)
        sh(running, tmp_path, url, dump.splitlines()[1], server_backup, file_backup)
    log.close()
    (restore,) = blocks("## Restore", "sh")
    try:
        sh(running, tmp_path, url, restore)
        restored = open_postgres(restoring)
        assert len(verified_log(restored)) == 6  # Its erasure is recorded there too.
        assert {event.body for event in restored.read(forgotten)} == {None}
        restored.close()
    finally:
        running.drop(restoring)
    with onrecord.connect(f"sqlite:///{tmp_path / 'talks-backup.db'}") as copy:
        assert copy.get("support/4711").head().version > 0
    assert (tmp_path / "base" / "base.tar.gz").exists()


def sh(running: Server, folder: Path, url: str, *commands: str) -> None:
    assert running.carried is not None
    binaries = f"{running.carried.bin_path}:{Path(sys.executable).parent}"
    around = {
        **os.environ,
        "PATH": f"{binaries}:{os.environ['PATH']}",
        "ONRECORD_URL": url,
        "RESTORED_URL": running.url_of("talks_restored"),
    }
    script = "\n".join(commands)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env=around,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
