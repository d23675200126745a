"""A shard is sealed in steps, and each checkpoint goes on from the one before."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import onrecord
from onrecord.adapters.seals.checkpoints import ShardSeals
from onrecord.adapters.seals.places import Folder, Place, place_at
from onrecord.adapters.seals.sealing import Sealer
from onrecord.adapters.seals.signing import new_key
from onrecord.adapters.store import backend_of
from onrecord.domain.errors import CorruptRecord
from onrecord.domain.seals.checkpoint import key_name_of, log_id_of
from onrecord.domain.seals.merkle import (
    consistency_proof,
    inclusion_proof,
    is_consistent,
    root_by_inclusion,
)
from onrecord.domain.seals.notes import PrivateKey


@pytest.fixture
def store() -> Iterator[onrecord.Store]:
    with onrecord.connect("memory://") as store:
        yield store


@pytest.fixture
def key(store: onrecord.Store) -> PrivateKey:
    return new_key(key_name_of(log_id_of(backend_of(store).digest)))


def say(store: onrecord.Store, count: int) -> None:
    chat = store.conversation("support/4711")
    for number in range(count):
        chat.user(f"prompt {number}")


def seals_at(store: onrecord.Store, key: PrivateKey, place: Place) -> ShardSeals:
    return ShardSeals(place, log_id_of(backend_of(store).digest), 0, [key.public])


def test_each_checkpoint_goes_on_from_the_one_before(
    store: onrecord.Store, key: PrivateKey, tmp_path: Path
) -> None:
    place = Folder(tmp_path)
    for _ in range(3):
        say(store, 130)
        Sealer(backend_of(store), key, [place]).seal()
    seals = seals_at(store, key, place)
    checkpoints = [each.checkpoint for each in seals.each()]
    assert [each.size for each in checkpoints] == sorted({each.size for each in checkpoints})
    assert len(checkpoints) == 3
    last = seals.last()
    assert last is not None
    assert last.checkpoint == checkpoints[-1]
    assert last.checkpoint.root in store.verify(roots=[last.checkpoint.root]).roots
    subtrees = seals.subtrees(last.checkpoint.size)
    for old in checkpoints:
        proof = consistency_proof(old.size, last.checkpoint.size, subtrees)
        assert is_consistent(old.size, old.hash, last.checkpoint.size, last.checkpoint.hash, proof)
    (event,) = backend_of(store).inventory().log(0, 200, 1)
    proof = inclusion_proof(200, last.checkpoint.size, subtrees)
    root = root_by_inclusion(event.event.leaf, 200, last.checkpoint.size, proof)
    assert root == last.checkpoint.hash


def test_a_seal_of_nothing_new_changes_nothing(
    store: onrecord.Store, key: PrivateKey, tmp_path: Path
) -> None:
    say(store, 3)
    sealer = Sealer(backend_of(store), key, [Folder(tmp_path)])
    first = sealer.seal()
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert sealer.seal() == first
    after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert before == after


def test_one_checkpoint_serves_all_places_however_far_each_has_come(
    store: onrecord.Store, key: PrivateKey, tmp_path: Path
) -> None:
    here, there = Folder(tmp_path / "here"), place_at("memory://there")
    say(store, 3)
    Sealer(backend_of(store), key, [here]).seal()
    say(store, 3)
    (sealed,) = Sealer(backend_of(store), key, [here, there]).seal()
    assert seals_at(store, key, here).last() == seals_at(store, key, there).last() == sealed


def test_an_empty_log_is_sealed_too(store: onrecord.Store, key: PrivateKey, tmp_path: Path) -> None:
    (sealed,) = Sealer(backend_of(store), key, [Folder(tmp_path)]).seal()
    assert sealed.checkpoint.size == 0


def test_a_log_that_was_cut_is_not_sealed(
    store: onrecord.Store, key: PrivateKey, tmp_path: Path
) -> None:
    say(store, 3)
    Sealer(backend_of(store), key, [Folder(tmp_path)]).seal()
    with onrecord.connect("memory://") as other:
        cut = backend_of(other)
        digest = backend_of(store).digest
        cut.digest = digest  # type: ignore[method-assign]
        with pytest.raises(CorruptRecord, match="was cut or set back: it has 0 events"):
            Sealer(cut, key, [Folder(tmp_path)]).seal()


def test_a_checkpoint_of_another_key_is_refused(
    store: onrecord.Store, key: PrivateKey, tmp_path: Path
) -> None:
    say(store, 3)
    Sealer(backend_of(store), key, [Folder(tmp_path)]).seal()
    say(store, 1)
    other = new_key(key.public.name)
    with pytest.raises(CorruptRecord, match="which is no key that was given"):
        Sealer(backend_of(store), other, [Folder(tmp_path)]).seal()
    (sealed,) = Sealer(backend_of(store), other, [Folder(tmp_path)], earlier=[key.public]).seal()
    assert sealed.checkpoint.size > 3


@pytest.mark.parametrize("name", ["tile", "checkpoint"])
def test_a_place_that_was_changed_is_noticed(
    store: onrecord.Store, key: PrivateKey, tmp_path: Path, name: str
) -> None:
    say(store, 3)
    Sealer(backend_of(store), key, [Folder(tmp_path)]).seal()
    (path,) = (
        each
        for each in tmp_path.rglob("*")
        if each.is_file() and f"/{name}" in f"{each}" and "checkpoints" not in f"{each}"
    )
    data = path.read_bytes()
    path.write_bytes(bytes([data[0] ^ 1]) + data[1:])
    say(store, 1)
    with pytest.raises(CorruptRecord):
        Sealer(backend_of(store), key, [Folder(tmp_path)]).seal()
