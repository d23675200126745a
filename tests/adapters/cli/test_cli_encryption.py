"""What the command line says of the keys of an encrypted store: where they are, and what to do with them."""

from pathlib import Path

import pytest

import onrecord
from onrecord.adapters.encryption.key_file import KeyFile, new_key_file
from onrecord.adapters.encryption.local_keys import new_local_key
from onrecord.adapters.seals.key_files import make_key_file
from onrecord.adapters.store import backend_of
from onrecord.domain.seals.checkpoint import key_name_of, log_id_of
from onrecord.errors import StorageUnavailable
from tests.adapters.cli.command import Command, in_process

KEY = "support/4711"


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """The command line of an encrypted store that is not there yet; its key file is."""
    monkeypatch.chdir(tmp_path)
    new_key_file(tmp_path / "kek")
    monkeypatch.setenv("ONRECORD_URL", f"sqlite:///{tmp_path / 'talks.db'}")
    monkeypatch.setenv("ONRECORD_KEYS", str(tmp_path / "keys.db"))
    monkeypatch.setenv("ONRECORD_KEK", str(tmp_path / "kek"))
    return in_process(monkeypatch, capsys)


def said() -> None:
    with onrecord.connect() as store:
        store.conversation(KEY).user("Where is my parcel?")


def test_a_program_with_the_key_of_before_a_rotation_is_told_to_take_the_new_one(
    run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said()
    elsewhere = tmp_path / "copy"
    elsewhere.write_bytes((tmp_path / "kek").read_bytes())
    elsewhere.chmod(0o600)
    old = KeyFile(elsewhere).current()
    assert run("rotate-keys").code == 0
    new = KeyFile(tmp_path / "kek").current()
    monkeypatch.setenv("ONRECORD_KEK", str(elsewhere))
    with onrecord.connect() as store, pytest.raises(StorageUnavailable) as refused:
        _ = store.conversation(KEY).history()[0].text
    assert f"{elsewhere} holds {old}, and the key store needs {new}" in str(refused.value)
    assert "rotated, copy the new key-encryption key here" in str(refused.value)


def test_a_wrong_key_in_the_environment_is_named_by_its_variable(
    run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    said()
    other = new_local_key()
    monkeypatch.setenv("OTHER", other.text())
    monkeypatch.setenv("ONRECORD_KEK", "env:OTHER")
    refused = run("show", KEY)
    assert refused.code == 1
    assert f"$OTHER holds {other.generation}, and the key store needs kek-" in refused.err


def test_a_rotation_says_what_to_back_up_now(run: Command, tmp_path: Path) -> None:
    said()
    places = f"Back up {tmp_path / 'kek'} and {tmp_path / 'keys.db'} now"
    assert run("rotate-keys").err.startswith(places)


def test_a_key_whose_folder_is_not_there_is_not_made(run: Command) -> None:
    refused = run("kek", "nowhere/kek")
    assert refused.code == 1
    assert "make its folder first" in refused.err


@pytest.mark.parametrize("setting", ["ONRECORD_KEK", "ONRECORD_KEYS"])
def test_no_log_is_made_whose_keys_cannot_be_reached(
    run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    monkeypatch.setenv(setting, str(tmp_path / "nowhere" / "keys"))
    with pytest.raises(StorageUnavailable, match="nowhere"):
        onrecord.connect()
    assert not (tmp_path / "talks.db").exists()


def test_a_log_in_clear_says_how_to_read_it_where_keys_are_named(run: Command) -> None:
    with onrecord.connect(keys="", kek="") as store:
        store.conversation(KEY).user("Where is my parcel?")
    assert "unset ONRECORD_KEYS and ONRECORD_KEK to read it" in run("show", KEY).err


def test_an_export_of_an_encrypted_conversation_says_that_it_is_ciphertext(
    run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    said()
    assert "holds ciphertext, which no other store imports" in run("export", KEY).err
    with onrecord.connect("sqlite:///clear.db", keys="", kek="") as store:
        store.conversation(KEY).user("Where is my parcel?")
    monkeypatch.delenv("ONRECORD_KEYS")
    monkeypatch.delenv("ONRECORD_KEK")
    assert run("export", KEY, "--url", "sqlite:///clear.db").err == ""


def test_the_evidence_of_an_encrypted_store_says_that_it_shows_no_text(
    run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said()
    with onrecord.connect() as store:
        name = key_name_of(log_id_of(backend_of(store).digest))
    make_key_file(tmp_path / "seal.key", name)
    monkeypatch.setenv("ONRECORD_SEAL_KEY", "seal.key")
    monkeypatch.setenv("ONRECORD_SEALS", "seals")
    done = run("evidence", KEY, "--out", "4711.evidence", "--seal")
    assert (done.code, "shows no text" in done.err) == (0, True)
