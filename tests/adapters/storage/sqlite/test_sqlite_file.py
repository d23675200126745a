"""Which files are opened as a SQLite log, which are refused, and how old cursors are."""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import apsw
import pytest

from onrecord.adapters.storage.queries import Migration, load_migrations
from onrecord.adapters.storage.sqlite import file as sqlite_file
from onrecord.adapters.storage.sqlite.sqlite import migrate_sqlite, open_sqlite
from onrecord.domain.errors import (
    ForeignDatabase,
    InvalidInput,
    SchemaNewer,
    SchemaOlder,
    StorageBusy,
    StorageError,
    StorageFull,
    StorageUnavailable,
)
from tests.adapters.storage.sqlite.sqlite_cursors import read_after, recorded
from tests.factories import TENANT, answer, appending, raw_event, started
from tests.ledger import verified_log
from tests.sqlite_by_hand import ByHand


def refused(path: Path, kind: type[StorageError], saying: str) -> None:
    with pytest.raises(kind, match=saying):
        open_sqlite(path, wait=0.05)


def test_a_file_that_is_not_there_is_made(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    open_sqlite(path).close()
    with sqlite3.connect(path) as connection:
        (application_id,) = connection.execute("PRAGMA application_id").fetchone()
        (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    connection.close()
    assert application_id.to_bytes(4, "big") == b"ONRC"
    assert mode == "wal"


def test_an_empty_file_becomes_a_log(tmp_path: Path) -> None:
    path = tmp_path / "empty.db"
    path.touch()
    open_sqlite(path).close()
    assert recorded(path).position == 1


def test_memory_is_refused_with_advice() -> None:
    with pytest.raises(InvalidInput, match="memory://"):
        open_sqlite(Path(":memory:"))


def test_a_folder_is_refused(tmp_path: Path) -> None:
    refused(tmp_path, StorageUnavailable, "is a folder")


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    refused(tmp_path / "none" / "log.db", StorageUnavailable, "does not exist: make it")


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    refused(tmp_path / "pipe", ForeignDatabase, "not a file")


@pytest.mark.parametrize("content", [b"x", b"a report, not a database\n" * 1000, b"\0" * 4096])
def test_a_file_of_another_kind_is_refused_untouched(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "report.txt"
    path.write_bytes(content)
    refused(path, ForeignDatabase, "not an Onrecord log")
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_another_programs_database_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE customer (name TEXT)")
    connection.close()
    before = path.read_bytes()
    refused(path, ForeignDatabase, "choose another file")
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def with_schema(path: Path, version: int) -> None:
    connection = ByHand.open(path)
    connection.run(f"PRAGMA user_version = {version}")
    connection.close()


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    recorded(path)
    with_schema(path, 99)
    refused(path, SchemaNewer, "upgrade Onrecord")
    migrate_sqlite(path)
    refused(path, SchemaNewer, "upgrade Onrecord")


def test_an_older_schema_asks_to_be_migrated_and_keeps_its_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.db"
    cursor = recorded(path)
    newest = len(load_migrations("sqlite")) + 1
    sql = f"CREATE TABLE later (one TEXT) STRICT; PRAGMA user_version = {newest};"
    steps = (*load_migrations("sqlite"), Migration(newest, sql, b"later"))
    monkeypatch.setattr(sqlite_file, "load_migrations", {"sqlite": steps}.get)
    monkeypatch.setattr(sqlite_file, "_SCHEMA", newest)
    refused(path, SchemaOlder, "run onrecord migrate")
    migrate_sqlite(path)
    assert read_after(path, replace(cursor, position=0)) == 1
    monkeypatch.undo()
    refused(path, SchemaNewer, "upgrade Onrecord")


def test_a_file_made_by_migrating_is_as_one_made_by_opening(tmp_path: Path) -> None:
    migrate_sqlite(tmp_path / "log.db")
    by_hand = ByHand.open(tmp_path / "log.db")
    assert by_hand.run("PRAGMA journal_mode") == [("wal",)]
    by_hand.close()
    assert recorded(tmp_path / "log.db").position == 1


def test_a_file_whose_maker_was_killed_before_its_last_step_gets_it_at_the_next_open(
    tmp_path: Path,
) -> None:
    path = tmp_path / "log.db"
    open_sqlite(path).close()
    by_hand = ByHand.open(path)
    assert by_hand.run("PRAGMA journal_mode = DELETE") == [("delete",)]
    by_hand.close()
    open_sqlite(path).close()
    by_hand = ByHand.open(path)
    assert by_hand.run("PRAGMA journal_mode") == [("wal",)]
    by_hand.close()


def test_migrating_a_file_that_is_up_to_date_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    cursor = recorded(path)
    migrate_sqlite(path)
    assert read_after(path, replace(cursor, position=0)) == 1


def test_a_damaged_file_says_so(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    recorded(path, events=50)
    data = bytearray(path.read_bytes())
    data[100:] = b"\xff" * (len(data) - 100)
    path.write_bytes(data)
    with pytest.raises(StorageError, match="restore it from a backup"):
        open_sqlite(path)


READ_ONLY = """
import os, sys
from pathlib import Path
from onrecord.adapters.storage.queries import Migration, load_migrations
from onrecord.adapters.storage.sqlite.sqlite import open_sqlite
if os.geteuid() == 0:
    os.setuid(65534)
try:
    open_sqlite(Path(sys.argv[1]))
except Exception as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_takes_no_writes_is_refused(what: str) -> None:
    # Root may write anywhere, so the program becomes somebody else, who must see the folder.
    with tempfile.TemporaryDirectory() as place:
        folder, path = Path(place), Path(place) / "log.db"
        recorded(path)
        folder.chmod(0o777 if what == "file" else 0o555)
        for file in folder.iterdir():
            file.chmod(0o444 if what == "file" and file == path else 0o666)
        run = subprocess.run(
            [sys.executable, "-c", READ_ONLY, path], capture_output=True, text=True, check=True
        )
        folder.chmod(0o777)
    assert run.stdout.startswith("StorageReadOnly")
    assert "check its permissions" in run.stdout


def test_a_file_in_a_folder_that_may_not_be_entered_is_unavailable() -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "closed"
        folder.mkdir(mode=0o000)
        run = subprocess.run(
            [sys.executable, "-c", READ_ONLY, folder / "log.db"],
            capture_output=True,
            text=True,
            check=True,
        )
    assert run.stdout.startswith("StorageUnavailable")


def test_a_file_that_another_program_locks_is_busy_for_a_bounded_time(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    recorded(path)
    backend = open_sqlite(path, wait=0.05)
    other = ByHand.open(path)
    other.run("BEGIN IMMEDIATE")
    with pytest.raises(StorageBusy, match="locked by another program"):
        backend.append([appending(uuid4(), answer())])
    assert len(verified_log(backend)) == 1
    other.run("ROLLBACK")
    other.close()
    backend.append([appending(uuid4(), answer())])
    assert len(verified_log(backend)) == 2
    backend.close()


def test_a_full_file_takes_nothing_and_goes_on_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.db"
    opened: list[apsw.Connection] = []
    monkeypatch.setattr(apsw, "connection_hooks", [opened.append])
    backend = open_sqlite(path)
    backend.append([appending(uuid4(), started())])
    own = ByHand(opened[-1])
    ((pages,),) = own.run("PRAGMA page_count")
    own.run(f"PRAGMA max_page_count = {pages + 5}")
    conversation = uuid4()
    with pytest.raises(StorageFull, match="free some"):
        for _ in range(100):
            backend.append([appending(conversation, raw_event(body=b"x" * 4000), answer())])
    kept = len(verified_log(backend))
    assert kept % 2 == 1
    with pytest.raises(StorageFull):
        backend.put_blob(TENANT, conversation, [b"x" * 100_000])
    own.run("PRAGMA max_page_count = 1000000")
    backend.append([appending(conversation, answer())])
    assert len(verified_log(backend)) == kept + 1
    backend.close()


def test_a_file_taken_away_while_open_takes_no_appends(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    backend = open_sqlite(path)
    path.rename(tmp_path / "moved.db")
    with pytest.raises(StorageUnavailable, match="taken away"):
        backend.append([appending(uuid4(), answer())])
    shutil.copy(tmp_path / "moved.db", path)
    with pytest.raises(StorageUnavailable, match="replaced"):
        backend.append([appending(uuid4(), answer())])
    backend.close()
