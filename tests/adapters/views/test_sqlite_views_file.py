"""The file of a log's views: which is refused, which is made anew, and what erasing leaves in it."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from onrecord.adapters.storage.queries import Migration, load_migrations
from onrecord.adapters.views.sqlite import file
from onrecord.adapters.views.sqlite import views as sqlite_views
from onrecord.domain.errors import (
    ForeignDatabase,
    SchemaNewer,
    StorageBusy,
    StorageError,
    StorageReadOnly,
)
from onrecord.domain.log import Cursor, RecordedEvent
from onrecord.projections.views.usage import USAGE
from tests.adapters.views.sqlite_places import Opened, opened
from tests.adapters.views.used import ended
from tests.factories import appending, prompt, started
from tests.patience import PATIENCE, join

ROOT = Path(__file__).parents[3]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Opened]:
    place = opened(tmp_path)
    yield place
    place.close()


def views_file(folder: Path) -> Path:
    return folder / "log.db-views"


def refused(folder: Path, kind: type[StorageError], saying: str) -> None:
    with closing(opened(folder)) as place, pytest.raises(kind, match=saying):
        place.page()


def test_views_lie_beside_the_log_and_say_what_they_are(store: Opened, tmp_path: Path) -> None:
    store.said("Hello")
    store.page()
    with closing(sqlite3.connect(views_file(tmp_path))) as connection:
        (application_id,) = connection.execute("PRAGMA application_id").fetchone()
        (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    assert application_id.to_bytes(4, "big") == b"ONRV"
    assert mode == "wal"


@pytest.mark.parametrize("content", [b"x", b"a report, not a database\n" * 1000, b"\0" * 4096])
def test_a_file_of_another_kind_is_refused_untouched(tmp_path: Path, content: bytes) -> None:
    views_file(tmp_path).write_bytes(content)
    refused(tmp_path, ForeignDatabase, "move it away")
    assert views_file(tmp_path).read_bytes() == content


def test_a_folder_of_that_name_is_refused(tmp_path: Path) -> None:
    views_file(tmp_path).mkdir()
    refused(tmp_path, ForeignDatabase, "move it away")


@pytest.mark.parametrize("pragma", ["", "PRAGMA application_id = 7"])
def test_another_programs_database_is_refused_untouched(tmp_path: Path, pragma: str) -> None:
    with closing(sqlite3.connect(views_file(tmp_path))) as connection:
        connection.executescript(f"{pragma}; CREATE TABLE customer (name TEXT)")
    before = views_file(tmp_path).read_bytes()
    refused(tmp_path, ForeignDatabase, "move it away")
    assert views_file(tmp_path).read_bytes() == before


def test_an_empty_file_becomes_the_views(store: Opened, tmp_path: Path) -> None:
    views_file(tmp_path).touch()
    store.said("Hello")
    assert store.positions() == [2, 1]


def test_a_newer_schema_is_refused(store: Opened, tmp_path: Path) -> None:
    store.said("Hello")
    store.page()
    with closing(sqlite3.connect(views_file(tmp_path))) as connection:
        connection.execute("UPDATE meta SET migrations = 99")
        connection.commit()
    refused(tmp_path, SchemaNewer, "upgrade Onrecord, or delete")


def test_an_older_schema_is_brought_up_to_date(
    store: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.said("Hello")
    before = store.page()
    later = Migration(99, "CREATE TABLE later (one TEXT) STRICT", b"later")
    steps = (*load_migrations("sqlite_views"), later)
    monkeypatch.setattr(file, "load_migrations", {"sqlite_views": steps}.get)
    assert store.page() == before


def test_two_that_have_the_turn_fold_an_event_once(
    store: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.log.append([appending(uuid4(), started(), prompt("Hello"), ended())])
    read_log, other = store.log.read_log, opened(tmp_path)

    def read_then_overtaken(after: Cursor, limit: int) -> list[RecordedEvent]:
        events = read_log(after, limit)
        lock = tmp_path / "log.db-views-lock"
        if lock.exists() and len(overtaken) < 2:
            lock.unlink()
            overtaken.append(other.page(USAGE).position)
        return events

    overtaken: list[int] = []
    monkeypatch.setattr(store.log, "read_log", read_then_overtaken)
    found = store.page(USAGE)
    assert overtaken[0] == found.position == 3
    assert [row["responses"] for row in found.rows] == [1]
    other.close()


def test_a_folder_that_takes_no_writes_is_told_with_advice(
    store: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.said("Hello")

    def may_write(path: Path, _mode: int) -> bool:
        return path != tmp_path

    monkeypatch.setattr(os, "access", may_write)
    with pytest.raises(StorageReadOnly, match="copy the log"):
        store.page()


def test_who_cannot_have_the_turn_answers_with_what_is_there(
    store: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_views, "BRIEFLY", 0.01)
    store.said("Hello")
    before = store.page()
    with another_catching_up(tmp_path):
        store.said("And?")
        found = store.page()
        assert (found.rows, found.behind) == (before.rows, 2)
    assert store.page().behind == 0


def test_who_cannot_have_the_turn_does_not_answer_with_what_was_erased(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_views, "BRIEFLY", 0.01)
    with closing(opened(tmp_path, wait=0.05)) as store:
        conversation = store.said("Hello")
        store.page()
        with another_catching_up(tmp_path):
            store.log.forget(conversation)
            with pytest.raises(StorageBusy):
                store.page()
        assert store.page().behind == 0


@contextmanager
def another_catching_up(folder: Path) -> Generator[None]:
    """Another process that has the turn of the views' file."""
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from onrecord.adapters.storage.sqlite.lock import lock_file\n"
        "with lock_file(Path(sys.argv[1])).turn(5):\n"
        "    print('mine', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    place = str(views_file(folder).with_name("log.db-views-lock"))
    process = subprocess.Popen(
        [sys.executable, "-c", program, place],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "mine\n"
    try:
        yield
    finally:
        process.communicate(timeout=PATIENCE)


def test_processes_that_read_at_once_fold_every_event_once(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as store:
        for _ in range(30):
            store.said("Hello", *("Hi",) * 30)
        program = (
            "import sys\n"
            "from pathlib import Path\n"
            "from tests.adapters.views.sqlite_places import opened\n"
            "store = opened(Path(sys.argv[1]))\n"
            "while (found := store.page()).behind: pass\n"
            "print(found.position, len(found.rows))\n"
        )
        processes = [
            subprocess.Popen(
                [sys.executable, "-c", program, str(tmp_path)],
                stdout=subprocess.PIPE,
                text=True,
                cwd=ROOT,
            )
            for _ in range(3)
        ]
        assert {process.communicate(timeout=PATIENCE)[0] for process in processes} == {"960 960\n"}


def test_threads_that_read_at_once_fold_every_event_once(store: Opened) -> None:
    for _ in range(20):
        store.said("Hello", *("Hi",) * 30)
    seen: list[int] = []

    def read() -> None:
        seen.append(len(store.page().rows))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        join(thread)
    assert seen == [640] * 4


def test_a_forked_child_reads_on(store: Opened) -> None:
    store.said("Hello")
    store.page()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            store.said("From the child")
            code = 0 if store.positions() == [4, 3, 2, 1] else 2
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert store.positions() == [4, 3, 2, 1]
