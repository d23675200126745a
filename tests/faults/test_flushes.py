"""An append is acknowledged after its flush, and not at all when the flush fails."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import apsw
import pytest

from onrecord.adapters.storage.sqlite import connection
from onrecord.adapters.storage.sqlite.driver import FileConnection
from onrecord.adapters.storage.sqlite.sqlite import Sqlite, open_sqlite
from onrecord.domain.errors import StorageError
from tests.factories import TENANT, appending, raw_event
from tests.ledger import verified_log

WRITE, FLUSH = "write", "flush"


@dataclass
class Disk:
    """What SQLite did to the write-ahead log, in order; `broken` lets its flushes fail."""

    done: list[str] = field(default_factory=list[str])
    broken: bool = False

    def flushes(self) -> int:
        return self.done.count(FLUSH)


class WatchedFile(apsw.VFSFile):
    """A file whose writes and flushes are noted."""

    def __init__(self, disk: Disk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        super().__init__("unix", name, flags)
        self._disk = disk
        self._is_wal = bool(flags[0] & apsw.SQLITE_OPEN_WAL)

    def xWrite(self, data: Any, offset: int) -> None:
        # The hints of the base name collections.abc.Buffer, which Python 3.11 does not have.
        cast("Any", super()).xWrite(data, offset)
        if self._is_wal:
            self._disk.done.append(WRITE)

    def xSync(self, flags: int) -> None:
        if self._is_wal:
            if self._disk.broken:
                raise apsw.IOError("the disk does not answer")
            self._disk.done.append(FLUSH)
        super().xSync(flags)


class WatchedDisk(apsw.VFS):
    """SQLite's way to the disk, with a watch on it."""

    def __init__(self, name: str, disk: Disk) -> None:
        super().__init__(name, "unix")
        self._disk = disk

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        return WatchedFile(self._disk, name, flags)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    watched = Disk()
    system = WatchedDisk(f"watched-{id(watched)}", watched)
    opening = partial(FileConnection, vfs=f"watched-{id(watched)}")
    monkeypatch.setattr(connection, "FileConnection", opening)
    yield watched
    system.unregister()


@pytest.fixture
def store(disk: Disk, tmp_path: Path) -> Iterator[Sqlite]:
    opened = open_sqlite(tmp_path / "log.db")
    yield opened
    opened.close()


def test_each_acknowledgement_had_its_flush(store: Sqlite, disk: Disk) -> None:
    conversation = uuid4()
    for _ in range(300):
        before = disk.flushes()
        store.append([appending(conversation, raw_event(), raw_event(body=b"x" * 5000))])
        assert disk.flushes() > before
        assert disk.done[-1] == FLUSH


def test_a_flush_is_one_in_the_long_run(store: Sqlite, disk: Disk) -> None:
    conversation = uuid4()
    store.append([appending(conversation, raw_event())])
    before = disk.flushes()
    for _ in range(50):
        store.append([appending(conversation, raw_event(), raw_event())])
    assert disk.flushes() - before == 50


def test_each_acknowledgement_of_many_threads_had_its_flush(store: Sqlite, disk: Disk) -> None:
    before = disk.flushes()

    def write(_: int) -> None:
        conversation = uuid4()
        for _ in range(25):
            store.append([appending(conversation, raw_event())])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    assert disk.flushes() - before >= 100


def test_blobs_are_flushed_too_and_a_new_key_with_them(store: Sqlite, disk: Disk) -> None:
    before = disk.flushes()
    conversation = store.open(TENANT, "support/4711")
    assert disk.flushes() == before  # Nothing hangs on a key behind which nothing was said.
    store.put_blob(TENANT, conversation, [b"report"])
    assert disk.flushes() == before + 1


def test_an_append_whose_flush_fails_is_not_acknowledged(store: Sqlite, disk: Disk) -> None:
    conversation = uuid4()
    store.append([appending(conversation, raw_event())])
    request = appending(conversation, raw_event(), raw_event())
    disk.broken = True
    with pytest.raises(StorageError, match="check the disk"):
        store.append([request])
    disk.broken = False
    assert len(verified_log(store)) == 1
    store.append([request])
    assert len(verified_log(store)) == 3
