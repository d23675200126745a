"""A log is compared with what places keep of it, and what cannot be compared is never well."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import onrecord
from onrecord.adapters.presentation.verification import sealed_line
from onrecord.adapters.seals.places import Folder, Place
from onrecord.adapters.seals.sealing import Sealer
from onrecord.adapters.seals.signing import new_key
from onrecord.adapters.seals.trust import Seals, TrustedKeys
from onrecord.adapters.store import backend_of
from onrecord.adapters.terminal.verified_listing import write_verified
from onrecord.adapters.upkeep.verified import Verified, VerifiedSeal
from onrecord.adapters.upkeep.verifying import verify_log
from onrecord.domain.errors import InvalidInput
from onrecord.domain.seals.checkpoint import key_name_of, log_id_of
from onrecord.domain.seals.notes import PrivateKey
from tests.adapters.cli.command import Command, in_process, url_of


@pytest.fixture
def url(tmp_path: Path) -> str:
    return url_of(tmp_path)


@pytest.fixture
def store(url: str) -> Iterator[onrecord.Store]:
    with onrecord.connect(url) as store:
        yield store


@pytest.fixture
def key(store: onrecord.Store) -> PrivateKey:
    return new_key(key_name_of(log_id_of(backend_of(store).digest)))


@pytest.fixture
def folder(tmp_path: Path, store: onrecord.Store, key: PrivateKey) -> Path:
    """A place at which 301 events are sealed, in three steps."""
    place = tmp_path / "seals"
    for count in (1, 255, 44):
        say(store, count)
        seal(store, key, Folder(place))
    return place


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return in_process(monkeypatch, capsys)


def say(store: onrecord.Store, count: int) -> None:
    chat = store.conversation("support/4711")
    for number in range(count):
        chat.user(f"prompt {number}")


def seal(store: onrecord.Store, key: PrivateKey, place: Place) -> None:
    Sealer(backend_of(store), key, [place]).seal()


def verified(store: onrecord.Store, key: PrivateKey, *places: Path | str) -> Verified:
    return store.verify(seals=[str(place) for place in places], vkeys=[str(key.public)])


def test_each_checkpoint_and_each_tile_is_compared(
    store: onrecord.Store, key: PrivateKey, folder: Path
) -> None:
    say(store, 2)
    found = verified(store, key, folder)
    assert found.is_whole
    (own,) = found.seals
    assert (own.size, own.pending, own.checkpoints) == (301, 2, 3)
    assert any("was pinned" in sentence for sentence in found.checked)


def test_every_kept_file_is_missed_if_it_goes_or_changes_but_those_that_were_followed(
    store: onrecord.Store, key: PrivateKey, folder: Path
) -> None:
    unnoticed: set[str] = set()
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        data = path.read_bytes()
        path.write_bytes(data[:-5] + bytes([data[-5] ^ 1]) + data[-4:])
        changed = verified(store, key, folder).is_whole
        path.unlink()
        if changed or verified(store, key, folder).is_whole:
            unnoticed.add("/".join(path.parts[len(folder.parts) + 2 :]))
        path.write_bytes(data)
    assert unnoticed == {
        *(f"checkpoints/{size:020d}" for size in (2, 257)),
        *(f"tile/0/{name}" for name in ("000.p/2", "001.p/1")),
    }


@pytest.mark.parametrize("number", [1, 256, 257, 301])
def test_the_first_wrong_position_is_named_in_every_tile(
    store: onrecord.Store,
    key: PrivateKey,
    folder: Path,
    number: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    inventory = type(backend_of(store).inventory())
    read = inventory.log

    def forged(*arguments: object) -> object:
        page = read(*arguments)  # type: ignore[arg-type]  # as it was called
        return [
            each._replace(event=each.event._replace(leaf=bytes(32)))
            if each.event.position >= number
            else each
            for each in page
        ]

    monkeypatch.setattr(inventory, "log", forged)
    whys = [fault.why for fault in verified(store, key, folder).faults]
    assert any(f"was rewritten: position {number} is the first" in why for why in whys)


def test_what_is_sealed_meanwhile_is_no_fault(
    store: onrecord.Store, key: PrivateKey, folder: Path
) -> None:
    looked_at: list[int] = []

    def meanwhile(done: int, total: int) -> None:
        if not looked_at:
            say(store, 3)
            seal(store, key, Folder(folder))
        looked_at.append(done)

    seals = Seals((Folder(folder),), TrustedKeys((key.public,), is_pinned=True))
    found = verify_log(backend_of(store), seals=seals, progress=meanwhile)
    assert found.faults == ()
    assert [seal.size for seal in found.seals] == [301]


def test_a_place_that_cannot_be_read_is_not_checked(
    store: onrecord.Store, key: PrivateKey, folder: Path, tmp_path: Path
) -> None:
    no_folder = tmp_path / "file"
    no_folder.write_text("a file", "utf-8")
    found = verified(store, key, folder, no_folder)
    assert found.faults == ()
    assert not found.is_whole
    assert [seal.is_checked for seal in found.seals] == [True, False]
    assert any(f"{no_folder}" in sentence for sentence in found.unchecked)


def test_a_place_whose_library_fails_in_its_own_way_is_not_checked(
    store: onrecord.Store, key: PrivateKey, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise RuntimeError("the bucket's own words")

    monkeypatch.setattr("fsspec.implementations.memory.MemoryFileSystem.ls", refused)
    found = verified(store, key, folder, "memory://bucket")
    assert found.faults == ()
    assert not found.is_whole
    (why,) = found.unchecked
    assert why == "the seals of the log: the place of the seals, memory://bucket: RuntimeError"


def test_a_place_of_another_log_is_a_fault(
    store: onrecord.Store, key: PrivateKey, folder: Path, tmp_path: Path
) -> None:
    with onrecord.connect("memory://") as other:
        say(other, 3)
        (fault,) = verified(other, key, folder).faults
    assert fault.why == f"nothing of shard 0 of this log is sealed at {folder}"
    own = next(folder.iterdir())
    with onrecord.connect("memory://") as other:
        say(other, 3)
        (tmp_path / "moved").mkdir()
        own.rename(tmp_path / "moved" / str(log_id_of(backend_of(other).digest)))
        whys = [fault.why for fault in verified(other, key, tmp_path / "moved").faults]
    assert whys
    assert all("is of onrecord.log/" in why for why in whys)


def test_a_note_that_nobody_signed_is_a_fault(
    store: onrecord.Store, key: PrivateKey, folder: Path
) -> None:
    (last,) = folder.rglob("checkpoint")
    last.write_text("sealed, believe me\n", "utf-8")
    (fault,) = verified(store, key, folder).faults
    assert "this is no signed note" in fault.why


def test_a_shard_that_the_log_does_not_have_is_a_fault(
    store: onrecord.Store, key: PrivateKey, folder: Path
) -> None:
    (next(folder.iterdir()) / "7").mkdir()
    (fault,) = verified(store, key, folder).faults
    assert fault.why == f"the log has no shard 7, of which {folder} keeps seals"


def test_seals_of_one_conversation_are_refused(store: onrecord.Store, key: PrivateKey) -> None:
    say(store, 1)
    with pytest.raises(InvalidInput, match="a seal is a shard's"):
        store.verify("support/4711", seals=["anywhere"])


def test_the_environment_names_places_and_keys(
    store: onrecord.Store,
    key: PrivateKey,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ONRECORD_SEALS", str(folder))
    assert not store.verify().is_whole
    file = tmp_path / "private"
    file.write_text(key.encode(), "utf-8")
    file.chmod(0o600)
    monkeypatch.setenv("ONRECORD_SEAL_KEY", str(file))
    found = store.verify()
    assert found.is_whole
    assert [seal.is_pinned for seal in found.seals] == [False]
    assert any("it came with the private key that is here" in why for why in found.unchecked)
    monkeypatch.setenv("ONRECORD_SEAL_VKEY", str(key.public))
    assert [seal.is_pinned for seal in store.verify().seals] == [True]


def test_a_key_file_that_cannot_be_read_is_named(
    store: onrecord.Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONRECORD_SEALS", str(tmp_path))
    monkeypatch.setenv("ONRECORD_SEAL_KEY", str(tmp_path / "none"))
    with pytest.raises(InvalidInput, match="cannot be read"):
        store.verify()


def test_the_command_says_how_far_each_shard_is_sealed(
    store: onrecord.Store, key: PrivateKey, folder: Path, url: str, command: Command
) -> None:
    where = ("--seals", str(folder), "--vkey", str(key.public), "--url", url)
    done = command("verify", *where)
    assert done.code == 0
    assert f"shard 0 is sealed to 301 at {folder} (" in done.err
    assert "), 0 not yet" in done.err
    (own,) = command("verify", *where, "--json").document["seals"]
    assert (own["size"], own["pending"], own["pinned"], own["checked"]) == (301, 0, True, True)
    assert own["keys"] == [str(key.public)]


def test_the_command_does_not_say_that_all_holds_where_no_key_is_known(
    store: onrecord.Store, folder: Path, url: str, command: Command
) -> None:
    done = command("verify", "--seals", str(folder), "--url", url)
    assert done.code == 1
    assert "no fault, but the seals could not be checked" in done.err
    assert "no public key is known" in done.err
    assert "all of it holds" not in done.out + done.err


def test_a_folder_that_is_not_there_is_not_checked(
    store: onrecord.Store, key: PrivateKey, folder: Path, tmp_path: Path
) -> None:
    found = verified(store, key, folder, tmp_path / "nowhere")
    assert (found.faults, found.is_whole) == ((), False)
    assert any("nowhere: No such file" in why for why in found.unchecked)
    (tmp_path / "nowhere").mkdir()
    (fault,) = verified(store, key, folder, tmp_path / "nowhere").faults
    assert fault.why.startswith("nothing of shard 0 of this log is sealed at ")


def test_a_place_that_has_more_than_the_log_is_told_apart_from_one_that_has_less(
    store: onrecord.Store, key: PrivateKey, folder: Path
) -> None:
    (own,) = verified(store, key, folder).seals
    assert (own.size, own.largest) == (301, 301)
    done = VerifiedSeal(0, "/mnt/seals", 16, None, 4, 2, (), True, True, 18)
    assert sealed_line(done) == "shard 0 holds up to 16 of 18 sealed at /mnt/seals"


@pytest.mark.parametrize(
    ("count", "said"), [(1, "1 recorded retention class:"), (3, "3 recorded retention classes:")]
)
def test_retention_classes_are_counted_in_plain_words(
    count: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_verified(Verified(1, 0, 1, (), recorded_classes=count), ())
    assert said in capsys.readouterr().out
