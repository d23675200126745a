"""The keys of subjects: made once, erased for good, rotated by several processes that may die."""

import multiprocessing
import shutil
import signal
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import pytest

from onrecord.adapters.encryption import subject_keys
from onrecord.adapters.encryption.aes import BodyCipher
from onrecord.adapters.encryption.environment import EnvironmentKeys
from onrecord.adapters.encryption.key_file import KeyFile, new_key_file
from onrecord.adapters.encryption.local_keys import new_local_key
from onrecord.adapters.encryption.subject_keys import KEPT_FOR, KeyErasure, SubjectKeys
from onrecord.domain.encryption.wrapped import DestroyedKey, Rewrapping, Wrapped, WrappedKey
from onrecord.domain.errors import CorruptRecord, InvalidInput, StorageBusy, StorageUnavailable
from tests.adapters.encryption.places import (
    CANARY,
    HEADER,
    LOG,
    Clock,
    digest,
    erase,
    key_file,
    keys_in,
    store,
    subject,
)
from tests.patience import PATIENCE
from tests.postgres_server import VERSIONS
from tests.sqlite_by_hand import ByHand

ANA, BO, CLEO = subject("ana"), subject("bo"), subject("cleo")


def read(keys: SubjectKeys, name: str, stored: bytes) -> bytes | None:
    """What a body says; None where one of its keys was destroyed."""
    cipher = keys.cipher_of(name)
    return None if isinstance(cipher, DestroyedKey) else cipher.decrypted(HEADER, stored)


def encrypted(cipher: BodyCipher) -> tuple[str, bytes]:
    return cipher.name, cipher.encrypted(HEADER, CANARY)


def test_what_one_process_encrypts_another_one_decrypts(tmp_path: Path) -> None:
    keys = keys_in(tmp_path)
    for subjects in (ANA, (*ANA, *BO), (*BO, *ANA, *CLEO)):
        assert read(keys_in(tmp_path), *encrypted(keys.cipher_for(subjects))) == CANARY
    assert keys.cipher_for((*ANA, *BO)).name == keys.cipher_for((*BO, *ANA)).name


def test_a_subject_has_one_key_and_its_cipher_is_kept(tmp_path: Path) -> None:
    keys = keys_in(tmp_path)
    assert keys.cipher_for(ANA) is keys.cipher_for(ANA) is keys.cipher_of(keys.cipher_for(ANA).name)
    assert keys_in(tmp_path).cipher_for(ANA).name == keys.cipher_for(ANA).name
    assert keys.cipher_for(ANA).name != keys.cipher_for(BO).name


def test_of_two_that_make_the_key_of_a_subject_at_once_both_have_that_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quicker, slower = keys_in(tmp_path), store(tmp_path)
    name = quicker.cipher_for(ANA).name

    def not_yet(subject: bytes) -> None:
        """What is found a moment before the other one added it."""

    monkeypatch.setattr(slower, "find", not_yet)
    keys = SubjectKeys(slower, key_file(tmp_path), LOG, digest)
    assert keys.cipher_for(ANA).name == name


def test_a_key_that_is_wrapped_anew_or_destroyed_while_it_is_read_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys, slower = keys_in(tmp_path), store(tmp_path)
    kept, gone = encrypted(keys.cipher_for(ANA)), encrypted(keys.cipher_for(BO))
    of_before = {name: slower.get(name) for name, _ in (kept, gone)}
    erase(keys, *BO)
    present = slower.get

    def late(key_id: str) -> WrappedKey | DestroyedKey | None:
        """What was there when the reading began, the first time."""
        return of_before.pop(key_id) if key_id in of_before else present(key_id)

    monkeypatch.setattr(slower, "get", late)
    reading = SubjectKeys(slower, key_file(tmp_path), LOG, digest)
    assert (read(reading, *kept), read(reading, *gone)) == (CANARY, None)


def test_a_rotation_with_a_key_that_was_rotated_away_changes_nothing(tmp_path: Path) -> None:
    keys = keys_in(tmp_path)
    rest = encrypted(keys.cipher_for(ANA))
    old = key_file(tmp_path).current()
    store(tmp_path).close_generation(old)
    (tmp_path / "stale").mkdir()
    stale = new_key_file(tmp_path / "stale" / "kek")
    store(tmp_path).close_generation(stale.current())
    both = (
        f"{(tmp_path / 'stale' / 'kek').read_text('ascii')} {(tmp_path / 'kek').read_text('ascii')}"
    )
    environment = EnvironmentKeys("KEK", {"KEK": both})
    with pytest.raises(StorageBusy, match="start it again"):
        SubjectKeys(store(tmp_path), environment, LOG, digest).finish()
    keys.rotate()
    assert read(keys_in(tmp_path), *rest) == CANARY


