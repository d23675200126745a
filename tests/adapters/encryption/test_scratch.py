"""What is written to a file for a while stands in it encrypted."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from onrecord.adapters.encryption.scratch import scratch_cipher
from onrecord.adapters.wire.blob_bytes import HeldBytes, Scratch, UnnamedFile

CANARY = b"the canary sings"
LONG = CANARY * 100_000


def test_a_long_answer_stands_in_its_file_encrypted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = tmp_path / "named"

    def with_a_name(**_: object) -> object:
        return named.open("w+b", buffering=0)

    monkeypatch.setattr(tempfile, "TemporaryFile", with_a_name)
    held = HeldBytes(20, is_encrypted=True)
    held.write(CANARY)
    assert not named.exists()
    held.write(LONG)
    assert b"".join(held.pieces(1000)) == CANARY + LONG
    assert CANARY not in named.read_bytes()
    file = UnnamedFile(Scratch(tmp_path, is_encrypted=True))
    for start in range(0, len(LONG), 1_000_003):
        file.write(LONG[start : start + 1_000_003])
    assert named.stat().st_size == len(LONG)
    assert CANARY not in named.read_bytes()
    for at in (0, 1, 15, 16, 17, 31, 1_000_002):
        file.seek(at)
        assert file.read(40) + file.read(9) == LONG[at : at + 49]


def test_two_files_have_two_keys() -> None:
    one, other = scratch_cipher(), scratch_cipher()
    assert one.turned(bytes(64), 0) != other.turned(bytes(64), 0)
    assert one.turned(one.turned(CANARY, 7), 7) == CANARY
