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

from hansard.adapters.storage import sqlite_file
from hansard.adapters.storage.filesystems import filesystem_of, refuse_network_filesystem
from hansard.adapters.storage.sqlite import migrate_sqlite, open_sqlite
from hansard.domain.errors import (
    ForeignDatabase,
    InvalidInput,
    SchemaNewer,
    SchemaOlder,
    StaleCursor,
    StorageBusy,
    StorageError,
    StorageFull,
    StorageUnavailable,
    UnsupportedFilesystem,
)
from hansard.domain.log import Cursor
from tests.factories import TENANT, answer, appending, raw_event, started
from tests.ledger import verified_log
from tests.sqlite_by_hand import ByHand


def recorded(path: Path, events: int = 1) -> Cursor:
    """The cursor of a log's end, after some more events."""
    backend = open_sqlite(path)
    backend.append([appending(uuid4(), *(answer() for _ in range(events)))])
    (cursor,) = backend.cursors()
    backend.close()
    return cursor


def read_after(path: Path, cursor: Cursor) -> int:
    backend = open_sqlite(path)
    try:
        return len(backend.read_log(cursor, 99))
    finally:
        backend.close()


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
    assert application_id.to_bytes(4, "big") == b"HANS"
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
    refused(path, ForeignDatabase, "not a Hansard log")
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
    refused(path, SchemaNewer, "upgrade Hansard")
    migrate_sqlite(path)
    refused(path, SchemaNewer, "upgrade Hansard")


def test_an_older_schema_asks_to_be_migrated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.db"
    recorded(path)
    monkeypatch.setattr(sqlite_file, "_SCHEMA", 2)
    refused(path, SchemaOlder, "run hansard migrate")


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
from hansard.adapters.storage.sqlite import open_sqlite
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


def test_a_copy_is_another_incarnation(tmp_path: Path) -> None:
    path, copy = tmp_path / "log.db", tmp_path / "copy.db"
    cursor = recorded(path)
    shutil.copy(path, copy)
    with pytest.raises(StaleCursor):
        read_after(copy, cursor)
    assert read_after(path, cursor) == 0


def test_a_copy_with_its_lock_file_is_another_incarnation(tmp_path: Path) -> None:
    path, folder = tmp_path / "log.db", tmp_path / "copies"
    cursor = recorded(path)
    folder.mkdir()
    for file in tmp_path.glob("log.db*"):
        shutil.copy2(file, folder)
    with pytest.raises(StaleCursor):
        read_after(folder / "log.db", cursor)


def test_an_older_file_written_over_a_newer_one_is_another_incarnation(tmp_path: Path) -> None:
    path, backup = tmp_path / "log.db", tmp_path / "backup"
    recorded(path)
    shutil.copy(path, backup)
    cursor = recorded(path)
    path.write_bytes(backup.read_bytes())
    with pytest.raises(StaleCursor):
        read_after(path, cursor)
    assert recorded(path).incarnation != cursor.incarnation


def test_a_file_restored_under_its_name_is_another_incarnation(tmp_path: Path) -> None:
    path, backup = tmp_path / "log.db", tmp_path / "backup"
    cursor = recorded(path)
    shutil.copy(path, backup)
    for file in tmp_path.glob("log.db*"):
        file.unlink()
    shutil.copy(backup, path)
    with pytest.raises(StaleCursor):
        read_after(path, cursor)


def test_a_file_moved_with_its_lock_file_stays_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    cursor = recorded(tmp_path / "log.db")
    for file in tmp_path.glob("log.db*"):
        file.rename(folder / file.name)
    assert read_after(folder / "log.db", cursor) == 0


MOUNTS = r"""
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:26 / /mnt rw - tmpfs tmpfs rw
31 30 0:44 / /mnt/team\040share rw - nfs4 server:/share rw
32 30 0:45 / /mnt/local rw - nfs server:/old rw
33 32 8:2 / /mnt/local rw - xfs /dev/sdb1 rw
""".strip()


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/ada/log.db", "ext4"),
        ("/mnt/log.db", "tmpfs"),
        ("/mnt/team share/deep/log.db", "nfs4"),
        ("/mnt/team sharex/log.db", "tmpfs"),
        ("/mnt/local/log.db", "xfs"),
    ],
)
def test_the_innermost_and_latest_mount_holds_a_path(path: str, kind: str) -> None:
    assert filesystem_of(Path(path), MOUNTS) == kind


def test_a_network_file_system_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text("1 0 0:1 / / rw - nfs4 server:/ rw\n")
    monkeypatch.setattr("hansard.adapters.storage.filesystems._MOUNTS", mounts)
    with pytest.raises(UnsupportedFilesystem, match="local disk, or PostgreSQL"):
        open_sqlite(tmp_path / "log.db")
    assert list(tmp_path.iterdir()) == [mounts]
    monkeypatch.setattr("hansard.adapters.storage.filesystems._MOUNTS", tmp_path / "none")
    refuse_network_filesystem(tmp_path)
