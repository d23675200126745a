"""Go's own packages verify what a place keeps of a log: its signatures, its tiles and its proofs."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from onrecord.adapters.seals.proofs import ShardProofs
from onrecord.adapters.store import backend_of
from tests.adapters.seals.test_store_seals import Desk

PACKAGES = Path("/usr/share/gocode")
"""Where Debian's golang-golang-x-mod-dev puts the sources."""


@dataclass(frozen=True, slots=True)
class Sealed:
    """A log of three checkpoints, a proof of one of its events, and the program that reads them."""

    program: Path
    key: str
    folder: Path
    proof: Path
    leaf: bytes

    def check(self, leaf: bytes) -> subprocess.CompletedProcess[str]:
        words = (self.program, self.key, self.folder, self.proof, leaf.hex())
        return subprocess.run(words, capture_output=True, text=True, check=False)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    if shutil.which("go") is None or not (PACKAGES / "src/golang.org/x/mod/sumdb").is_dir():
        pytest.skip("Go's packages are not here: apt install golang-go golang-golang-x-mod-dev")
    source, made = Path(__file__).parent / "sealed.go", tmp_path / "sealed"
    settings = {"GO111MODULE": "off", "GOPATH": str(PACKAGES), "GOCACHE": str(tmp_path / "cache")}
    subprocess.run(("go", "build", "-o", made, source), env={**os.environ, **settings}, check=True)
    return made


@pytest.fixture
def sealed(program: Path, tmp_path: Path) -> Sealed:
    desk = Desk(tmp_path)
    with desk.open() as store:
        for number in range(3):
            talk = store.conversation(str(number))
            for _ in range(149):
                talk.user("Where is my parcel?")
            store.seal()
        event = next(iter(backend_of(store).read(store.get("1").conversation_id, after=16)))
    proof, seals = tmp_path / "proof", desk.seals()
    proof.write_bytes(ShardProofs(seals, seals.last()).inclusion(event).text())
    folder = desk.place / str(seals.log_id) / str(seals.shard)
    return Sealed(program, str(desk.public), folder, proof, event.leaf)


def test_signatures_tiles_and_proofs_hold(sealed: Sealed) -> None:
    done = sealed.check(sealed.leaf)
    assert done.stderr == ""
    assert done.stdout == ("checkpoints: 3, the last one of size 450\nevent 167 of 450 is proved\n")


def test_a_changed_leaf_tile_or_checkpoint_does_not(sealed: Sealed) -> None:
    assert sealed.check(bytes(32)).stderr == "invalid transparency proof\n"
    for name in ("tile/0/000", f"checkpoints/{450:020}"):
        file = sealed.folder / name
        file.chmod(0o600)
        intact = file.read_bytes()
        changed = bytearray(intact)
        changed[len(changed) // 4] ^= 1
        file.write_bytes(changed)
        done = sealed.check(sealed.leaf)
        assert (done.returncode, done.stdout) == (1, "")
        file.write_bytes(intact)
    assert sealed.check(sealed.leaf).returncode == 0
