"""A shard is sealed in steps, and each checkpoint goes on from the one before."""

import shutil
from pathlib import Path

import pytest

import onrecord
from onrecord.adapters.seals.checkpoints import ShardSeals
from onrecord.adapters.seals.places import Folder, Place, place_at
from onrecord.adapters.seals.sealing import Sealer
from onrecord.adapters.seals.signing import new_key
from onrecord.adapters.store import backend_of
from onrecord.domain.errors import CorruptRecord
from onrecord.domain.header import body_digest, leaf, recorded_header
from onrecord.domain.log import Backend, RecordedEvent
from onrecord.domain.seals.checkpoint import log_id_of
from onrecord.domain.seals.merkle import (
    consistency_proof,
    inclusion_proof,
    is_consistent,
    root_by_inclusion,
)
from onrecord.domain.seals.notes import PrivateKey
from onrecord.domain.seals.tiles import subtrees_in
from tests.adapters.seals.kept_checkpoints import checkpoints_at


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
    checkpoints = checkpoints_at(seals)
    assert [each.size for each in checkpoints] == sorted({each.size for each in checkpoints})
    assert len(checkpoints) == 3
    last = seals.last()
    assert last is not None
    assert last.checkpoint == checkpoints[-1]
    assert last.checkpoint.root in store.verify(roots=[last.checkpoint.root]).roots
    subtrees = subtrees_in(last.checkpoint.size, seals.tile)
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


def rewritten(backend: Backend, position: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a log tell another event at a position, with hashes that are valid."""
    inventory = type(backend.inventory())
    read = inventory.log

    def forged(*arguments: object) -> object:
        page = read(*arguments)  # type: ignore[arg-type]  # as it was called
        return [
            each._replace(event=_reworded(each.event)) if each.event.position == position else each
            for each in page
        ]

    monkeypatch.setattr(inventory, "log", forged)


def _reworded(event: RecordedEvent) -> RecordedEvent:
    body = (event.body or b"").replace(b"prompt", b"answer")
    digest = body_digest(event.salt or b"", body)
    header = recorded_header(event.header, event.version, event.position, event.recorded_at)
    return event._replace(body=body, digest=digest, leaf=leaf(header, digest))


def files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_place_that_was_emptied_takes_no_tree_that_contradicts_another_place(
    store: onrecord.Store, key: PrivateKey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(store, 320)
    sealer = Sealer(backend_of(store), key, [Folder(tmp_path / "A"), Folder(tmp_path / "B")])
    sealer.seal()
    rewritten(backend_of(store), 2, monkeypatch)
    shutil.rmtree(tmp_path / "A")
    before = files(tmp_path)
    with pytest.raises(CorruptRecord, match=rf"position 2 is the first .* at {tmp_path / 'B'}"):
        sealer.seal()
    say(store, 1)
    with pytest.raises(CorruptRecord, match=rf"position 2 is the first .* at {tmp_path / 'B'}"):
        sealer.seal()
    assert files(tmp_path) == before


def test_a_place_that_was_emptied_is_sealed_anew_where_the_log_agrees_with_the_others(
    store: onrecord.Store, key: PrivateKey, tmp_path: Path
) -> None:
    say(store, 300)
    places = [Folder(tmp_path / "A"), Folder(tmp_path / "B")]
    (first,) = Sealer(backend_of(store), key, places).seal()
    shutil.rmtree(tmp_path / "A")
    assert Sealer(backend_of(store), key, places).seal() == [first]
    say(store, 1)
    (sealed,) = Sealer(backend_of(store), key, places).seal()
    assert [seals_at(store, key, place).last() for place in places] == [sealed, sealed]


def test_two_places_of_one_size_with_other_roots_are_not_sealed(
    store: onrecord.Store, key: PrivateKey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(store, 300)
    here, there = Folder(tmp_path / "A"), Folder(tmp_path / "B")
    Sealer(backend_of(store), key, [here]).seal()
    with monkeypatch.context() as forging:
        rewritten(backend_of(store), 2, forging)
        Sealer(backend_of(store), key, [there]).seal()
    before = files(tmp_path)
    for new in (0, 1):
        say(store, new)
        with pytest.raises(CorruptRecord, match=rf"position 2 is .* at {tmp_path / 'B'}"):
            Sealer(backend_of(store), key, [here, there]).seal()
    assert files(tmp_path) == before


def test_the_first_position_that_was_rewritten_is_named(
    store: onrecord.Store, key: PrivateKey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(store, 17)
    sealer = Sealer(backend_of(store), key, [Folder(tmp_path)])
    sealer.seal()
    rewritten(backend_of(store), 5, monkeypatch)
    say(store, 1)
    with pytest.raises(CorruptRecord, match="position 5 is the first"):
        sealer.seal()
