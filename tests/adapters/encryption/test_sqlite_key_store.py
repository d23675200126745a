"""A key store in a SQLite file: what a file is refused for, and what is left of a key in it."""

from contextlib import closing
from pathlib import Path

import pytest

import onrecord
from onrecord.adapters.encryption.sqlite.key_store import open_key_store
from onrecord.domain.encryption.wrapped import (
    Rewrapping,
    Wrapped,
)
from onrecord.domain.errors import (
    ForeignDatabase,
    InvalidInput,
    SchemaNewer,
    StorageBusy,
    StorageUnavailable,
)
from tests.adapters.encryption.places import LOG, key, store
from tests.sqlite_by_hand import ByHand


def test_no_bytes_of_a_key_that_was_destroyed_or_replaced_are_left_in_any_file(
    tmp_path: Path,
) -> None:
    keys = store(tmp_path)
    for number in range(400):
        keys.add(key(number))
    canaries = [key(number) for number in range(0, 400, 7)]
    assert all(is_in_a_file(tmp_path, each.wrapped.data) for each in canaries)
    for each in canaries[:-1]:
        keys.destroy(each.key_id, 1)
    last = canaries[-1]
    keys.replace([Rewrapping(last.key_id, last.wrapped, Wrapped("g1", b"anew"))])
    keys.scrub()
    for each in canaries:
        assert not is_in_a_file(tmp_path, each.wrapped.data)
    assert not any(is_in_a_file(tmp_path, each.subject) for each in canaries[:-1])
    assert is_in_a_file(tmp_path, last.subject)
    assert is_in_a_file(tmp_path, key(1).wrapped.data)


def is_in_a_file(folder: Path, data: bytes) -> bool:
    return any(data in path.read_bytes() for path in folder.iterdir())


def test_a_reader_that_keeps_what_was_destroyed_is_told_of(tmp_path: Path) -> None:
    keys = open_key_store(tmp_path / "keys.db", LOG, wait=0.05)
    keys.add(key(1))
    with closing(ByHand.open(tmp_path / "keys.db")) as reader:
        reader.run("BEGIN")
        reader.run("SELECT * FROM subject_key")
        keys.destroy("id-1", 1)
        with pytest.raises(StorageBusy):
            keys.scrub()
        assert is_in_a_file(tmp_path, key(1).wrapped.data)
        reader.run("COMMIT")
    keys.scrub()
    assert not is_in_a_file(tmp_path, key(1).wrapped.data)


def test_the_file_is_its_owners_alone(tmp_path: Path) -> None:
    store(tmp_path).close()
    path = tmp_path / "keys.db"
    assert {each.stat().st_mode & 0o777 for each in tmp_path.iterdir()} == {0o600}
    path.chmod(0o604)
    with pytest.raises(InvalidInput, match="chmod 600"):
        store(tmp_path)


def test_keys_are_never_kept_in_a_log_nor_in_its_views(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    with onrecord.connect(f"sqlite:///{path}") as log:
        log.conversation("a").user("Hello")
        assert len(list(log.views.search("hello"))) == 1
    before = path.read_bytes()
    for name in ("log.db", "log.db-views"):
        with pytest.raises(InvalidInput, match="keep the keys in another file"):
            open_key_store(tmp_path / name, LOG)
    assert path.read_bytes() == before


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    with closing(ByHand.open(tmp_path / "foreign.db")) as foreign:
        foreign.run("CREATE TABLE a (b)")
    (tmp_path / "text").write_text("a text")
    for name in ("foreign.db", "text", "."):
        with pytest.raises(ForeignDatabase):
            open_key_store(tmp_path / name, LOG)
    with pytest.raises(StorageUnavailable, match="make it first"):
        open_key_store(tmp_path / "nowhere" / "keys.db", LOG)
    (tmp_path / "new.db-lock").mkdir()
    with pytest.raises(StorageUnavailable, match="cannot be made"):
        open_key_store(tmp_path / "new.db", LOG)


def test_a_newer_file_is_left_alone(tmp_path: Path) -> None:
    store(tmp_path).close()
    with closing(ByHand.open(tmp_path / "keys.db")) as newer:
        newer.run("PRAGMA user_version = 2")
    with pytest.raises(SchemaNewer, match="upgrade"):
        store(tmp_path)
