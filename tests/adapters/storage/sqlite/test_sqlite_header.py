"""Looking whose database a file is leaves the locks that the process has on it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import onrecord
from onrecord.adapters.storage.sqlite.header import application_id
from onrecord.domain.errors import StorageUnavailable
from tests.sqlite_by_hand import ByHand

_SHARED: int = 0x4000_0000 + 2
"""The first byte of those that a connection locks as long as it is open (sqlite3's os_unix.c)."""


def is_locked(path: Path) -> bool:
    """Whether another process sees that a connection has the file open."""
    program = (
        "import fcntl, sys\n"
        "with open(sys.argv[1], 'r+b') as file:\n"
        "    try:\n"
        "        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, int(sys.argv[2]))\n"
        "    except BlockingIOError:\n"
        "        print('locked')\n"
    )
    run = [sys.executable, "-c", program, str(path), str(_SHARED)]
    return subprocess.run(run, check=True, stdout=subprocess.PIPE).stdout == b"locked\n"


@pytest.mark.parametrize("name", ["talks.db", "talks.db-views"])
def test_a_second_store_of_a_process_leaves_the_locks_of_the_first(
    tmp_path: Path, name: str
) -> None:
    url = f"sqlite:///{tmp_path / 'talks.db'}"
    with onrecord.connect(url) as first:
        first.conversation("support/4711").user("Hello")
        first.views.audit()
        assert is_locked(tmp_path / name)
        with onrecord.connect(url) as second:
            second.views.audit()
            assert is_locked(tmp_path / name)
        assert is_locked(tmp_path / name)


@pytest.mark.parametrize("content", [b"", b"x", b"SQLite format 3", b"\0" * 4096])
def test_a_file_that_is_no_database_is_of_nobody(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert application_id(path) is None


def test_a_database_is_of_who_it_says(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    by_hand = ByHand.open(path)
    by_hand.run("PRAGMA application_id = 7")
    by_hand.run("CREATE TABLE customer (name TEXT)")
    by_hand.close()
    assert application_id(path) == 7


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(StorageUnavailable, match="check the disk and its permissions"):
        application_id(tmp_path / "none")
