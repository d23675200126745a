"""Views can always be made again from the log: where their file is deleted, damaged, or of another."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from onrecord.adapters.storage.sqlite.connection import Session
from tests.adapters.views.sqlite_places import Opened, opened

ROOT = Path(__file__).parents[3]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Opened]:
    place = opened(tmp_path)
    yield place
    place.close()


def views_file(folder: Path) -> Path:
    return folder / "log.db-views"


def test_a_file_that_was_deleted_is_made_again(store: Opened, tmp_path: Path) -> None:
    store.said("Hello")
    before = store.page()
    views_file(tmp_path).unlink()
    assert store.page() == before
    assert views_file(tmp_path).exists()


def test_a_file_that_was_deleted_while_another_program_reads_it_is_made_again_for_both(
    store: Opened, tmp_path: Path
) -> None:
    store.said("Hello")
    with another_reading(tmp_path) as ask:
        assert ask() == 2
        views_file(tmp_path).unlink()
        store.said("And?")
        assert store.positions() == [4, 3, 2, 1]
        assert ask() == 4
        store.said("So?")
        assert ask() == 6
        assert store.positions() == [6, 5, 4, 3, 2, 1]


@contextmanager
def another_reading(folder: Path) -> Generator[Callable[[], int]]:
    """Another process that has the views open; it says how many rows it reads, when asked."""
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from tests.adapters.views.sqlite_places import opened\n"
        "store = opened(Path(sys.argv[1]))\n"
        "for _ in sys.stdin:\n"
        "    print(len(store.page().rows), flush=True)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as process:
        asked, told = process.stdin, process.stdout
        assert asked is not None
        assert told is not None

        def ask() -> int:
            print(file=asked, flush=True)
            return int(told.readline())

        yield ask


@pytest.mark.parametrize("at", [100, 4096, 30_000])
def test_a_damaged_file_is_made_again(tmp_path: Path, at: int) -> None:
    first = opened(tmp_path)
    for _ in range(40):
        first.said("Hello", *("Hi",) * 10)
    before = first.page()
    first.close()
    with views_file(tmp_path).open("r+b") as file:
        file.seek(at)
        file.write(os.urandom(20_000))
    with closing(opened(tmp_path)) as second:
        assert second.page() == before
        assert second.page() == before


@pytest.mark.parametrize("verb", ["rebuild", "retry", "abandon"])
def test_a_damaged_file_is_made_again_by_who_keeps_it(tmp_path: Path, verb: str) -> None:
    first = opened(tmp_path)
    for _ in range(100):
        first.said("Hello", *("Hi",) * 9)
    before = first.page()
    first.close()
    with views_file(tmp_path).open("r+b") as file:
        file.seek(views_file(tmp_path).stat().st_size // 2)
        file.write(os.urandom(20_000))
    with closing(opened(tmp_path)) as second:
        getattr(second.views, verb)("audit")
        assert second.page() == before


def test_a_file_whose_maker_was_killed_amid_it_is_made_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(_session: Session, _sql: str) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, closing(opened(tmp_path)) as first:
        first.said("Hello")
        patched.setattr(Session, "migrate", killed)
        with pytest.raises(KeyboardInterrupt):
            first.page()
    assert views_file(tmp_path).stat().st_size > 0
    with closing(opened(tmp_path)) as second:
        assert second.positions() == [2, 1]


def test_a_file_that_was_cut_is_made_again(tmp_path: Path) -> None:
    first = opened(tmp_path)
    for _ in range(40):
        first.said("Hello", *("Hi",) * 10)
    before = first.page()
    first.close()
    os.truncate(views_file(tmp_path), 9_000)
    with closing(opened(tmp_path)) as second:
        assert second.page() == before


def test_a_file_that_is_damaged_while_it_is_used_is_made_again(
    store: Opened, tmp_path: Path
) -> None:
    for _ in range(40):
        store.said("Hello", *("Hi",) * 10)
    before = store.page()
    # By another process: closing a file here would free the locks that the store has on it.
    program = (
        "import os, sqlite3, sys\n"
        "connection = sqlite3.connect(sys.argv[1])\n"
        "connection.execute('PRAGMA wal_checkpoint(TRUNCATE)')\n"
        "file = open(sys.argv[1], 'r+b')\n"
        "file.seek(4096)\n"
        "file.write(os.urandom(os.path.getsize(sys.argv[1]) - 4096))\n"
    )
    subprocess.run([sys.executable, "-c", program, str(views_file(tmp_path))], check=True)
    for _ in range(2):
        store.said("And?")
        assert store.page().behind == 0
    assert [row for row in store.page().rows if row["position"] <= 480] == list(before.rows)


def test_views_of_a_restored_log_start_anew(tmp_path: Path) -> None:
    first = opened(tmp_path)
    first.said("Hello")
    shutil.copyfile(tmp_path / "log.db", tmp_path / "backup.db")
    shutil.copyfile(tmp_path / "log.db-wal", tmp_path / "backup.db-wal")
    lost = first.said("This will be lost")
    first.page()
    first.close()
    for name in ("log.db", "log.db-wal"):
        (tmp_path / name).unlink(missing_ok=True)
        shutil.copyfile(tmp_path / name.replace("log", "backup"), tmp_path / name)
    with closing(opened(tmp_path)) as second:
        kept = second.said("This comes instead")
        found = second.page()
        assert [row["position"] for row in found.rows] == [4, 3, 2, 1]
        assert {row["conversation_id"] for row in found.rows} & {str(lost), str(kept)} == {
            str(kept)
        }
