"""An erasure of a subject that dies before any of its durable steps: the next opening finishes it."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import pytest

import onrecord
from onrecord.adapters.encryption import key_file
from onrecord.adapters.encryption.key_file import new_key_file
from onrecord.adapters.storage import atomic_files
from onrecord.adapters.storage.sqlite.connection import Session, Value
from tests.search import SEED, is_whole

ANA, BEN, BOTH = "ana", "ben", "both"
DURABLE = ("commit", "write_anew", "empty_wal")
"""The queries of a log and of a key store after which something is on the disk."""
MANY = 1_000
SHARE = 3
"""A run that leaves out what is long tries each third step."""
WHY = {"reason": "asked to", "rule": "GDPR 17(1)(a)"}


class Killed(BaseException):
    """What ends a program before a durable step, and each one behind it."""


class Disk:
    """Counts durable steps, and lets none happen from one of them on."""

    def __init__(self, last: int, patch: pytest.MonkeyPatch) -> None:
        self.steps, self.last = 0, last
        run, replace = Session.run, atomic_files.replace_secret

        def run_a_query(session: Session, query: str, *values: Value) -> None:
            if query in DURABLE:
                self.step()
            run(session, query, *values)

        def replace_a_key_file(path: Path, pieces: Iterable[bytes]) -> None:
            self.step()
            replace(path, pieces)

        patch.setattr(Session, "run", run_a_query)
        patch.setattr(f"{key_file.__name__}.replace_secret", replace_a_key_file)

    def step(self) -> None:
        self.steps += 1
        if self.steps > self.last:
            raise Killed


def opened(folder: Path) -> onrecord.Store:
    url = f"sqlite:///{folder / 'talks.db'}"
    return onrecord.connect(url, actor="eve", keys=folder / "keys.db", kek=folder / "kek")


def told(store: onrecord.Store, key: str) -> list[str | bytes]:
    """All that a conversation says, and its documents."""
    chat = store.get(key)
    blobs = [each.blob for each in chat.documents() if each.blob is not None]
    return [*(turn.text or "" for turn in chat.history()), *map(chat.blob, blobs)]


def erase_and_die(folder: Path, patch: pytest.MonkeyPatch, steps: int) -> int:
    """Erase in a program that dies after so many durable steps; return how many it began."""
    store = opened(folder)
    with patch.context() as dying:
        disk = Disk(steps, dying)
        with suppress(Killed):
            store.subjects.erase(ANA, **WHY)
        began = disk.steps
        with suppress(Killed):
            store.close()
    return began


def test_an_erasure_that_dies_before_any_durable_step_is_finished_by_the_next_opening(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tmp_path / "made"
    made.mkdir()
    new_key_file(made / "kek")
    monkeypatch.setenv("ONRECORD_SPOOL", str(tmp_path / "spool"))
    names = {ANA: [ANA], BEN: [BEN], BOTH: [ANA, BEN]}
    with opened(made) as store:
        for key, subjects in names.items():
            chat = store.conversation(key, subjects=subjects)
            chat.user(f"canary of {key}", documents=[f"%PDF of {key}".encode()])
        whole = {key: told(store, key) for key in names}
    total = erase_and_die(shutil.copytree(made, tmp_path / "whole"), monkeypatch, MANY)
    assert MANY > total > 15
    for steps in (each for each in range(total) if is_whole() or each % SHARE == SEED % SHARE):
        folder = shutil.copytree(made, tmp_path / f"{steps}")
        assert erase_and_die(folder, monkeypatch, steps) > steps
        with opened(folder) as store:
            begun = store.erasures()
            if not begun:
                # The intention was not recorded yet, so nothing is lost.
                assert {key: told(store, key) for key in names} == whole
                assert steps == 0
            assert all(each.outcome is not None for each in begun)
            certificate = store.subjects.erase(ANA, **WHY)
            assert (certificate.conversations, len(certificate.retired)) == (2, 1)
            assert told(store, BEN) == whole[BEN]
            assert store.subjects.conversations(ANA) == []
            assert store.verify().is_whole
        assert len((folder / "kek").read_text("ascii").splitlines()) == 1
        files = (path for path in folder.rglob("*") if path.is_file())
        assert not any(b"canary of" in path.read_bytes() for path in files)
