"""`onrecord erase --subject` on a command line: what it shows, asks, says and leaves."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import onrecord
from onrecord.adapters.encryption.local_keys import new_local_key
from tests.adapters.cli.command import Command, in_process

WHY = ("--rule", "GDPR 17(1)(b)", "--actor", "eve")


@pytest.fixture
def variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What the environment says of an encrypted store whose key-encryption key it has."""
    named = {
        "ONRECORD_URL": f"sqlite:///{tmp_path / 'talks.db'}",
        "ONRECORD_KEYS": str(tmp_path / "keys.db"),
        "ONRECORD_KEK": "env:MYKEK",
        "MYKEK": new_local_key().text(),
    }
    for name, value in named.items():
        monkeypatch.setenv(name, value)
    with onrecord.connect() as store:
        store.conversation("own", subjects=["ann"]).user("Hello")
        store.conversation("both", subjects=["ann", "ben"]).user("Hello")
    return named


@pytest.fixture
def command(
    variables: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Command]:
    return in_process(monkeypatch, capsys)


def test_what_waits_for_a_new_key_says_that_the_text_is_gone(
    command: Command, variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    erase = ("erase", "--subject", "ann", "--reason", "ticket 88", *WHY, "--yes")
    done = command(*erase)
    assert (done.code, done.out) == (1, "")
    for each in ("is destroyed", "is erased", "certificate waits", "put a new key first"):
        assert each in done.err
    new = new_local_key().text()
    monkeypatch.setenv("MYKEK", f"{new} {variables['MYKEK']}")
    assert "certificate waits" in command(*erase).err
    monkeypatch.setenv("MYKEK", new)
    assert command(*erase).document["reason"] == "ticket 88"