def test_erasing_any_subject_of_an_event_erases_it_and_nothing_else(tmp_path: Path) -> None:
    keys = keys_in(tmp_path)
    both, alone = encrypted(keys.cipher_for((*ANA, *BO))), encrypted(keys.cipher_for(BO))
    erasure = erase(keys, *ANA)
    assert (erasure.rewrapped, erasure.undoable_until) == (1, None)
    for process in (keys, keys_in(tmp_path)):
        assert read(process, *both) is None
        assert read(process, *alone) == CANARY
    assert erase(keys, *ANA) == KeyErasure(0, (), None)


def test_whoever_comes_back_has_another_key(tmp_path: Path) -> None:
    keys = keys_in(tmp_path)
    before = encrypted(keys.cipher_for(ANA))
    erase(keys, *ANA)
    after = encrypted(keys.cipher_for(ANA))
    assert (read(keys, *before), read(keys, *after)) == (None, CANARY)
    assert before[0] != after[0]


def test_an_old_backup_of_the_keys_gives_nothing_back(tmp_path: Path) -> None:
    keys = keys_in(tmp_path)
    gone, rest = encrypted(keys.cipher_for(ANA)), encrypted(keys.cipher_for(BO))
    backup = tmp_path / "backup"
    backup.mkdir()
    for file in (*tmp_path.glob("keys.db*"), tmp_path / "kek"):
        shutil.copy(file, backup)
    assert read(keys_in(backup), *gone) == CANARY
    erase(keys, *ANA)
    shutil.copy(tmp_path / "kek", backup)
    for name, stored in (gone, rest):
        with pytest.raises(StorageUnavailable, match="is not there"):
            read(keys_in(backup), name, stored)
    assert read(keys_in(tmp_path), *rest) == CANARY


def test_a_rotation_touches_no_event_and_leaves_one_generation(tmp_path: Path) -> None:
    keys = keys_in(tmp_path)
    bodies = [encrypted(keys.cipher_for(subject(f"{number}"))) for number in range(700)]
    first = key_file(tmp_path).current()
    rotated = keys.rotate()
    assert (rotated.rewrapped, rotated.retired) == (700, (first,))
    assert len((tmp_path / "kek").read_text("ascii").splitlines()) == 1
    again = keys_in(tmp_path)
    assert all(read(again, *each) == CANARY for each in bodies)
    assert (keys.finish().rewrapped, keys.finish().retired) == (0, ())


def test_a_process_learns_in_time_that_another_one_destroyed_a_key(tmp_path: Path) -> None:
    clock = Clock()
    keys = keys_in(tmp_path, clock)
    ana, bo = encrypted(keys.cipher_for(ANA)), encrypted(keys.cipher_for(BO))
    erase(keys_in(tmp_path), *ANA)
    clock.now = KEPT_FOR - 1
    assert read(keys, *ana) == CANARY
    clock.now = KEPT_FOR
    assert (read(keys, *ana), read(keys, *bo)) == (None, CANARY)
    assert keys.cipher_for(ANA).name != ana[0]


@pytest.mark.parametrize("verb", ["reading", "writing"])
def test_a_key_that_is_destroyed_while_it_is_unwrapped_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    file = key_file(tmp_path)
    keys, unwrap = SubjectKeys(store(tmp_path), file, LOG, digest), file.unwrap
    name = keys_in(tmp_path).cipher_for(ANA).name

    def late(wrapped: Wrapped, context: Mapping[str, str]) -> bytes:
        """What was unwrapped a moment before another thread destroyed the key."""
        secret = unwrap(wrapped, context)
        keys.destroy([name])
        return secret

    monkeypatch.setattr(file, "unwrap", late)
    cipher = keys.cipher_of(name) if verb == "reading" else keys.cipher_for(ANA)
    assert isinstance(cipher, BodyCipher)
    assert keys.kept(name) is None
    assert isinstance(keys.cipher_of(name), DestroyedKey)
    assert keys.cipher_for(ANA).name != name


def test_only_what_is_under_a_destroyed_key_leaves_the_memory(tmp_path: Path) -> None:
    keys = keys_in(tmp_path)
    ana, bo, both = (keys.cipher_for(each) for each in (ANA, BO, (*ANA, *BO)))
    keys.destroy([ana.name])
    assert [keys.kept(each.name) for each in (ana, bo, both)] == [None, bo, None]
    assert keys.cipher_for(BO) is bo
    assert keys.cipher_for((*ANA, *BO)).name != both.name


