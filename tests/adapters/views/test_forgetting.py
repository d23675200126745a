"""What is forgotten is in no file of the views any more, wherever a program dies on the way."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any, cast
from uuid import UUID, uuid4

import apsw
import pytest

import onrecord
from onrecord.adapters.storage.sqlite.sqlite import open_sqlite
from onrecord.adapters.store import Store, backend_of
from onrecord.adapters.views.ports import PageQuery
from onrecord.adapters.views.sqlite.file import ViewsFile
from onrecord.adapters.views.sqlite.views import SqliteViews
from onrecord.domain.errors import StorageBusy
from onrecord.domain.log import Backend, Cursor, RecordedEvent
from onrecord.projections.views.search import SEARCH, parse_query
from tests.factories import BECAUSE, TENANT, appending, prompt, started, tool_call

KEY = "support/heliotrope"
WORDS = ("heliotrope", "marmalade", "zeppelin")
ROOT = Path(__file__).parents[3]


def connected(folder: Path) -> Store:
    return onrecord.connect(f"sqlite:///{folder / 'talks.db'}")


def said(store: Store) -> None:
    chat = store.conversation(KEY)
    chat.user("Where is my marmalade?")
    chat.log.append(tool_call("c1", "zeppelin"))
    store.conversation("other").user("And my toast?")


def read(store: Store) -> int:
    """Read every view, so that each holds what there is; return how much is found of it."""
    views = store.views
    views.usage()
    tools = sum(deed.tool is not None for deed in views.audit())
    hits = len(views.search("marmalade")) + len(views.search("zeppelin"))
    return tools + hits + len(views.conversations(key=KEY))


def holding(folder: Path) -> set[tuple[str, str]]:
    """Which of the words are in which of the files."""
    return {
        (path.name, word)
        for path in folder.iterdir()
        if path.is_file()
        for word in WORDS
        if word.encode() in path.read_bytes().lower()
    }


def test_what_is_forgotten_is_in_no_file(tmp_path: Path) -> None:
    with connected(tmp_path) as store:
        said(store)
        assert read(store) == 4
        views = {name for name, _ in holding(tmp_path) if "views" in name}
        assert views <= {"talks.db-views", "talks.db-views-wal"} and views
        store.forget(KEY, **BECAUSE)
        assert holding(tmp_path) == set()
        assert read(store) == 0
        assert len(store.views.search("toast")) == 1


def test_views_that_nobody_read_are_not_made_to_forget(tmp_path: Path) -> None:
    with connected(tmp_path) as store:
        said(store)
        store.forget(KEY, **BECAUSE)
    assert not (tmp_path / "talks.db-views").exists()


def test_an_old_generation_forgets_too(tmp_path: Path) -> None:
    with connected(tmp_path) as store:
        said(store)
        read(store)

        def ended(done: int, of: int) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            store.views.keeper.rebuild("search", ended)
        store.forget(KEY, **BECAUSE)
        assert holding(tmp_path) == set()


def test_who_reads_next_finishes_what_a_killed_program_did_not(tmp_path: Path) -> None:
    with connected(tmp_path) as store:
        said(store)
        assert read(store) == 4
    program = (
        "import os, signal, sys, onrecord\n"
        "store = onrecord.connect(sys.argv[1])\n"
        "store.views.pages.erase = lambda: os.kill(os.getpid(), signal.SIGKILL)\n"
        "store.forget(sys.argv[2], reason='asked to', actor='ana')\n"
    )
    url = f"sqlite:///{tmp_path / 'talks.db'}"
    killed = subprocess.run([sys.executable, "-c", program, url, KEY], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert {name for name, _ in holding(tmp_path) if "views" in name}
    with connected(tmp_path) as store:
        # The first view that is read does it for all.
        assert len(store.views.usage()) == 0
        assert holding(tmp_path) == set()
        assert read(store) == 0


def test_a_reader_in_the_way_is_told_and_the_next_try_finishes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = open_sqlite(tmp_path / "talks.db")
    views = SqliteViews(log, tmp_path / "talks.db", wait=0.05)

    def of(_log: Backend, _path: Path | None, **_naming: object) -> SqliteViews:
        return views

    monkeypatch.setattr("onrecord.adapters.views.sqlite.views.SqliteViews", of)
    with connected(tmp_path) as store:
        said(store)
        read(store)
        conversation = store.get(KEY).conversation_id
        with closing(apsw.Connection(str(tmp_path / "talks.db-views"))) as reader:
            reading = cast("Any", reader).execute("SELECT * FROM generation")
            next(reading)
            with pytest.raises(StorageBusy, match="end that program"):
                store.forget(KEY, **BECAUSE)
            assert len(store.views.search("marmalade")) == 0
            reading.close()
        store.forget(conversation, **BECAUSE)
        assert holding(tmp_path) == set()
    log.close()


def test_who_reads_does_not_wait_until_a_reader_in_the_way_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[bool] = []
    empty_wal = ViewsFile.empty_wal

    def watched(file: ViewsFile, *, patiently: bool) -> bool:
        waited.append(patiently)
        return empty_wal(file, patiently=patiently)

    with connected(tmp_path) as store:
        said(store)
        read(store)
        conversation = store.get(KEY).conversation_id
        monkeypatch.setattr(ViewsFile, "empty_wal", watched)
        with closing(apsw.Connection(str(tmp_path / "talks.db-views"))) as reader:
            reading = cast("Any", reader).execute("SELECT * FROM generation")
            next(reading)
            backend_of(store).forget(conversation)
            assert len(store.views.search("marmalade")) == 0
            reading.close()
        assert waited == [False]
        assert {name for name, _ in holding(tmp_path)} == {"talks.db-views-wal"}
        store.views.usage()
        assert waited == [False, False]
        assert holding(tmp_path) == set()


def test_an_older_file_put_in_the_logs_place_is_read_anew(tmp_path: Path) -> None:
    with connected(tmp_path) as store:
        said(store)
        store.forget("other", **BECAUSE)
    backup = (tmp_path / "talks.db").read_bytes()
    with connected(tmp_path) as store:
        read(store)
        store.forget(KEY, **BECAUSE)
    # Into the same file, so that nothing but its content says that it is another.
    (tmp_path / "talks.db").write_bytes(backup)
    with connected(tmp_path) as store:
        assert backend_of(store).erasures() == 1
        assert read(store) == 4
        assert store.views.search("marmalade").behind == 0


def test_what_is_erased_between_reading_and_writing_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(open_sqlite(tmp_path / "log.db")) as log:
        conversation = uuid4()
        log.append([appending(conversation, started(), prompt("Where is my marmalade?"))])
        with closing(SqliteViews(log, tmp_path / "log.db")) as views:
            read_log, erased = log.read_log, list[UUID]()

            def read_then_forgotten(after: Cursor, limit: int) -> list[RecordedEvent]:
                events = read_log(after, limit)
                if not erased:
                    erased.append(conversation)
                    log.forget(conversation)
                return events

            monkeypatch.setattr(log, "read_log", read_then_forgotten)
            filters = parse_query("marmalade").filters()
            found = views.page(PageQuery(SEARCH, "search_page", TENANT, filters, {}, 50))
            assert (found.rows, found.position, found.behind) == ((), 2, 0)
    assert holding(tmp_path) == set()
