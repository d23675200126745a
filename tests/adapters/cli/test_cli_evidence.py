"""`onrecord proof`, `onrecord evidence` and `onrecord-verify`: from a store to an auditor's machine."""

import importlib.util
import json
import subprocess
import sys
import venv
from pathlib import Path

import pytest

import onrecord
from onrecord.adapters.seals.key_files import make_key_file
from onrecord.adapters.seals.signing import new_key
from onrecord.adapters.store import backend_of
from onrecord.domain.seals.checkpoint import key_name_of, log_id_of
from tests.adapters.cli.command import Command, in_process
from tests.adapters.transfer.bundles import ended

KEY = "support/4711"
VERIFIER = Path(__file__).parents[3] / "src" / "onrecord_verify.py"


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return in_process(monkeypatch, capsys)


@pytest.fixture(autouse=True)
def vkey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The public key of a store with a conversation, which nobody sealed yet."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ONRECORD_URL", "sqlite:///talks.db")
    with onrecord.connect() as store:
        chat = store.conversation(KEY)
        chat.instruct("Be kind.")
        chat.user("Where is it?", documents=[b"%PDF the waybill"])
        name = key_name_of(log_id_of(backend_of(store).digest))
    key = make_key_file(tmp_path / "key", name)
    monkeypatch.setenv("ONRECORD_SEALS", "seals")
    monkeypatch.setenv("ONRECORD_SEAL_KEY", "key")
    return str(key.public)


