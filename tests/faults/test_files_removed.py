"""Files of an SQLite store that are taken away while it is open: nothing acknowledged is lost."""

import multiprocessing
import shutil
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from onrecord.adapters.storage.sqlite.lock import LockFile, Turn
from onrecord.adapters.storage.sqlite.sqlite import Sqlite, open_sqlite
from onrecord.domain.errors import StorageUnavailable
from onrecord.domain.log import Recorded
from tests.factories import answer, appending, started
from tests.ledger import verified_log
from tests.patience import PATIENCE, until

BESIDE = [("-wal", "-shm"), ("-wal",), ("-shm",), ("-lock",)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


@pytest.fixture
def store(path: Path) -> Iterator[Sqlite]:
    opened = open_sqlite(path)
    yield opened
    opened.close()


def begun(store: Sqlite) -> UUID:
    conversation = uuid4()
    store.append([appending(conversation, started())])
    return conversation


def remove(path: Path, suffixes: tuple[str, ...]) -> None:
    for suffix in suffixes:
        path.with_name(path.name + suffix).unlink()


def appended_elsewhere(path: Path, conversation: UUID) -> str:
    """What another process is told that opens the store and appends."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        return pool.submit(opened_and_appended, path, conversation).result(timeout=PATIENCE)


def opened_and_appended(path: Path, conversation: UUID) -> str:
    try:
        store = open_sqlite(path, wait=0.2)
    except StorageUnavailable as error:
        return str(error)
    (verdict,) = store.append([appending(conversation, answer())])
    store.close()
    return repr(verdict)


@pytest.mark.parametrize("suffixes", BESIDE)
def test_a_store_whose_files_were_removed_takes_and_shows_nothing(
    store: Sqlite, path: Path, suffixes: tuple[str, ...]
) -> None:
    conversation = begun(store)
    remove(path, suffixes)
    with pytest.raises(StorageUnavailable, match=f"{suffixes[0]} was removed while .*: end all"):
        store.append([appending(conversation, answer())])
    with pytest.raises(StorageUnavailable, match="was removed"):
        store.head(conversation)


@pytest.mark.parametrize("suffixes", BESIDE)
def test_who_only_reads_notices_it_after_a_moment(
    store: Sqlite, path: Path, suffixes: tuple[str, ...]
) -> None:
    conversation = begun(store)
    remove(path, suffixes)

    def is_refused() -> bool:
        try:
            return store.head(conversation).version < 1
        except StorageUnavailable:
            return True

    until(is_refused, "a reader that looks at the files")
    with pytest.raises(StorageUnavailable, match="was removed"):
        store.head(conversation)


def test_files_removed_in_the_tick_of_a_look_are_noticed_later(store: Sqlite, path: Path) -> None:
    conversation = begun(store)
    for _ in range(49):
        conversation = begun(store)
    remove(path, ("-wal", "-shm"))
    with pytest.raises(StorageUnavailable, match="was removed"):
        store.append([appending(conversation, answer())])


@pytest.mark.parametrize("suffixes", [("-wal", "-shm"), ("-shm",)])
def test_another_process_does_not_begin_anew_beside_it(
    store: Sqlite, path: Path, suffixes: tuple[str, ...]
) -> None:
    conversation = begun(store)
    remove(path, suffixes)
    said = appended_elsewhere(path, conversation)
    assert "other programs have" in said
    assert "was removed under them" in said


@pytest.mark.parametrize("suffixes", BESIDE)
def test_what_was_acknowledged_is_there_once_the_programs_have_ended(
    path: Path, suffixes: tuple[str, ...]
) -> None:
    store = open_sqlite(path)
    conversation = begun(store)
    remove(path, suffixes)
    with pytest.raises(StorageUnavailable):
        store.append([appending(conversation, answer())])
    store.close()
    assert appended_elsewhere(path, conversation) == repr(Recorded(2, 2, 2))
    again = open_sqlite(path)
    assert [event.version for event in again.read(conversation)] == [1, 2]
    verified_log(again)
    again.close()


def test_files_removed_amid_a_transaction_leave_it_unacknowledged(
    store: Sqlite, path: Path
) -> None:
    conversation = begun(store)
    with pytest.raises(StorageUnavailable, match="was removed"), store.file.writing() as session:
        session.run("insert_erasure", conversation.bytes)
        remove(path, ("-wal", "-shm"))
    assert "other programs have" in appended_elsewhere(path, conversation)


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", "-lock"])
def test_files_replaced_by_their_own_copies_are_noticed(
    store: Sqlite, path: Path, tmp_path: Path, suffix: str
) -> None:
    conversation = begun(store)
    place = path.with_name(path.name + suffix)
    shutil.copy(place, tmp_path / "copy")
    (tmp_path / "copy").replace(place)
    with pytest.raises(StorageUnavailable, match="replaced"):
        store.append([appending(conversation, answer())])


def test_a_write_ahead_log_that_took_the_place_of_ours_is_left_alone(path: Path) -> None:
    store = open_sqlite(path)
    begun(store)
    beside = path.with_name("log.db-wal")
    beside.unlink()
    beside.write_bytes(b"of another program")
    store.close()
    assert beside.read_bytes() == b"of another program"


def test_who_began_with_a_new_lock_file_goes_on_and_the_others_do_not(
    store: Sqlite, path: Path
) -> None:
    conversation = begun(store)
    remove(path, ("-lock",))
    assert appended_elsewhere(path, conversation) == repr(Recorded(2, 2, 2))
    with pytest.raises(StorageUnavailable, match="-lock was replaced"):
        store.append([appending(conversation, answer())])
    store.close()
    again = open_sqlite(path)
    assert again.head(conversation).version == 2
    assert again.file.marks()[1] == []
    again.close()


def test_a_lock_file_removed_before_an_opener_had_the_turn_is_not_the_one_it_uses(
    store: Sqlite, path: Path
) -> None:
    turn = LockFile.turn

    def late(file: LockFile, wait: float) -> Turn:
        remove(path, ("-lock",))
        return turn(file, wait)

    with pytest.MonkeyPatch.context() as patched, pytest.raises(StorageUnavailable, match="-lock"):
        patched.setattr(LockFile, "turn", late)
        open_sqlite(path)
    open_sqlite(path).close()


def test_a_store_opened_by_nobody_is_opened_without_its_index(path: Path) -> None:
    store = open_sqlite(path)
    conversation = begun(store)
    store.close()
    assert not path.with_name("log.db-shm").exists()
    assert appended_elsewhere(path, conversation) == repr(Recorded(2, 2, 2))
