"""`onrecord erase --subject` on a command line: what it shows, asks, says and leaves."""

from pathlib import Path

import pytest

import onrecord
from onrecord.adapters.encryption.local_keys import new_local_key
from tests.adapters.cli.command import Command, in_process, on_a_terminal

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
) -> Command:
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


def test_an_erasure_says_what_must_be_backed_up_now(
    command: Command, variables: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "kek"
    file.touch(mode=0o600)
    file.write_text(variables["MYKEK"] + "\n")
    monkeypatch.setenv("ONRECORD_KEK", str(file))
    erase = ("erase", "--subject", "ann", "--reason", "ticket 88", *WHY, "--yes")
    assert "Back up the key-encryption key and the key store now" in command(*erase).err
    assert "Back up" not in command(*erase).err


def test_who_was_erased_before_has_the_certificate_of_then_and_is_told_so(
    command: Command, variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    erase = ("erase", "--subject", "ann", *WHY, "--yes", "--reason")
    new = new_local_key().text()
    for keys in (variables["MYKEK"], f"{new} {variables['MYKEK']}", new):
        monkeypatch.setenv("MYKEK", keys)
        command(*erase, "ticket 88")
    done = command(*erase, "ticket 89")
    day = done.document["completed_at"][:10]
    assert done.document["reason"] == "ticket 88"
    assert f"Nothing was said since: this is the certificate of {day}" in done.err
    assert "No other reason and no other rule is recorded." in done.err


def test_a_dry_run_says_which_conversations_go_for_others_as_well(command: Command) -> None:
    done = command("erase", "--subject", "ann", *WHY, "--dry-run")
    assert {row[1] for row in done.columns} == {"own", "both"}
    assert "1 conversation is about others too, and goes for them as well: both" in done.err
    alone = command("erase", "--subject", "ann", *WHY, "--dry-run", "--json")
    assert [sorted(line) for line in alone.documents] == [
        ["conversation", "events", "hold", "key"]
    ] * 2


def test_a_key_that_is_not_destroyed_is_not_taken_for_one(command: Command) -> None:
    erase = ("erase", "--subject", "ann", *WHY, "--reason", "ticket 88", "--destroyed-key", "none")
    refused = command(*erase, "--yes")
    assert (refused.code, refused.out) == (1, "")
    assert "no destroyed key" in refused.err
    assert command(*erase, "--dry-run").code == 2
    with onrecord.connect() as store:
        assert len(store.subjects.conversations("ann")) == 2


@pytest.mark.usefixtures("variables")
def test_a_dry_run_on_a_terminal_has_headings() -> None:
    shown = on_a_terminal("erase", "--subject", "ann", *WHY, "--dry-run", columns=120)
    assert "conversation" in shown.splitlines()[0] + shown.splitlines()[1]
    assert "events" in shown
    assert "\t" not in shown


def test_the_question_names_the_subject_and_the_rule(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def confirm(text: str, **_: object) -> None:
        asked.append(text)

    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("typer.confirm", confirm)
    command("erase", "--subject", "ann", "--reason", "ticket 88", *WHY)
    (question,) = asked
    for each in (
        "eve",
        "'ticket 88'",
        "'GDPR 17(1)(b)'",
        "'ann'",
        "2 conversations",
        "about others",
    ):
        assert each in question
