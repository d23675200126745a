"""A seal that ends at any step leaves a place that holds, from which the next seal goes on."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import onrecord
from onrecord.adapters.seals import checkpoints
from onrecord.adapters.seals.places import Folder
from onrecord.adapters.seals.sealing import Sealer
from onrecord.adapters.store import backend_of
from onrecord.adapters.upkeep.verified import Verified
from onrecord.domain.seals.notes import PrivateKey

_OLDER_LAST = "it was put back, or a program died while it sealed"
"""Of the one fault that a seal leaves between its checkpoint and the last one (docs/verify.md)."""


class Disk:
    """What of a folder was flushed; before each step on the way there, `happen` is called with it."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        root.mkdir()
        self.root = root
        self.happen: Callable[[str], None] = lambda _: None
        self._bytes: dict[int, bytes] = {}
        self._names: dict[int, dict[str, int]] = {}
        monkeypatch.setattr(os, "fsync", self._flush)
        for name in ("link", "replace", "unlink"):
            monkeypatch.setattr(os, name, self._before(name, getattr(os, name)))

    def _flush(self, descriptor: int) -> None:
        self.happen("fsync")
        number = os.fstat(descriptor).st_ino
        path = next((each for each in self._paths() if each.lstat().st_ino == number), None)
        if path is None:
            return
        if path.is_dir():
            self._names[number] = {each.name: each.lstat().st_ino for each in path.iterdir()}
        else:
            self._bytes[number] = path.read_bytes()

    def _before(self, name: str, step: Callable[..., Any]) -> Callable[..., Any]:
        def stepping(*arguments: Any, **options: Any) -> Any:
            self.happen(f"{name} {arguments[-1]}")
            return step(*arguments, **options)

        return stepping

    def _paths(self) -> list[Path]:
        return [self.root, *self.root.rglob("*")]

    def killed(self, into: Path) -> None:
        """Copy what a program finds after the one that sealed was killed."""
        shutil.copytree(self.root, into)

    def torn(self, into: Path) -> None:
        """Copy what a power cut leaves that every name outlives, with the bytes that were flushed."""
        for path in self._paths():
            if path.is_dir():
                (into / path.relative_to(self.root)).mkdir()
            else:
                data = self._bytes.get(path.lstat().st_ino, b"")
                (into / path.relative_to(self.root)).write_bytes(data)

    def lost(self, into: Path) -> None:
        """Copy what a power cut leaves that only flushed names outlive, with the bytes that were flushed."""
        self._copy_flushed(self.root.lstat().st_ino, into)

    def _copy_flushed(self, folder: int, into: Path) -> None:
        into.mkdir()
        numbers = {each.lstat().st_ino for each in self._paths() if each.is_dir()}
        for name, number in self._names.get(folder, {}).items():
            if number in numbers:
                self._copy_flushed(number, into / name)
            else:
                (into / name).write_bytes(self._bytes.get(number, b""))


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Disk:
    """A disk under a seal whose tiles are flushed two at a time."""
    monkeypatch.setattr(checkpoints, "_TOGETHER", 2)
    return Disk(tmp_path / "seals", monkeypatch)


def say(store: onrecord.Store, count: int) -> None:
    chat = store.conversation("support/4711")
    for number in range(count):
        chat.user(f"prompt {number}")


def seal(store: onrecord.Store, key: PrivateKey, place: Path) -> None:
    Sealer(backend_of(store), key, [Folder(place)]).seal()


def verified(store: onrecord.Store, key: PrivateKey, place: Path) -> Verified:
    return store.verify(seals=[str(place)], vkeys=[str(key.public)])


@pytest.mark.parametrize("copy", [Disk.killed, Disk.torn, Disk.lost])
def test_after_each_step_of_a_seal_its_place_holds_and_the_next_seal_goes_on(
    store: onrecord.Store,
    key: PrivateKey,
    disk: Disk,
    tmp_path: Path,
    copy: Callable[[Disk, Path], None],
) -> None:
    say(store, 3)
    seal(store, key, disk.root)
    left: list[Path] = []

    def keep(_: str) -> None:
        left.append(tmp_path / f"left-{len(left)}")
        copy(disk, left[-1])

    say(store, 260)
    disk.happen = keep
    seal(store, key, disk.root)
    disk.happen = lambda _: None
    assert len(left) > 20
    for place in left:
        assert all(_OLDER_LAST in each.why for each in verified(store, key, place).faults)
        seal(store, key, place)
        found = verified(store, key, place)
        assert found.is_whole
        assert found.seals[0].size == store.cursors()[0].position


def test_a_checkpoint_takes_its_name_after_its_tiles_would_outlive_a_power_cut(
    store: onrecord.Store, key: PrivateKey, disk: Disk, tmp_path: Path
) -> None:
    outliving: list[dict[str, bytes]] = []

    def look(step: str) -> None:
        if "/checkpoint" in step and not step.startswith("unlink"):
            left = tmp_path / f"left-{len(outliving)}"
            disk.lost(left)
            outliving.append(tiles_in(left))

    say(store, 260)
    disk.happen = look
    seal(store, key, disk.root)
    tiles = tiles_in(disk.root)
    assert len(tiles) > 2
    assert outliving == [tiles, tiles]


def tiles_in(place: Path) -> dict[str, bytes]:
    return {
        f"{path.relative_to(place)}": path.read_bytes()
        for path in place.rglob("tile/**/*")
        if path.is_file()
    }
