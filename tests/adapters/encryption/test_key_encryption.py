"""Key-encryption keys in a file and in the environment: rotated, retired, changed, missing."""

import errno
import multiprocessing
import os
import re
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from onrecord.adapters.encryption import key_file
from onrecord.adapters.encryption.environment import EnvironmentKeys
from onrecord.adapters.encryption.key_encryption import KeyEncryption, key_encryption_at, register
from onrecord.adapters.encryption.key_file import KeyFile, new_key_file
from onrecord.adapters.encryption.local_keys import new_local_key, parse_local_key
from onrecord.adapters.encryption.subject_keys import SubjectKeys
from onrecord.domain.encryption.wrapped import Wrapped
from onrecord.domain.errors import CorruptRecord, InvalidInput, StorageUnavailable
from tests.adapters.encryption import places
from tests.adapters.encryption.places import LOG, digest, keys_in, store, subject
from tests.patience import PATIENCE

PLAIN = b"a key, and the digest of its subject, 48 bytes.."
CONTEXT = {"onrecord:key": "k", "onrecord:log": "l"}


def test_a_key_is_unwrapped_under_each_generation_until_that_is_retired(tmp_path: Path) -> None:
    file = new_key_file(tmp_path / "kek")
    first = file.wrap(PLAIN, CONTEXT)
    current = file.begin_generation()
    second = KeyFile(tmp_path / "kek").wrap(PLAIN, CONTEXT)
    assert (second.generation, file.current()) == (current, current)
    assert file.unwrap(first, CONTEXT) == file.unwrap(second, CONTEXT) == PLAIN
    assert file.retire(first.generation) is None
    assert file.retire(first.generation) is None
    assert file.unwrap(second, CONTEXT) == PLAIN
    with pytest.raises(StorageUnavailable, match=f"holds {current}, .* needs {first.generation}"):
        file.unwrap(first, CONTEXT)
    with pytest.raises(InvalidInput, match="begin another one first"):
        file.retire(current)


def test_a_retired_key_is_in_no_file_and_overwritten_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "kek"
    file = new_key_file(path)
    before = tmp_path / "another name of what it was"
    secret = path.read_bytes().strip()
    file.begin_generation()
    before.hardlink_to(path)
    file.retire(parse_local_key(secret.decode()).generation)
    assert all(secret not in each.read_bytes() for each in tmp_path.iterdir())
    assert set(before.read_bytes()) == {0}


def test_a_key_file_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "kek"
    file = new_key_file(path)
    file.begin_generation()
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o640)
    with pytest.raises(InvalidInput, match="chmod 600"):
        file.wrap(PLAIN, CONTEXT)


def test_a_key_file_is_never_written_over_and_never_made_by_the_way(tmp_path: Path) -> None:
    path = tmp_path / "kek"
    for verb in (KeyFile(path).current, KeyFile(path).begin_generation):
        with pytest.raises(StorageUnavailable, match="No such file"):
            verb()
    assert not path.exists()
    text = new_key_file(path).current() and path.read_bytes()
    with pytest.raises(InvalidInput, match="there already"):
        new_key_file(path)
    assert path.read_bytes() == text
    with pytest.raises(StorageUnavailable):
        new_key_file(tmp_path / "nowhere" / "kek")


