"""An encrypted log on PostgreSQL whose keys are in another database: the whole way, and as a service."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import onrecord
from onrecord.adapters.encryption.key_file import KeyFile, new_key_file
from tests.adapters.cli.command import in_process
from tests.adapters.encryption.conftest import empty_database
from tests.contract.http_places import KEY, HttpPlace
from tests.contract.http_places import server as service
from tests.postgres_places import fresh_log
from tests.postgres_server import VERSIONS, server

CANARY = "the canary sings"


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of an encrypted log, whose keys the environment names."""
    log, keys = fresh_log(VERSIONS[-1]), empty_database(VERSIONS[-1])
    new_key_file(tmp_path / "kek")
    monkeypatch.setenv("ONRECORD_URL", log)
    monkeypatch.setenv("ONRECORD_KEYS", f"{keys}{'&' if '?' in keys else '?'}schema=support_keys")
    monkeypatch.setenv("ONRECORD_KEK", str(tmp_path / "kek"))
    yield log
    for each in (log, keys):
        server(VERSIONS[-1]).drop(each)


def texts(url: str, key: str) -> list[str]:
    """What a conversation says to who opens the log now."""
    with onrecord.connect(url) as store:
        return [turn.text for turn in store.get(key).history()]


def test_a_log_is_recorded_read_rotated_erased_and_verified(
    log: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with onrecord.connect(log) as store:
        for name in ("ana", "ben"):
            store.conversation(name, subjects=[name]).user(CANARY)
    assert texts(log, "ana") == [CANARY]
    command = in_process(monkeypatch, capsys)
    before = KeyFile(tmp_path / "kek").current()
    rotated = command("rotate-keys", "--json").document
    assert (rotated["rewrapped"], rotated["retired"]) == (2, [before])
    out = tmp_path / "ana.jsonl"
    assert command("export", "--subject", "ana", "-o", str(out)).code == 0
    assert CANARY in out.read_text("utf-8")
    why = ("--reason", "asked to", "--rule", "GDPR 17(1)(a)", "--actor", "eve", "--yes")
    assert command("erase", "--subject", "ana", *why).code == 0
    assert texts(log, "ben") == [CANARY]
    with onrecord.connect(log) as store:
        verified = store.verify()
        assert verified.is_whole
        assert not any("without a key" in each for each in verified.unchecked)
        assert store.subjects.conversations("ana") == []


def test_a_service_serves_it_to_clients_without_keys(
    log: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = HttpPlace(service().serve(log))
    monkeypatch.delenv("ONRECORD_KEYS")
    monkeypatch.delenv("ONRECORD_KEK")
    try:
        with onrecord.connect(place.url, key=KEY) as store:
            store.conversation("ana").user(CANARY)
            assert [turn.text for turn in store.get("ana").history()] == [CANARY]
    finally:
        place.remove()


def test_an_erasure_is_found_by_name_before_any_worker_folds_it(
    log: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with onrecord.connect(log) as store:
        store.conversation("zoe", subjects=["zoe"]).user(CANARY)
        store.subjects.erase("zoe", reason="asked to", rule="GDPR 17(1)(a)", actor="eve")
    command = in_process(monkeypatch, capsys)
    found = command("audit", "--subject", "zoe")
    assert [row[4] for row in found.columns] == ["erasure.completed", "erasure.intended"]
    assert {row[1] for row in found.columns} == {"eve"}
    assert "not folded" not in found.err
    filtered = command("audit", "--subject", "zoe", "--actor", "eve")
    assert (filtered.code, filtered.out) == (1, "")
    assert "an erasure may be missing" in filtered.err
    # A worker comes to the same.
    before = command("audit", "--subject", "zoe", "--json").document["entries"]
    assert command("worker", "--once").code == 0
    assert command("audit", "--subject", "zoe", "--json").document["entries"] == before
    nobody = command("audit", "--subject", "Zoe")
    assert (nobody.code, nobody.out) == (0, "")
    assert "no erasure under this digest" in nobody.err
