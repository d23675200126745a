"""A key store in a SQLite file: whose it is, what it keeps, and what is left of a key in it."""

from contextlib import closing
from pathlib import Path
from uuid import UUID

import pytest

import onrecord
from onrecord.adapters.encryption.key_store import GenerationClosed
from onrecord.adapters.encryption.sqlite_key_store import open_key_store
from onrecord.domain.encryption.wrapped import (
    DestroyedKey,
    Generation,
    Rewrapping,
    Wrapped,
    WrappedKey,
)
from onrecord.domain.errors import (
    CorruptRecord,
    ForeignDatabase,
    InvalidInput,
    SchemaNewer,
    StorageBusy,
    StorageUnavailable,
)
from tests.adapters.encryption.places import LOG, store
from tests.sqlite_by_hand import ByHand


def key(number: int, generation: str = "g0") -> WrappedKey:
    """A key whose bytes are found in a file by what they repeat."""
    subject = f"subject-{number:08}".encode()
    return WrappedKey(
        f"id-{number}", subject, Wrapped(generation, b"wrapped-%08d-" % number * 4), number
    )


def test_a_key_is_found_by_its_id_and_by_its_subject(tmp_path: Path) -> None:
    keys = store(tmp_path)
    assert keys.add(key(1)) == key(1)
    with closing(store(tmp_path)) as again:
        assert again.find(key(1).subject) == again.get("id-1") == key(1)
        assert (again.find(b"nobody"), again.get("id-2")) == (None, None)


def test_a_subject_has_the_key_of_whoever_was_first(tmp_path: Path) -> None:
    keys = store(tmp_path)
    keys.add(key(1))
    quicker = key(2)._replace(subject=key(1).subject)
    assert keys.add(quicker) == key(1)
    assert keys.get("id-2") is None


def test_of_a_key_that_was_destroyed_its_id_is_left_and_when_it_went(tmp_path: Path) -> None:
    keys = store(tmp_path)
    keys.add(key(1))
    assert keys.destroy("id-1", 5) == keys.destroy("id-1", 6) == DestroyedKey("id-1", 5)
    assert keys.get("id-1") == DestroyedKey("id-1", 5)
    assert keys.find(key(1).subject) is None
    assert keys.destroy("id-2", 5) is None
    anew = key(3)._replace(subject=key(1).subject)
    assert keys.add(anew) == anew


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


def test_a_generation_that_is_closed_takes_no_keys(tmp_path: Path) -> None:
    keys = store(tmp_path)
    keys.add(key(1))
    keys.close_generation("g0")
    with pytest.raises(GenerationClosed):
        keys.add(key(2))
    assert keys.get("id-2") is None
    keys.add(key(3, "g1"))
    back = [
        Rewrapping("id-1", key(1).wrapped, Wrapped("g1", b"anew")),
        Rewrapping("id-3", key(3, "g1").wrapped, Wrapped("g0", b"back")),
    ]
    with pytest.raises(GenerationClosed):
        keys.replace(back)
    assert (keys.get("id-1"), keys.get("id-3")) == (key(1), key(3, "g1"))


def test_generations_tell_what_is_left_to_do(tmp_path: Path) -> None:
    keys = store(tmp_path)
    for number in range(3):
        keys.add(key(number))
    keys.destroy("id-0", 1)
    keys.note_retired("g0", 1, 9)
    assert keys.generations() == [Generation("g0", 2, 1, False, False, None)]
    keys.close_generation("g0")
    assert [each.key_id for each in keys.under(["g0", "g1"], 9)] == ["id-1", "id-2"]
    assert len(keys.under(["g0"], 1)) == 1
    anew = [
        Rewrapping(each.key_id, each.wrapped, Wrapped("g1", b"anew"))
        for each in (key(0), key(1), key(2))
    ]
    assert (keys.replace(anew), keys.replace(anew)) == (2, 0)
    keys.note_retired("g0", 1, 9)
    keys.note_retired("g0", 2, None)  # The first note counts.
    assert keys.generations() == [
        Generation("g0", 0, 1, True, True, 9),
        Generation("g1", 2, 0, False, False, None),
    ]


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


def test_the_keys_of_another_log_and_foreign_files_are_refused(tmp_path: Path) -> None:
    store(tmp_path).close()
    with pytest.raises(CorruptRecord, match="the keys of another log"):
        open_key_store(tmp_path / "keys.db", UUID(int=9))
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