def test_a_process_keeps_so_many_ciphers_and_makes_the_others_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subject_keys, "_MOST_KEPT", 2)
    keys = keys_in(tmp_path)
    ciphers = [keys.cipher_for(each) for each in (ANA, BO, CLEO)]
    assert keys.cipher_for(CLEO) is ciphers[2]
    assert keys.cipher_for(ANA) is not ciphers[0]
    assert keys.cipher_for(ANA).name == ciphers[0].name


def test_a_key_that_the_store_never_had_is_missing_and_not_erased(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    name = keys_in(tmp_path / "other").cipher_for(ANA).name
    with pytest.raises(CorruptRecord, match=f"no key {name}"):
        keys_in(tmp_path).cipher_of(name)
    with pytest.raises(CorruptRecord, match="names no keys"):
        keys_in(tmp_path).cipher_of("ana")


def test_under_another_key_encryption_key_nothing_is_read(tmp_path: Path) -> None:
    name = keys_in(tmp_path).cipher_for(ANA).name
    other = new_key_file(tmp_path / "other kek")
    with pytest.raises(StorageUnavailable, match="is not there"):
        SubjectKeys(store(tmp_path), other, LOG, digest).cipher_of(name)


@pytest.mark.parametrize("of_ana", [{"key_id"}, {"subject"}, {"wrapped"}, {"key_id", "subject"}])
def test_a_key_in_the_place_of_another_one_is_noticed(tmp_path: Path, of_ana: set[str]) -> None:
    """Who may write to the key store swaps ids, subjects or what is wrapped of two keys."""
    keys = keys_in(tmp_path)
    names = [keys.cipher_for(each).name for each in (ANA, BO)]
    ana, bo = (store(tmp_path).get(name) for name in names)
    assert isinstance(ana, WrappedKey)
    assert isinstance(bo, WrappedKey)
    swapped = bo._replace(**{member: getattr(ana, member) for member in of_ana})
    (tmp_path / "forged").mkdir()
    shutil.copy(tmp_path / "kek", tmp_path / "forged")
    store(tmp_path / "forged").add(swapped)
    with pytest.raises(CorruptRecord, match=f"the key {swapped.key_id}"):
        keys_in(tmp_path / "forged").cipher_of(swapped.key_id)


def test_a_wrapped_key_that_was_changed_stops_a_rotation_and_is_named(tmp_path: Path) -> None:
    keys = keys_in(tmp_path)
    name, rest = keys.cipher_for(ANA).name, encrypted(keys.cipher_for(BO))
    record = store(tmp_path).get(name)
    assert isinstance(record, WrappedKey)
    generation, data = record.wrapped
    damaged = Wrapped(generation, data[:-1] + bytes([data[-1] ^ 1]))
    store(tmp_path).replace([Rewrapping(name, record.wrapped, damaged)])
    with pytest.raises(CorruptRecord, match=f"the key {name}"):
        keys.rotate()
    assert read(keys_in(tmp_path), *rest) == CANARY
    with closing(ByHand.open(tmp_path / "keys.db")) as by_hand:
        by_hand.run("UPDATE subject_key SET wrapped = ? WHERE key_id = ?", data, name)
    keys.finish()
    assert len((tmp_path / "kek").read_text("ascii").splitlines()) == 1


def test_with_keys_in_the_environment_an_erasure_waits_for_who_sets_it(tmp_path: Path) -> None:
    old, new = new_local_key(), new_local_key()
    variables = {"KEK": old.text()}
    keys = SubjectKeys(store(tmp_path), EnvironmentKeys("KEK", variables), LOG, digest)
    gone, rest = encrypted(keys.cipher_for(ANA)), encrypted(keys.cipher_for(BO))
    with pytest.raises(InvalidInput, match="put a new key first"):
        erase(keys, *ANA)
    assert (read(keys, *gone), read(keys, *rest)) == (None, CANARY)
    stale = dict(variables)
    variables["KEK"] = f"{new.text()} {old.text()}"
    with pytest.raises(InvalidInput, match=f"take {old.generation} out"):
        keys.finish()
    with pytest.raises(StorageBusy, match="start it again"):
        SubjectKeys(store(tmp_path), EnvironmentKeys("KEK", stale), LOG, digest).cipher_for(CLEO)
    variables["KEK"] = new.text()
    assert keys.finish().retired == (old.generation,)
    assert (read(keys, *gone), read(keys, *rest)) == (None, CANARY)


def test_what_was_retired_before_is_told_without_the_key_encryption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys, file, until = keys_in(tmp_path), key_file(tmp_path), 1_797_000_000_000_000
    retire = KeyFile.retire

    def undoable(self: KeyFile, generation: str) -> int:
        retire(self, generation)
        return until

    def away(*_: object) -> int:
        raise StorageUnavailable("the KMS cannot be reached")

    keys.cipher_for(ANA)
    generation = file.current()
    with monkeypatch.context() as patch:
        patch.setattr(KeyFile, "retire", undoable)
        assert erase(keys, *ANA).undoable_until == until
    monkeypatch.setattr(KeyFile, "retire", away)
    before = keys_in(tmp_path).retired_before()
    assert (before.retired, before.undoable_until) == ((generation,), until)


@pytest.mark.parametrize("folder", ["sqlite", VERSIONS[-1]], indirect=True)
def test_several_processes_make_erase_and_rotate_at_once(folder: Path) -> None:
    keys_in(folder)
    with ProcessPoolExecutor(3, multiprocessing.get_context("spawn")) as pool:
        running = [pool.submit(make_erase_and_rotate, folder, number) for number in range(3)]
        bodies = [each for one in running for each in one.result(PATIENCE)]
    keys = keys_in(folder)
    keys.finish()
    assert [read(keys, *each) for each in bodies] == [CANARY, None] * 18
    assert len({name for name, _ in bodies[::6]}) == 6
    live = {each.name for each in store(folder).generations() if not each.is_retired}
    assert live == {key_file(folder).current()}


def make_erase_and_rotate(folder: Path, number: int) -> list[tuple[str, bytes]]:
    """Return bodies: each second one is of a subject that was erased."""
    keys = keys_in(folder)
    bodies: list[tuple[str, bytes]] = []
    for turn in range(6):
        own = subject(f"{number} {turn}")
        bodies.append(encrypted(keys.cipher_for((*subject(f"shared {turn}"), *own))))
        bodies.append(encrypted(keys.cipher_for((*own, *subject(f"erased {number} {turn}")))))
        erase(keys, *subject(f"erased {number} {turn}"))
        keys.rotate()
    return bodies


STEPS = (
    "begin_generation",
    "close_generation",
    "under",
    "replace",
    "scrub",
    "retire",
    "note_retired",
)


@pytest.mark.parametrize(
    ("folder", "step", "when"),
    [
        *(("sqlite", step, when) for step in STEPS for when in ("before", "after")),
        *((VERSIONS[-1], *each) for each in (("replace", "after"), ("note_retired", "before"))),
    ],
    indirect=["folder"],
)
def test_a_process_that_is_killed_amid_an_erasure_leaves_the_other_keys_readable(
    folder: Path, step: str, when: str
) -> None:
    keys = keys_in(folder)
    gone = encrypted(keys.cipher_for((*ANA, *BO)))
    rest = [encrypted(keys.cipher_for(each)) for each in (BO, CLEO, (*BO, *CLEO))]
    killed = multiprocessing.get_context("spawn").Process(
        target=erase_and_die, args=(folder, step, when)
    )
    killed.start()
    killed.join(PATIENCE)
    assert killed.exitcode == -signal.SIGKILL
    found = keys_in(folder)
    assert [read(found, *each) for each in (gone, *rest)] == [None, CANARY, CANARY, CANARY]
    assert read(found, *encrypted(found.cipher_for(subject("new")))) == CANARY
    found.finish()
    assert [read(keys_in(folder), *each) for each in rest] == [CANARY] * 3
    (generation,) = (each for each in store(folder).generations() if not each.is_retired)
    assert (generation.name, generation.destroyed) == (key_file(folder).current(), 0)
    assert len((folder / "kek").read_text("ascii").splitlines()) == 1


def erase_and_die(folder: Path, step: str, when: str) -> None:
    """Be killed, by the system, at a step of an erasure."""
    key_store, file = store(folder), KeyFile(folder / "kek")
    held = file if hasattr(file, step) else key_store
    verb = getattr(held, step)

    def dying(*values: object) -> object:
        if when == "after":
            verb(*values)
        signal.raise_signal(signal.SIGKILL)
        return None

    setattr(held, step, dying)
    with suppress(Exception):
        erase(SubjectKeys(key_store, file, LOG, digest), *ANA)