def verified(python: Path | str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the verifier where nothing of ours can be imported."""
    return subprocess.run(
        [python, "-I", VERIFIER, *arguments], capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def auditors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that holds the library `cryptography`, and nothing else."""
    folder = tmp_path_factory.mktemp("auditor")
    venv.create(folder, with_pip=False)
    (packages,) = folder.glob("lib/python*/site-packages")
    for name in ("cryptography", "cffi", "_cffi_backend"):
        found = importlib.util.find_spec(name)
        assert found is not None
        assert found.origin is not None
        origin = Path(found.origin)
        source = origin.parent if origin.name == "__init__.py" else origin
        (packages / source.name).symlink_to(source)
    return folder / "bin" / "python"


def test_an_auditor_needs_the_file_the_verifier_and_the_key(
    command: Command, auditors: Path, vkey: str
) -> None:
    done = command("evidence", KEY, "--out", "4711.evidence", "--seal")
    assert (done.code, done.err) == (0, "")
    assert "The evidence is in 4711.evidence" in done.out
    ours = "import onrecord, onrecord_verify"
    alone = subprocess.run([auditors, "-I", "-c", ours], capture_output=True, check=False)
    assert b"ModuleNotFoundError" in alone.stderr
    checked = verified(auditors, "4711.evidence", "--key", vkey)
    assert (checked.returncode, checked.stderr) == (0, "")
    assert "Conversations: 1, each from version 1 on without a gap. Events: 3," in checked.stdout
    assert "Not proved: " in checked.stdout
    keyless = verified(auditors, "4711.evidence")
    assert (keyless.returncode, "are required: --key" in keyless.stderr) == (2, True)


def test_another_key_or_another_byte_proves_nothing(command: Command, vkey: str) -> None:
    command("evidence", KEY, "--out", "4711.evidence", "--seal")
    other = str(new_key(vkey.split("+")[0]).public)
    checked = verified(sys.executable, "4711.evidence", "--key", other)
    assert (checked.returncode, checked.stdout) == (1, "")
    assert checked.stderr == (
        "NOT PROVED: line 3: the checkpoint is signed by no key of this log that was given\n"
    )
    Path("4711.evidence").write_bytes(Path("4711.evidence").read_bytes().replace(b"kind", b"rude"))
    checked = verified(sys.executable, "4711.evidence", "--key", vkey)
    assert (checked.returncode, checked.stdout) == (1, "")
    assert "the digest is not that of salt and body" in checked.stderr
    malformed = verified(sys.executable, "4711.evidence", "--key", "none")
    assert (malformed.returncode, "--key: a public key is written NAME" in malformed.stderr) == (
        2,
        True,
    )
    assert verified(sys.executable, "nowhere", "--key", vkey).returncode == 2


def test_evidence_of_a_tenant_goes_to_standard_output_too(command: Command, vkey: str) -> None:
    done = command("evidence", "--tenant", "--since", "2020-01-01", "--out", "-", "--seal")
    Path("all.evidence").write_text(done.out, encoding="utf-8")
    assert verified(sys.executable, "all.evidence", "--key", vkey).returncode == 0


def test_a_file_that_is_there_stays(command: Command) -> None:
    Path("4711.evidence").write_text("mine")
    done = command("evidence", KEY, "--out", "4711.evidence", "--seal")
    assert (done.code, Path("4711.evidence").read_text()) == (1, "mine")
    done = command("evidence", KEY, "--out", "talks.db", "--seal")
    assert (done.code, "is a file of the store itself" in done.err) == (1, True)


def test_what_is_not_sealed_is_refused_and_no_file_is_written(command: Command) -> None:
    done = command("evidence", KEY, "--out", "4711.evidence")
    assert done.code == 1
    assert "is not sealed yet: seal the log first (--seal)" in done.err
    assert not Path("4711.evidence").exists()


def test_evidence_in_json_says_where_it_is(command: Command) -> None:
    done = command("evidence", KEY, "--out", "4711.evidence", "--seal", "--json")
    size = Path("4711.evidence").stat().st_size
    assert done.document == {"file": "4711.evidence", "bytes": size}


def test_nobody_seals_or_proves_without_a_place_and_a_key(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ONRECORD_SEAL_KEY")
    assert "no key is known" in command("proof", KEY, "1").err
    monkeypatch.delenv("ONRECORD_SEALS")
    assert "no place is named for seals" in command("proof", KEY, "1").err


def test_the_proof_of_an_event_is_that_of_its_version_and_of_its_id(
    command: Command, vkey: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    command("evidence", KEY, "--out", "4711.evidence", "--seal")
    monkeypatch.delenv("ONRECORD_SEAL_KEY")
    of_version = command("proof", KEY, "2", "--vkey", vkey).out
    assert of_version.startswith("c2sp.org/tlog-proof@v1\nindex 1\n")
    event = json.loads(json.loads(Path("4711.evidence").read_text().splitlines()[4])["header"])
    assert event["type"] == "conversation.started"
    of_id = command("proof", KEY, event["event"], "--vkey", vkey).out
    assert of_id.startswith("c2sp.org/tlog-proof@v1\nindex 0\n")
    assert "has no such event" in command("proof", KEY, "9", "--vkey", vkey).err
    assert command("proof", KEY, "nine", "--vkey", vkey).code == 2


def test_the_consistency_of_two_checkpoints_is_written_for_a_witness(command: Command) -> None:
    command("evidence", KEY, "--out", "first.evidence", "--seal")
    with onrecord.connect() as store:
        store.conversation(KEY).user("Thank you.")
    command("evidence", KEY, "--out", "second.evidence", "--seal")
    done = command("proof", "--consistency", "3", "4", "--shard", "0")
    assert done.out.startswith("old 3\n")
    assert "\n\nonrecord.log/" in done.out
    assert "has no checkpoint of size 2" in command("proof", "--consistency", "2", "4").err
    assert command("proof", "--consistency", "4", "3").code == 1


def test_a_proof_is_of_an_event_or_of_two_checkpoints(command: Command) -> None:
    assert command("proof").code == 2
    assert command("proof", KEY).code == 2
    assert command("proof", KEY, "1", "--consistency", "3", "4").code == 2
    assert command("evidence", "--out", "x").code == 2
    assert command("evidence", KEY, "--tenant", "--out", "x").code == 2
    assert command("evidence", KEY, "--since", "2026-01-01", "--out", "x").code == 2
    period = ("--since", "2026-01-02", "--until", "2026-01-01")
    assert command("evidence", "--tenant", *period, "--out", "x").code == 2


def test_a_time_without_conversations_is_refused_and_no_file_is_written(command: Command) -> None:
    done = command("evidence", "--tenant", "--until", "2020-01-01", "--out", "x", "--seal")
    assert (done.code, "there is nothing to prove" in done.err) == (1, True)
    assert not Path("x").exists()


def test_what_was_left_out_is_counted(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    command("evidence", KEY, "--out", "first.evidence", "--seal")
    monkeypatch.delenv("ONRECORD_SEAL_KEY")
    with onrecord.connect() as store:
        store.conversation(KEY).user("Thank you.")
    monkeypatch.setenv("ONRECORD_SEAL_KEY", "key")
    done = command("evidence", KEY, "--out", "second.evidence", "--partial", "--json")
    assert "1 event left out" in done.err
    assert '"unsealed":1' in done.out.replace(" ", "")


def test_the_help_of_the_verifier_says_what_its_exit_codes_mean() -> None:
    text = verified(sys.executable, "--help").stdout
    assert all(f"{code}, " in text for code in range(3))


def test_a_request_that_is_not_shown_is_no_success(command: Command, vkey: str) -> None:
    with onrecord.connect() as store:
        chat = store.conversation("asked")
        chat.user("Where is it?")
        chat.record_request({"model": "m", **chat.request("openai-chat")}, api="openai-chat")
    command("evidence", "asked", "--out", "asked.evidence", "--seal")
    assert verified(sys.executable, "asked.evidence", "--key", vkey).returncode == 0
    *lines, _ = Path("asked.evidence").read_bytes().splitlines(keepends=True)
    left = [line for line in lines if not line.startswith(b'{"blob":')]
    assert len(left) < len(lines)
    Path("cut.evidence").write_bytes(ended(left))
    cut = verified(sys.executable, "cut.evidence", "--key", vkey)
    assert (
        cut.returncode,
        "The file does not hold. Requests that were sent and are not shown: 1;" in cut.stdout,
    ) == (1, True)


def test_without_its_library_the_verifier_says_what_to_install(command: Command, vkey: str) -> None:
    command("evidence", KEY, "--out", "4711.evidence", "--seal")
    words = (sys.executable, "-I", "-S", VERIFIER, "4711.evidence", "--key", vkey)
    alone = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (alone.returncode, "`cryptography` is missing" in alone.stderr) == (2, True)
