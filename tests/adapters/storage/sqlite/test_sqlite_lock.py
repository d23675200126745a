"""The lock file of a SQLite log: who has it open, what it keeps, and what a bad disk makes of it."""

import errno
import fcntl
import gc
import os
import threading
from collections.abc import Callable
from pathlib import Path
from uuid import UUID
from weakref import ref

import pytest

from onrecord.adapters.storage.sqlite import lock as sqlite_lock
from onrecord.adapters.storage.sqlite.held_files import NO_LEAF, SIZE, Mark
from onrecord.adapters.storage.sqlite.lock import LockFile, lock_file
from onrecord.adapters.storage.sqlite.sqlite import open_sqlite
from onrecord.adapters.views.sqlite.file import ViewsFile
from onrecord.domain.errors import StorageFull, StorageUnavailable
from tests.patience import join, until

MARKS = [Mark(position, 0, bytes(16), NO_LEAF) for position in range(3)]
LOST_AT = 256


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.db-lock"


def test_who_opens_a_lock_file_amid_its_closing_does_not_get_the_closed_one(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    close, opened = os.close, list[LockFile]()

    def closing(descriptor: int) -> None:
        if not opened:
            opened.append(lock_file(path))
        close(descriptor)

    lock_file(path).mark()
    monkeypatch.setattr(os, "close", closing)
    lock_file(path).mark()
    monkeypatch.undo()
    with opened[0].turn(1.0) if opened else lock_file(path).turn(1.0):
        pass


def test_a_lock_that_is_taken_before_another_user_has_closed_the_file_stays(path: Path) -> None:
    gc.collect()  # Lock files of other tests: the new thread would wait for their turn to be closed.
    held = [lock_file(path)]
    gone = ref(held[0])
    leaving = threading.Thread(target=held.clear)
    with sqlite_lock._opening:  # pyright: ignore[reportPrivateUsage]
        leaving.start()
        until(lambda: gone() is None)
        found = lock_file(path)
        turn = found.turn(1.0)
        turn.__enter__()
    join(leaving)
    assert is_locked_for_others(path)
    turn.__exit__(None, None, None)


def is_locked_for_others(path: Path) -> bool:
    """Whether another process, a child, finds the turn taken."""
    child = os.fork()
    if not child:
        with path.open("r+b") as file:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 65)
            except OSError:
                os._exit(1)
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


def test_the_views_keep_their_lock_file_open_between_two_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    views = ViewsFile(tmp_path / "log.db-views", 1.0)
    with views.turn(UUID(int=1)):
        pass
    monkeypatch.setattr(sqlite_lock, "_opened", None)  # It would be called.
    with views.turn(UUID(int=1)):
        pass
    views.close()


def test_a_torn_mark_gives_its_place_to_the_next_and_costs_no_other(path: Path) -> None:
    lock = lock_file(path)
    lock.lose(MARKS[0])
    lock.lose(MARKS[1])
    with path.open("r+b") as file:
        file.seek(LOST_AT)
        file.write(bytes(SIZE))
    lock.lose(MARKS[2])
    assert set(lock.lost()) == {MARKS[1], MARKS[2]}


def fail(code: int) -> Callable[..., object]:
    def failing(_: object, what: object = None, *_rest: object) -> object:
        if what == fcntl.LOCK_UN:
            return None
        raise OSError(code, os.strerror(code))

    return failing


@pytest.mark.parametrize(
    ("module", "call", "code", "error"),
    [
        (os, "pwrite", errno.ENOSPC, StorageFull),
        (os, "pwrite", errno.EIO, StorageUnavailable),
        (os, "pread", errno.EIO, StorageUnavailable),
        (fcntl, "lockf", errno.ENOLCK, StorageUnavailable),
    ],
)
def test_a_disk_that_fails_the_lock_file_is_told_in_our_words(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    module: object,
    call: str,
    code: int,
    error: type[Exception],
) -> None:
    monkeypatch.setattr(module, call, fail(code))
    with pytest.raises(error, match=r"log\.db-lock"):
        open_sqlite(tmp_path / "log.db")
    monkeypatch.undo()
    open_sqlite(tmp_path / "log.db").close()
