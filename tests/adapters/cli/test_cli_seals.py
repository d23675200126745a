"""`onrecord seal-key`, `seal` and `checkpoint`."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from pathlib import Path

import pytest

import onrecord
from onrecord.adapters.seals.signing import verified
from onrecord.domain.errors import CorruptRecord
from onrecord.domain.seals.checkpoint import parse_checkpoint
from onrecord.domain.seals.notes import parse_public_key
from tests.adapters.cli.command import Command, in_process, url_of


@dataclass(frozen=True, slots=True)
class Desk:
    """A store in which something was said, a key of it, and where its seals are to be."""

    command: Command
    url: str
    key: Path
    place: Path
    public: str

    def say(self, *texts: str) -> None:
        with onrecord.connect(self.url, seals="") as store:
            for text in texts:
                store.conversation("support/4711").user(text)


@pytest.fixture
def desk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Desk:
    url, key, place = url_of(tmp_path), tmp_path / "seal.key", tmp_path / "seals"
    monkeypatch.setenv("ONRECORD_URL", url)
    for name in ("ONRECORD_SEALS", "ONRECORD_SEAL_KEY", "ONRECORD_SEAL_VKEY", "ONRECORD_TENANT"):
        monkeypatch.delenv(name, raising=False)
    command = in_process(monkeypatch, capsys)
    assert command("migrate").code == 0
    done = command("seal-key", str(key))
    assert done.code == 0
    monkeypatch.setenv("ONRECORD_SEALS", str(place))
    monkeypatch.setenv("ONRECORD_SEAL_KEY", str(key))
    desk = Desk(command, url, key, place, done.out.strip())
    desk.say("Where is my parcel?", "It is NW-20931.")
    return desk


def test_a_key_is_written_once_and_its_public_key_is_printed(desk: Desk) -> None:
    assert stat.S_IMODE(desk.key.stat().st_mode) == 0o600
    assert desk.key.read_text().startswith("PRIVATE+KEY+onrecord.log/")
    assert parse_public_key(desk.public).name in desk.key.read_text()
    before = desk.key.read_bytes()
    done = desk.command("seal-key", str(desk.key))
    assert (done.code, done.out) == (1, "")
    assert "is there already" in done.err
    assert desk.key.read_bytes() == before


def test_where_the_key_must_not_lie_is_said(desk: Desk) -> None:
    done = desk.command("seal-key", f"{desk.key}.2")
    assert done.out.count("\n") == 1
    assert "Write this public key down elsewhere" in done.err
    assert "away from the database and from its backups" in done.err
    assert "PRIVATE" not in done.out + done.err
    document = desk.command("seal-key", f"{desk.key}.3", "--json").document
    assert document["file"] == f"{desk.key}.3"
    assert document["public_key"].startswith(f"onrecord.log/{document['log']}+")


def test_a_line_a_shard_says_what_was_sealed(desk: Desk) -> None:
    done = desk.command("seal")
    root = f"{desk.command('verify').err.split('root: ')[1].splitlines()[0]}"
    ((shard, size, sealed_root, _, place),) = done.columns
    assert (done.code, done.err) == (0, "")
    assert (shard, size, sealed_root, place) == ("0", "3", root, str(desk.place))
    (document,) = desk.command("seal", "--json").documents
    assert (document["size"], document["root"], document["places"]) == (3, root, [str(desk.place)])


def test_a_checkpoint_is_printed_as_it_was_signed(desk: Desk) -> None:
    desk.command("seal")
    first = desk.command("checkpoint")
    desk.say("Any news?")
    desk.command("seal")
    last = desk.command("checkpoint")
    assert desk.command("checkpoint", "--at", "3").out == first.out
    keys = [parse_public_key(desk.public)]
    sizes = [
        parse_checkpoint(verified(each.out.encode(), keys).text).size for each in (first, last)
    ]
    assert sizes == [3, 4]
    document = desk.command("checkpoint", "--json").document
    assert (document["note"], document["size"]) == (last.out, 4)


def test_whether_the_public_key_was_pinned_is_said(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.command("seal")
    assert "not with one that was written down" in desk.command("checkpoint").err
    monkeypatch.setenv("ONRECORD_SEAL_VKEY", desk.public)
    monkeypatch.delenv("ONRECORD_SEAL_KEY")
    done = desk.command("checkpoint")
    assert (done.code, done.err) == (0, "")
    other = desk.command("seal-key", f"{desk.key}.2").out.strip()
    monkeypatch.setenv("ONRECORD_SEAL_VKEY", other)
    done = desk.command("checkpoint")
    assert (done.code, done.out) == (1, "")
    assert "which is no key that was given" in done.err


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("ONRECORD_SEALS", "", "set ONRECORD_SEALS"),
        ("ONRECORD_SEAL_KEY", "", "set ONRECORD_SEAL_KEY"),
        ("ONRECORD_SEAL_KEY", "/nowhere/seal.key", "cannot be read"),
        ("ONRECORD_SEALS", "nosuch://host/seals", "fsspec knows no place"),
        ("ONRECORD_SEALS", "/dev/null/seals", "the place of the seals, /dev/null/seals"),
        ("ONRECORD_SEAL_VKEY", "a+b+c", "a key is written NAME+ID+KEY"),
    ],
)
def test_what_is_missing_or_wrong_is_said_in_a_line(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, name: str, value: str, why: str
) -> None:
    monkeypatch.setenv(name, value)
    done = desk.command("seal")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("onrecord: ")
    assert why in done.err
    assert done.err.count("\n") == 1


def test_there_is_no_checkpoint_before_the_first_seal_nor_of_another_size(desk: Desk) -> None:
    done = desk.command("checkpoint")
    assert (done.code, "no checkpoint of shard 0 is there" in done.err) == (1, True)
    desk.command("seal")
    done = desk.command("checkpoint", "--at", "2")
    assert done.code == 1
    assert (
        "no checkpoint of size 2 of shard 0 is there: the only sizes that were sealed are 3"
        in done.err
    )
    assert "`onrecord seal`" not in done.err


def test_a_store_that_is_not_there_has_no_key(desk: Desk, tmp_path: Path) -> None:
    done = desk.command("seal-key", f"{desk.key}.2", "--url", f"sqlite:///{tmp_path / 'no.db'}")
    assert (done.code, "there is no store" in done.err) == (1, True)
    assert not Path(f"{desk.key}.2").exists()


def test_a_command_that_appends_seals_as_it_ends(desk: Desk) -> None:
    assert desk.command("redact", "support/4711", "2").code == 0
    assert (
        parse_checkpoint(
            verified(desk.command("checkpoint").out.encode(), [parse_public_key(desk.public)]).text
        ).size
        > 3
    )


def test_a_note_that_was_changed_is_not_printed(desk: Desk) -> None:
    desk.command("seal")
    (note,) = desk.place.rglob("checkpoint")
    note.write_bytes(note.read_bytes().replace(b"\n3\n", b"\n4\n"))
    done = desk.command("checkpoint")
    assert (done.code, done.out) == (1, "")
    with pytest.raises(CorruptRecord):
        verified(note.read_bytes(), [parse_public_key(desk.public)])


def test_a_key_beside_the_database_is_warned_of(desk: Desk, tmp_path: Path) -> None:
    assert "lies beside the database" in desk.command("seal-key", f"{desk.key}.2").err
    (tmp_path / "away").mkdir()
    done = desk.command("seal-key", str(tmp_path / "away" / "seal.key"))
    assert "lies beside the database" not in done.err


def test_a_key_that_signs_and_is_not_pinned_is_warned_of(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.command("seal")
    new = Path(f"{desk.key}.2")
    public = desk.command("seal-key", str(new)).out.strip()
    monkeypatch.setenv("ONRECORD_SEAL_KEY", str(new))
    monkeypatch.setenv("ONRECORD_SEAL_VKEY", desk.public)
    desk.say("Any news?")
    done = desk.command("seal")
    assert done.code == 0
    assert (
        f"is not among those in ONRECORD_SEAL_VKEY, so `onrecord verify` does not believe it: add {public}"
        in done.err
    )
    monkeypatch.setenv("ONRECORD_SEAL_VKEY", f"{desk.public} {public}")
    assert desk.command("seal").err == ""
    for command in (("checkpoint",), ("verify",), ("verify", "--vkey", f"{desk.public} {public}")):
        assert desk.command(*command).code == 0


def test_the_text_of_a_key_is_shown_by_no_command(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = desk.key.read_text().strip()
    secret = text.split("+", 4)[4]  # Base64, which may hold a plus itself.
    monkeypatch.setenv("ONRECORD_SEAL_KEY", text)
    for command in (("seal",), ("verify",), ("redact", "support/4711", "2")):
        done = desk.command(*command)
        assert secret not in done.out + done.err