def test_a_key_file_that_was_changed_anywhere_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "kek"
    file = new_key_file(path)
    file.begin_generation()
    text = path.read_bytes()
    changed = [text[:at] + bytes([text[at] ^ 1]) + text[at + 1 :] for at in range(len(text))]
    cut = [text[:size] for size in range(len(text)) if size != len(text) // 2]
    for wrong in (*changed, *cut, text + text, b"\xff" * 9):
        path.write_bytes(wrong)
        with pytest.raises(InvalidInput) as caught:
            file.current()
        assert text.split(b".")[1][:20].decode() not in str(caught.value)


def test_a_file_that_is_overwritten_amid_a_look_is_looked_at_again(tmp_path: Path) -> None:
    """Whoever rotates overwrites what the file was: who has that open yet reads zeros."""
    path = tmp_path / "kek"
    file = new_key_file(path)
    text = path.read_bytes()
    path.write_bytes(bytes(len(text)))
    with pytest.raises(InvalidInput, match="was overwritten"):
        file.current()
    path.write_bytes(text)
    assert f"{file.current()}." in text.decode()
    assert repr(file) == str(path)


def test_a_key_file_in_a_folder_that_takes_no_writes_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "kek"
    file = new_key_file(path)
    text = path.read_bytes()

    def full(*_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("onrecord.adapters.storage.atomic_files.write_atomically", full)
    with pytest.raises(StorageUnavailable, match="No space left"):
        file.begin_generation()
    assert path.read_bytes() == text
    monkeypatch.setattr(key_file, "lock_file", full)
    with pytest.raises(StorageUnavailable, match="No space left"):
        file.begin_generation()


def test_another_key_under_the_name_of_a_generation_is_no_key() -> None:
    one, other = new_local_key(), new_local_key()
    swapped = f"{one.generation}.{other.text().partition('.')[2]}"
    with pytest.raises(InvalidInput, match="not whole"):
        parse_local_key(swapped)
    assert parse_local_key(one.text()) == one
    assert one.text().partition(".")[2] not in repr(one)


def test_each_bit_of_a_wrapped_key_is_noticed(tmp_path: Path) -> None:
    file = new_key_file(tmp_path / "kek")
    generation, data = file.wrap(PLAIN, CONTEXT)
    for bit in range(len(data) * 8):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        with pytest.raises(CorruptRecord):
            file.unwrap(Wrapped(generation, bytes(changed)), CONTEXT)
    for context in ({**CONTEXT, "onrecord:key": "j"}, {}):
        with pytest.raises(CorruptRecord):
            file.unwrap(Wrapped(generation, data), context)


def test_keys_in_the_environment_are_rotated_by_who_sets_it() -> None:
    old, new = new_local_key(), new_local_key()
    variables = {"KEK": old.text()}
    keys = EnvironmentKeys("KEK", variables)
    first = keys.wrap(PLAIN, CONTEXT)
    with pytest.raises(InvalidInput, match="put a new key first"):
        keys.begin_generation()
    variables["KEK"] = f"{new.text()} {old.text()}"
    assert (keys.current(), keys.unwrap(first, CONTEXT)) == (new.generation, PLAIN)
    with pytest.raises(InvalidInput, match=f"take {old.generation} out"):
        keys.retire(old.generation)
    variables["KEK"] = new.text()
    assert keys.retire(old.generation) is None
    with pytest.raises(StorageUnavailable, match="is not there"):
        keys.unwrap(first, CONTEXT)


@pytest.mark.parametrize("value", ["", " ", "a secret that is none"])
def test_a_variable_that_holds_no_key_is_refused_and_not_shown(value: str) -> None:
    with pytest.raises((StorageUnavailable, InvalidInput)) as caught:
        EnvironmentKeys("KEK", {"KEK": value}).current()
    assert "secret that" not in str(caught.value)


def test_a_key_that_stands_twice_is_refused() -> None:
    text = new_local_key().text()
    with pytest.raises(InvalidInput, match="twice"):
        EnvironmentKeys("KEK", {"KEK": f"{text} {text}"}).current()


def test_an_url_names_where_the_keys_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "kek"
    current = new_key_file(path).current()
    for url in (f"{path}", f"file://{path}", f"file:{path}"):
        assert key_encryption_at(url).current() == current
    monkeypatch.setenv("KEK", path.read_text("ascii"))
    assert key_encryption_at("env:KEK").current() == current
    for wrong in ("", " ", "env:", "vault:transit"):
        with pytest.raises(InvalidInput):
            key_encryption_at(wrong)


class _Another(EnvironmentKeys):
    def unwrap(self, wrapped: Wrapped, context: Mapping[str, str]) -> bytes:
        return PLAIN


def test_a_program_registers_keys_of_its_own() -> None:
    def open_one(rest: str) -> KeyEncryption:
        return _Another(rest)

    register("test-hsm", open_one)
    register("test-hsm", open_one)
    assert isinstance(key_encryption_at("test-hsm:slot"), _Another)
    for scheme in ("env", "test-hsm", "Not One", "x"):
        with pytest.raises(InvalidInput):
            register(scheme, _Another)
    with pytest.raises(InvalidInput, match=re.escape("aws-kms, env, file, test-hsm")):
        key_encryption_at("vault:transit")


def test_several_processes_rotate_one_key_file(tmp_path: Path) -> None:
    path = tmp_path / "kek"
    first = new_key_file(path).wrap(PLAIN, CONTEXT)
    with ProcessPoolExecutor(3, multiprocessing.get_context("spawn")) as pool:
        rotated = [pool.submit(rotate_often, path) for _ in range(3)]
        wrapped = [each for one in rotated for each in one.result(PATIENCE)]
    file = KeyFile(path)
    assert [file.unwrap(each, CONTEXT) for each in (first, *wrapped)] == [PLAIN] * 31
    assert len(path.read_text("ascii").splitlines()) == 31
    assert len({each.generation for each in wrapped} - {first.generation}) > 1


def rotate_often(path: Path) -> list[Wrapped]:
    """Begin generations, and wrap under whichever is the current one."""
    file = KeyFile(path)
    wrapped: list[Wrapped] = []
    for _ in range(10):
        file.begin_generation()
        wrapped.append(file.wrap(PLAIN, CONTEXT))
        assert file.unwrap(wrapped[0], CONTEXT) == PLAIN
    return wrapped


def test_the_key_encryption_key_of_another_store_makes_no_keys_and_closes_nothing(
    tmp_path: Path,
) -> None:
    keys = keys_in(tmp_path)
    ana, bo, cleo = subject("ana"), subject("bo"), subject("cleo")
    cipher = keys.cipher_for(ana)
    wrong = new_key_file(tmp_path / "other kek")
    mistaken = SubjectKeys(store(tmp_path), wrong, LOG, digest)
    for step in (partial(mistaken.cipher_for, bo), mistaken.finish, mistaken.rotate):
        with pytest.raises(StorageUnavailable, match="is not there"):
            step()
    assert [each.is_closed for each in store(tmp_path).generations()] == [False]
    keys.cipher_for(bo)
    assert keys.rotate().rewrapped == 2
    # One that mixed its keys in before is in nobody's way who makes keys.
    store(tmp_path).add(places.key(9, "gone"))
    places.key_file(tmp_path).begin_generation()
    again = keys_in(tmp_path)
    assert again.cipher_for(cleo).name != cipher.name
    assert again.cipher_for(ana).name == cipher.name
