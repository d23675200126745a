"""Attacks on a sealed log by whoever may write anything to its database, or to a place of its seals.

Each is found by `verify` with the seals, which names the first wrong position or the checkpoint that
tells. `plain` is what `verify` says without them: many of these attacks it cannot see.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import apsw
import psycopg
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import onrecord
from onrecord import Verified
from onrecord.adapters.seals.places import Folder
from onrecord.adapters.seals.sealing import Sealer
from onrecord.adapters.seals.signing import new_key, signed
from onrecord.adapters.settings import NO_TENANT
from onrecord.adapters.store import backend_of
from onrecord.domain.errors import OnrecordError
from onrecord.domain.seals.checkpoint import key_name_of, log_id_of, parse_checkpoint
from onrecord.domain.seals.notes import PrivateKey, PublicKey, parse_note
from tests.postgres_places import fresh_log
from tests.postgres_server import VERSIONS, server
from tests.tampering import forging
from tests.tampering.postgres_rows import PostgresRows
from tests.tampering.rows import Row, Rows, Tampering, drawn
from tests.tampering.sqlite_rows import SqliteRows


@dataclass(frozen=True)
class Sealed:
    """A store that was sealed twice, at eight events and at ten, and has twelve, at two places."""

    rows: Rows
    key: PrivateKey
    here: Path
    there: Path
    earlier: dict[str, list[Row]]
    """The rows of all tables as they were at eight events."""
    backup: str | None
    """The URL of a copy of the file as it was at eight events; None on PostgreSQL."""

    def verify(self, *places: Path, key: PrivateKey | None = None, url: str = "") -> Verified:
        """What `verify` says with the seals at places, here where none is named."""
        urls = [str(place) for place in places or (self.here,)]
        pinned = [str((key or self.key).public)]
        with onrecord.connect(url or self.rows.url) as store:
            return store.verify(seals=urls, vkeys=pinned)

    def plain(self) -> bool:
        """Whether all of it holds as far as `verify` sees without seals."""
        with onrecord.connect(self.rows.url) as store:
            return store.verify().is_whole

    def forge(self, change: Callable[[list[Row]], list[Row]]) -> None:
        """Put other events in place of all, and make every hash anew; no mark tells of it."""
        forging.forge(self.rows, change(forging.events(self.rows)))
        forging.unmark(self.rows)

    def put_back(self) -> None:
        """Make every table what it was at eight events."""
        forging.put_back(self.rows, self.earlier)
        forging.unmark(self.rows)

    def seal_again(self, *folders: Path, key: PrivateKey | None = None) -> None:
        with onrecord.connect(self.rows.url) as store:
            forging.seal(store, key or self.key, *folders)

    def folder(self, place: Path) -> Path:
        """Where a place keeps the shard that has the events."""
        found = (each.parents[1] for each in place.rglob("*08") if each.is_file())
        return next(found)


@pytest.fixture(params=["sqlite", "postgres"])
def sealed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sealed]:
    if request.param == "sqlite":
        url, file = f"sqlite:///{tmp_path}/talks.db", tmp_path / "talks.db"
        yield from _sealed(url, tmp_path, lambda: SqliteRows(file), _copy_of_file)
        return
    url = fresh_log(VERSIONS[-1])
    yield from _sealed(url, tmp_path, lambda: PostgresRows(url), lambda _: None)
    server(VERSIONS[-1]).drop(url)


def _copy_of_file(url: str) -> str:
    file = Path(url.removeprefix("sqlite:///"))
    return f"sqlite:///{shutil.copy(file, file.with_name('backup.db'))}"


def _sealed(
    url: str, folder: Path, opened: Callable[[], Rows], copy: Callable[[str], str | None]
) -> Iterator[Sealed]:
    here, there = folder / "here", folder / "there"
    with onrecord.connect(url) as store:
        key = new_key(key_name_of(log_id_of(backend_of(store).digest)))
        forging.record(store)
        forging.seal(store, key, here, there)
    backup = copy(url)
    before = opened()
    earlier = forging.backup_of(before)
    before.close()
    with onrecord.connect(url) as store:
        forging.go_on(store)
        forging.seal(store, key, here, there)
        forging.go_on(store)
    rows = opened()
    yield Sealed(rows, key, here, there, earlier, backup)
    rows.close()


def test_what_nobody_touched_holds_and_says_how_far_it_is_sealed(sealed: Sealed) -> None:
    verified = sealed.verify(sealed.here, sealed.there)
    assert verified.faults == ()
    assert verified.is_whole
    (here, there) = (seal for seal in verified.seals if seal.pending)
    assert (here.size, here.pending, here.checkpoints) == (10, 2, 2)
    assert here.keys == there.keys == (str(sealed.key.public),)
    assert here.is_pinned


# Attacks on the database. Whoever changes rows without making hashes anew is found without seals too.


def test_any_change_of_any_column_of_any_event_is_found(sealed: Sealed) -> None:
    tried, unnoticed = 0, list[Tampering]()
    for tampering in drawn(sealed.rows, "event"):
        try:
            tampering.do(sealed.rows)
        except (apsw.Error, psycopg.Error):
            continue  # The database itself refuses it.
        else:
            tried += 1
            if is_whole(sealed):
                unnoticed.append(tampering)
        finally:
            sealed.rows.undo("event")
    assert unnoticed == []
    assert tried > 10


def is_whole(sealed: Sealed) -> bool:
    try:
        return sealed.verify().is_whole
    except OnrecordError:
        return False


def test_a_changed_leaf_is_named_by_its_position(sealed: Sealed) -> None:
    row = forging.events(sealed.rows)[4]
    sealed.rows.change("event", row, "leaf", bytes(32))
    assert not sealed.plain()
    assert found(sealed.verify(), "was rewritten: position 5 is the first")


def test_an_event_that_was_deleted_is_named_by_its_position(sealed: Sealed) -> None:
    sealed.rows.delete("event", forging.events(sealed.rows)[3])
    assert not sealed.plain()
    assert found(sealed.verify(), "was rewritten: position 4 is the first")


def test_a_blob_that_was_replaced_is_found(sealed: Sealed) -> None:
    table = "blob_piece" if "blob_piece" in sealed.rows.tables() else "blob_chunk"
    (row,) = sealed.rows.rows(table)
    sealed.rows.change(table, row, "data", b"%PDF another one")
    assert not sealed.plain()
    assert found(sealed.verify(), "is missing or damaged")


# What no hash inside the log can tell, since the forger made them all anew.


def test_an_event_that_was_reworded_with_its_hashes_is_named_by_the_seals_alone(
    sealed: Sealed,
) -> None:
    sealed.forge(lambda rows: [*rows[:4], forging.reworded(rows[4]), *rows[5:]])
    assert sealed.plain()
    assert found(sealed.verify(), "was rewritten: position 5 is the first")


def test_a_log_that_was_rebuilt_with_new_hashes_is_named_by_the_seals_alone(
    sealed: Sealed,
) -> None:
    sealed.forge(lambda rows: [*rows[:4], *map(forging.reworded, rows[4:8]), *rows[8:]])
    assert sealed.plain()
    assert found(sealed.verify(), "was rewritten: position 5 is the first")


def test_an_event_that_was_left_out_with_new_hashes_is_named_by_the_seals_alone(
    sealed: Sealed,
) -> None:
    sealed.forge(lambda rows: [*rows[:4], *rows[5:]])
    assert sealed.plain()
    assert found(sealed.verify(), "was rewritten: position 5 is the first")


def test_two_events_that_were_swapped_are_named_by_the_seals_alone(sealed: Sealed) -> None:
    sealed.forge(lambda rows: forging.swapped(rows, 4, 5))
    assert sealed.plain()
    assert found(sealed.verify(), "was rewritten: position 5 is the first")


def test_an_event_that_was_put_between_others_is_named_by_the_seals_alone(
    sealed: Sealed,
) -> None:
    sealed.forge(lambda rows: [*rows[:6], forging.made_up(rows[5], NO_TENANT), *rows[6:]])
    assert sealed.plain()
    assert found(sealed.verify(), "was rewritten: position 7 is the first")


def test_a_tail_that_was_cut_off_is_named_by_the_seals_alone(sealed: Sealed) -> None:
    sealed.forge(lambda rows: rows[:9])
    assert sealed.plain()
    verified = sealed.verify()
    assert found(verified, "was cut or set back: it has 9 events, and 10 were sealed at ")
    assert found(verified, "position 10 is the first that is missing")


def test_a_log_that_was_set_back_to_a_backup_is_named_by_the_seals_alone(sealed: Sealed) -> None:
    if sealed.backup is None:
        sealed.put_back()
    url = sealed.backup or sealed.rows.url
    with onrecord.connect(url) as store:
        assert store.verify().is_whole
    assert found(sealed.verify(url=url), "position 9 is the first that is missing")


def test_a_log_that_was_set_back_and_went_on_is_named_by_the_seals_alone(sealed: Sealed) -> None:
    sealed.put_back()
    with onrecord.connect(sealed.rows.url) as store:
        forging.go_on(store)
        forging.go_on(store)
    assert sealed.plain()
    assert found(sealed.verify(), "was rewritten: position 9 is the first")
    with pytest.raises(OnrecordError, match="was rewritten"):
        sealed.seal_again(sealed.here)


# Attacks on a place of the seals.


def test_an_old_checkpoint_that_was_put_back_is_found(sealed: Sealed) -> None:
    folder = sealed.folder(sealed.here)
    shutil.copy(checkpoint_of(folder, 8), folder / "checkpoint")
    assert found(sealed.verify(), "is of size 8, and one of size 10 is there: it was put back")


def test_an_old_checkpoint_that_was_put_back_for_a_cut_log_is_found(sealed: Sealed) -> None:
    folder = sealed.folder(sealed.here)
    shutil.copy(checkpoint_of(folder, 8), folder / "checkpoint")
    sealed.put_back()
    with onrecord.connect(sealed.rows.url) as store:
        store.conversation(forging.FIRST).user("Another end.")
    sealed.seal_again(sealed.here)
    verified = sealed.verify()
    assert found(verified, "was rewritten: position 9 is the first")


def test_a_place_that_was_set_back_with_the_log_is_told_by_another_place(sealed: Sealed) -> None:
    folder = sealed.folder(sealed.here)
    shutil.copy(checkpoint_of(folder, 8), folder / "checkpoint")
    checkpoint_of(folder, 10).unlink()
    sealed.put_back()
    assert sealed.verify(sealed.here).is_whole
    assert found(
        sealed.verify(sealed.here, sealed.there), "position 9 is the first that is missing"
    )


@pytest.mark.parametrize("is_one_place", [True, False], ids=["at one place", "at two places"])
def test_two_checkpoints_of_one_size_are_found(sealed: Sealed, is_one_place: bool) -> None:
    forged = sealed.here.with_name("forged")
    kept = sealed.folder(sealed.here)
    with onrecord.connect(sealed.rows.url) as store:
        log_id = log_id_of(backend_of(store).digest)
    truth = parse_note(checkpoint_of(kept, 10).read_bytes()).text
    lie = parse_checkpoint(truth)._replace(hash=bytes(32))
    note = signed(lie.text(), sealed.key).encode()
    assert kept == sealed.here / f"{log_id}" / kept.name
    shutil.copytree(sealed.here, forged)
    other = kept if is_one_place else sealed.folder(forged)
    (other / "checkpoint").write_bytes(note)
    if not is_one_place:
        checkpoint_of(other, 10).write_bytes(note)
    verified = sealed.verify(sealed.here, *(() if is_one_place else (forged,)))
    assert found(verified, "2 checkpoints of size 10 are signed, with different roots")
    assert found(verified, "whoever has the key signed more than one log")


def test_a_checkpoint_that_the_key_of_digests_signed_is_not_believed(sealed: Sealed) -> None:
    (meta,) = sealed.rows.rows("meta")
    seed = meta.get("digest_key") or meta["key"]
    own = key_of(bytes(seed), sealed.key.public.name)
    sealed.forge(lambda rows: [*rows[:4], forging.reworded(rows[4]), *rows[5:]])
    shutil.rmtree(sealed.here)
    sealed.seal_again(sealed.here, key=own)
    assert sealed.plain()
    assert found(sealed.verify(), "which is no key that was given")


def test_a_place_that_another_key_signed_anew_is_not_believed(sealed: Sealed) -> None:
    swapped = new_key(sealed.key.public.name)
    shutil.rmtree(sealed.here)
    sealed.seal_again(sealed.here, key=swapped)
    assert found(sealed.verify(), "which is no key that was given")
    assert sealed.verify(key=swapped).is_whole


def test_a_wrong_key_makes_no_seal_hold(sealed: Sealed) -> None:
    verified = sealed.verify(key=new_key(sealed.key.public.name))
    assert found(verified, "which is no key that was given")
    assert [seal.size for seal in verified.seals if seal.pending] == [0]


def test_without_a_key_nothing_is_believed(sealed: Sealed) -> None:
    with onrecord.connect(sealed.rows.url) as store:
        verified = store.verify(seals=[str(sealed.here)], vkeys=[])
    assert verified.faults == ()
    assert not verified.is_whole
    assert any("no public key is known" in why for why in verified.unchecked)


def test_a_rotated_key_needs_the_one_before_it_too(sealed: Sealed) -> None:
    rotated = new_key(sealed.key.public.name)
    with onrecord.connect(sealed.rows.url) as store:
        backend = backend_of(store)
        Sealer(backend, rotated, [Folder(sealed.here)], earlier=[sealed.key.public]).seal()
        keys = [str(sealed.key.public), str(rotated.public)]
        both = store.verify(seals=[str(sealed.here)], vkeys=keys)
    assert both.is_whole
    assert {key for seal in both.seals for key in seal.keys} == set(keys)
    assert found(sealed.verify(key=rotated), "which is no key that was given")
    assert found(sealed.verify(), "which is no key that was given")


def test_a_bit_of_a_tile_that_changed_is_named_by_its_position(sealed: Sealed) -> None:
    (tile,) = (sealed.folder(sealed.here) / "tile" / "0").rglob("10")
    data = tile.read_bytes()
    for bit in range(0, len(data) * 8, 307):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        tile.write_bytes(changed)
        position = bit // 256 + 1
        assert found(sealed.verify(), f"was changed: position {position} is the first")


def test_a_tile_that_was_removed_is_named(sealed: Sealed) -> None:
    (tile,) = (sealed.folder(sealed.here) / "tile" / "0").rglob("10")
    tile.unlink()
    assert found(sealed.verify(), r"tile/0/000\.p/10 of shard \d+ is missing")


def test_a_place_that_was_emptied_is_found(sealed: Sealed) -> None:
    shutil.rmtree(sealed.here)
    sealed.here.mkdir()
    assert found(sealed.verify(), "nothing of shard .* is sealed at ")


def found(verified: Verified, pattern: str) -> bool:
    """Whether a fault tells something."""
    assert not verified.is_whole
    return any(re.search(pattern, fault.why) for fault in verified.faults)


def checkpoint_of(folder: Path, size: int) -> Path:
    return folder / "checkpoints" / f"{size:020d}"


def key_of(seed: bytes, name: str) -> PrivateKey:
    """The signing key that follows from bytes that the database has."""
    public = Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()
    return PrivateKey(seed, PublicKey(name, public))
