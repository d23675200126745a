"""What was forgotten is in no file of an SQLite store once it was swept, in whatever free space."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

import onrecord
from onrecord.adapters.recording.spool import Spool
from onrecord.adapters.storage.sqlite.sqlite import open_sqlite
from onrecord.adapters.store import Store
from tests.churned_store import ChurnedStore, found_in
from tests.factories import BECAUSE
from tests.sqlite_by_hand import ByHand

PAGE_SIZES: Final = (512, 1024, 4096, 16384)
PROGRAMS: Final = {"talks.db": 0x4F4E5243, "talks.db-views": 0x4F4E5256}


def opened(folder: Path, page_size: int) -> Store:
    """A new store whose files have pages of that size."""
    for name, program in PROGRAMS.items():
        by_hand = ByHand.open(folder / name)
        by_hand.run(f"PRAGMA page_size = {page_size}")
        by_hand.run(f"PRAGMA application_id = {program}")
        by_hand.close()
    return onrecord.connect(f"sqlite:///{folder / 'talks.db'}")


def holding(folder: Path, pieces: list[bytes]) -> dict[str, int]:
    """How many of the pieces are in which files of the store's folder."""
    wanted = frozenset(pieces)
    held = {
        str(path.relative_to(folder)): len(found_in(wanted, path.read_bytes()))
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    return {name: count for name, count in held.items() if count}


def churned(store: Store, seed: int, steps: int) -> ChurnedStore:
    made = ChurnedStore(store, seed)
    made.begin(8)
    made.churn(steps)
    made.read_views()
    if seed % 2:
        made.rebuild()
    return made


def forgotten_is_in_no_file(folder: Path, seed: int, steps: int) -> None:
    page_size = PAGE_SIZES[seed % len(PAGE_SIZES)]
    with opened(folder, page_size) as store:
        assert ByHand.open(folder / "talks.db").run("PRAGMA page_size") == [(page_size,)]
        made = churned(store, seed, steps)
        pieces = made.forget_some()
        assert len(store.sweep(rewrite=False).residue) == 2
        swept = store.sweep()
        assert swept.residue == ()
        assert holding(folder, pieces) == {}
        made.churn(20)
        assert holding(folder, made.kept())
        assert store.verify().is_whole
    assert holding(folder, pieces) == {}
    assert holding(folder, made.kept()).keys() == {"talks.db", "talks.db-views"}


@pytest.mark.parametrize("seed", range(4))
def test_what_is_forgotten_is_in_no_file_once_it_was_swept(tmp_path: Path, seed: int) -> None:
    forgotten_is_in_no_file(tmp_path, seed, steps=60)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 160))
def test_whatever_is_said_and_forgotten_it_is_in_no_file_once_it_was_swept(
    tmp_path: Path, seed: int
) -> None:
    forgotten_is_in_no_file(tmp_path, seed, steps=400)


def test_a_file_that_a_program_reads_stays_marked(tmp_path: Path) -> None:
    with Store(
        open_sqlite(tmp_path / "talks.db", wait=0.05),
        f"sqlite:///{tmp_path / 'talks.db'}",
        spool=Spool(tmp_path / "spool"),
    ) as store:
        store.conversation("a").user("Hello")
        store.forget("a", **BECAUSE)
        reader = ByHand.open(tmp_path / "talks.db")
        reader.run("BEGIN")
        reader.run("SELECT * FROM event")
        assert len(store.sweep().residue) == 1
        reader.run("ROLLBACK")
        reader.close()
        assert store.sweep().residue == ()


def test_a_store_without_views_is_swept_too(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'talks.db'}"
    with onrecord.connect(url) as store:
        store.conversation("a").user("Hello")
        result = store.forget("a", **BECAUSE)
        assert (result.events, len(result.residue)) == (2, 1)
        assert "`onrecord sweep`" in result.residue[0]
        assert store.sweep().residue == ()
        assert store.sweep().residue == ()
    assert not (tmp_path / "talks.db-views").exists()


def test_what_is_left_is_known_to_who_opens_the_store_next(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'talks.db'}"
    with onrecord.connect(url) as store:
        store.conversation("a").user("Hello")
        store.forget("a", **BECAUSE)
    with onrecord.connect(url) as store:
        assert len(store.sweep(rewrite=False).residue) == 1
        assert store.sweep().residue == ()
