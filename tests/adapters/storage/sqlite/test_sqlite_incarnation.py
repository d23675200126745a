"""A copied or restored file is another log; a moved one is the same: old cursors know."""

import shutil
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from uuid import uuid4

import pytest

import onrecord
from onrecord.adapters.storage.sqlite.held_files import Mark
from onrecord.adapters.storage.sqlite.lock import LockFile
from onrecord.adapters.storage.sqlite.sqlite import Sqlite, open_sqlite
from onrecord.domain.errors import StaleCursor
from tests.adapters.storage.sqlite.sqlite_cursors import read_after, recorded
from tests.factories import answer, appending
from tests.sqlite_by_hand import Unruled


def test_a_copy_is_another_incarnation(tmp_path: Path) -> None:
    path, copy = tmp_path / "log.db", tmp_path / "copy.db"
    cursor = recorded(path)
    shutil.copy(path, copy)
    with pytest.raises(StaleCursor):
        read_after(copy, cursor)
    assert read_after(path, cursor) == 0


def test_a_copy_with_its_lock_file_is_another_incarnation(tmp_path: Path) -> None:
    cursor = recorded(tmp_path / "log.db")
    with pytest.raises(StaleCursor):
        read_after(copied(tmp_path), cursor)


@pytest.mark.parametrize("is_written", [False, True])
@pytest.mark.parametrize("last", [1, 2])
def test_a_copy_whose_first_opening_is_cut_short_was_not_set_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: int, is_written: bool
) -> None:
    recorded(tmp_path / "log.db")
    copy, set_mark = copied(tmp_path), LockFile.set_mark
    calls = count(1)

    def interrupted(file: LockFile, mark: Mark) -> None:
        is_last = next(calls) == last
        if is_written or not is_last:
            set_mark(file, mark)
        if is_last:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched, suppress(KeyboardInterrupt):
        patched.setattr(LockFile, "set_mark", interrupted)
        open_sqlite(copy).close()
    with closing(open_sqlite(copy)) as again:
        assert again.file.marks()[1] == []


def copied(folder: Path) -> Path:
    """A copy of a log, in a folder of its own, that its lock file came along with."""
    copies = folder / "copies"
    copies.mkdir()
    for file in folder.glob("log.db*"):
        shutil.copy2(file, copies)
    return copies / "log.db"


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


class Two:
    """A log that two have open, as two processes do, and that was cut meanwhile."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.one, self.other = open_sqlite(path), open_sqlite(path)
        for _ in range(4):
            append(self.one)
        self.before = replace(self.one.cursors()[0], position=1)
        cut(path, 2)

    def close(self) -> None:
        self.one.close()
        self.other.close()


def append(log: Sqlite) -> None:
    log.append([appending(uuid4(), answer())])


def cut(path: Path, position: int) -> None:
    by_hand = Unruled.open(path)
    for table in ("event", "conversation_head"):
        by_hand.run(f"DELETE FROM {table} WHERE position > ?", position)
    by_hand.close()


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Two]:
    with closing(Two(tmp_path / "log.db")) as opened:
        yield opened


def test_a_cut_that_one_found_makes_cursors_stale_for_all(two: Two) -> None:
    append(two.other)
    with pytest.raises(StaleCursor):
        two.one.read_log(two.before, 9)
    assert two.one.cursors() == two.other.cursors() != [two.before]
    assert two.one.incarnation() == two.other.incarnation()


def test_a_cut_is_told_once_though_another_goes_on(two: Two) -> None:
    append(two.other)
    append(two.one)
    append(two.other)
    (found,) = two.one.cursors()
    two.close()
    with closing(open_sqlite(two.path)) as again:
        assert again.cursors() == [found]
        assert [mark.position for mark in again.file.marks()[1]] == [4]


def test_views_are_those_of_the_log_as_it_is_after_a_cut(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'talks.db'}"
    with onrecord.connect(url) as one, onrecord.connect(url) as other:
        for store in (one, other):
            store.conversation("support/4711").user("Where is parcel NW-20931?")
            assert len(store.views.audit()) > 0
        cut(tmp_path / "talks.db", 1)
        other.conversation("support/4712").user("Where is parcel NW-20932?")
        assert [line.position for line in one.views.audit()] == [
            line.position for line in other.views.audit()
        ]
