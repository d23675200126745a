"""A copied or restored file is another log; a moved one is the same: old cursors know."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from onrecord.domain.errors import StaleCursor
from tests.adapters.sqlite_cursors import read_after, recorded


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


def test_a_link_leads_to_the_same_log(tmp_path: Path) -> None:
    cursor = recorded(tmp_path / "log.db")
    (tmp_path / "link.db").symlink_to(tmp_path / "log.db")
    assert recorded(tmp_path / "link.db") == replace(cursor, position=2)
    assert read_after(tmp_path / "log.db", cursor) == 1
    assert not (tmp_path / "link.db-lock").exists()
