"""An authority says when it saw a checkpoint, and nothing waits for one that does not answer."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import onrecord
from onrecord.adapters.seals.timestamps import TimestampAuthority, TrustedAuthority
from onrecord.domain.errors import CorruptRecord, InvalidInput, StorageUnavailable
from tests.adapters.cli.command import Command, in_process
from tests.adapters.seals.timestamp_server import TimestampServer

NOTE = b"a checkpoint\n"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TimestampServer]:
    with TimestampServer(tmp_path_factory.mktemp("tsa") / "ours") as server:
        yield server


@pytest.fixture(autouse=True)
def answering(authority: TimestampServer) -> None:
    authority.answer, authority.asked = None, 0


@pytest.fixture
def command(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    authority: TimestampServer,
) -> Command:
    """The command line on a store that is to be sealed at two places."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ONRECORD_URL", "sqlite:///log/talks.db")
    (tmp_path / "log").mkdir()
    say("Where is my parcel?")
    ran = in_process(monkeypatch, capsys)
    assert ran("seal-key", "seal.key").code == 0
    monkeypatch.setenv("ONRECORD_SEALS", "seals more")
    monkeypatch.setenv("ONRECORD_SEAL_KEY", "seal.key")
    monkeypatch.setenv("ONRECORD_TIMESTAMPS", authority.url)
    return ran


def say(text: str) -> None:
    with onrecord.connect("sqlite:///log/talks.db", seals="") as store:
        store.conversation("support/4711").user(text)


def stamps(place: str) -> list[Path]:
    return sorted(Path(place).rglob("*.tsr"))


def test_a_checkpoint_is_stamped_once_beside_it_in_each_place(
    command: Command, authority: TimestampServer
) -> None:
    for _ in range(2):
        assert command("seal").code == 0
    assert authority.asked == 1
    (first,), (second,) = stamps("seals"), stamps("more")
    assert first.read_bytes() == second.read_bytes()
    assert first.with_suffix("").exists()
    checked = command("checkpoint", "--authority", str(authority.root), "--json").document
    stamped_at = datetime.fromisoformat(checked["stamped_at"])
    assert abs((datetime.now(UTC) - stamped_at).days) < 1
    assert command("checkpoint", "--json").document["stamped_at"] is None
    done = command("verify", "--authority", str(authority.root))
    assert done.code == 0
    assert "checked: 1 timestamp of shard 0 at more: signatures and digests" in done.err
    assert "0 not yet; an authority saw 2 of them at " in done.err
    assert "not checked: 1 timestamp of shard 0 at seals: give --authority" in command("verify").err


def test_sealing_does_not_wait_for_an_authority_that_does_not_answer(
    command: Command,
    authority: TimestampServer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("ONRECORD_TIMESTAMPS", "http://127.0.0.1:1/tsr")
        done = command("seal")
    assert (done.code, len(done.columns)) == (0, 1)
    authority.answer = b"<html>"
    assert command("seal").code == 0
    assert [message.rpartition("next seal")[2] for message in caplog.messages] == [
        " asks for again: the timestamp authority 127.0.0.1: Connection refused",
        " asks for again: the timestamp authority 127.0.0.1: it is no timestamp",
    ]
    assert stamps("seals") == []
    authority.answer = None
    command("seal")
    assert len(stamps("seals")) == 1
    say("It came.")
    command("seal")
    assert len(stamps("seals")) == 2


def test_a_timestamp_of_another_checkpoint_or_authority_is_a_fault(
    command: Command, authority: TimestampServer, tmp_path: Path
) -> None:
    command("seal")
    say("It came.")
    command("seal")
    old, new = stamps("seals")
    with TimestampServer(tmp_path / "other") as other:
        named = command("verify", "--authority", str(other.root))
    assert (named.code, named.out.count("no certificate that is trusted signed it")) == (1, 4)
    shutil.copy(old, new)
    done = command("verify", "--authority", str(authority.root))
    assert done.code == 1
    assert "the timestamp of the checkpoint of size 3 of shard 0 at seals" in done.out
    assert "it is of another checkpoint" in done.out
    assert command("checkpoint", "--authority", str(authority.root)).code == 1
    new.unlink()
    missing = command("checkpoint", "--authority", str(authority.root))
    assert (missing.code, "has no timestamp at seals" in missing.err) == (1, True)
    assert command("verify", "--authority", str(authority.root)).code == 0


def test_no_byte_of_a_timestamp_is_changed_unnoticed(authority: TimestampServer) -> None:
    response = TimestampAuthority(authority.url).stamp(NOTE)
    trusted = TrustedAuthority(authority.root)
    at = trusted.stamped_at(response, NOTE)
    unnoticed: list[int] = []
    for place in range(len(response)):
        changed = bytearray(response)
        changed[place] ^= 1
        try:
            if trusted.stamped_at(bytes(changed), NOTE) != at:
                unnoticed.append(place)
        except CorruptRecord:
            pass
    assert unnoticed == []


def test_an_answer_to_another_request_is_none(authority: TimestampServer) -> None:
    asked = TimestampAuthority(authority.url)
    authority.answer = asked.stamp(NOTE)
    with pytest.raises(StorageUnavailable, match="another request"):
        asked.stamp(NOTE)
    with pytest.raises(StorageUnavailable, match="another checkpoint"):
        asked.stamp(b"another one")


@pytest.mark.parametrize("url", ["file:///etc/passwd", "tsa.example", "http://"])
def test_an_authority_is_asked_over_http_alone(url: str) -> None:
    with pytest.raises(InvalidInput, match="ONRECORD_TIMESTAMPS"):
        TimestampAuthority(url)


def test_a_file_without_a_root_certificate_is_refused(
    authority: TimestampServer, tmp_path: Path
) -> None:
    (tmp_path / "none.pem").write_text("nothing")
    for file in (tmp_path / "none.pem", tmp_path / "gone.pem", authority.root.with_name("tsa.pem")):
        with pytest.raises(InvalidInput):
            TrustedAuthority(file)
