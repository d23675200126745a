"""Names of actors in the audit and on the command line, and what is left of one that was forgotten."""

from pathlib import Path

import pytest

import onrecord
from onrecord.adapters.store import backend_of
from onrecord.domain.actors import actor_id
from tests.adapters.cli.command import Command, in_process, url_of

NAME = "wilhelmina.of.depot.north@example.org"


@pytest.fixture
def url(tmp_path: Path) -> str:
    with onrecord.connect(url_of(tmp_path)) as store:
        for name in (NAME, "bob"):
            chat = store.conversation(f"support/{name[0]}", actor=name)
            chat.user("Where is my parcel?")
    return url_of(tmp_path)


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return in_process(monkeypatch, capsys)


def test_views_take_and_give_names_until_they_are_forgotten(url: str) -> None:
    with onrecord.connect(url) as store:
        deeds = store.views.audit(actor=NAME)
        assert [deed.actor_name for deed in deeds] == [NAME, NAME]
        (overview,) = store.views.conversations(actor=NAME)
        assert overview.participant_names == (NAME,)
        store.forget_actor(NAME, reason="asked to", actor="eve")
        forgotten = store.views.audit(actor=NAME)
        assert [deed.actor for deed in forgotten] == [deed.actor for deed in deeds]
        assert {deed.actor_name for deed in forgotten} == {None}
        (overview,) = store.views.conversations(actor=NAME)
        assert (overview.participant_names, len(overview.participants)) == ((), 1)
        assert {deed.actor_name for deed in store.views.audit(actor="bob")} == {"bob"}


def test_the_audit_shows_names_and_afterwards_digits(url: str, command: Command) -> None:
    digest = command("audit", "--actor", NAME, "--url", url, "--json").document["entries"][0][
        "actor"
    ]
    assert [row[1] for row in command("audit", "--actor", NAME, "--url", url).columns] == [NAME] * 2
    said = ("--reason", "asked to", "--actor", "eve", "--yes")
    done = command("forget-actor", NAME, *said, "--url", url)
    assert done.out == "The name is erased; the digest of it stays.\n"
    shown = command("audit", "--actor", NAME, "--url", url)
    assert [row[1] for row in shown.columns] == [digest[:8]] * 2
    whole = command("audit", "--url", url)
    assert NAME not in whole.out
    (intent,) = [row for row in whole.columns if row[4] == "erasure.intended"]
    assert intent[-3] == f"eve (the name of {digest[:8]}): asked to"
    again = command("forget-actor", NAME, *said, "--url", url)
    assert again.code != 0
    assert "no such name" in again.err


def test_a_timeline_shows_names_and_afterwards_digits(url: str, command: Command) -> None:
    key = f"support/{NAME[0]}"
    assert [row[-1] for row in command("show", key, "--url", url).columns] == [NAME] * 2
    (_, prompt) = command("show", key, "--json", "--url", url).documents
    assert (prompt["actor_name"], prompt["on_behalf_of"]) == (NAME, None)
    command("forget-actor", NAME, "--reason", "asked to", "--actor", "eve", "--yes", "--url", url)
    assert [row[-1] for row in command("show", key, "--url", url).columns] == [
        prompt["actor"][:8]
    ] * 2
    (_, later) = command("show", key, "--json", "--url", url).documents
    assert (later["actor"], later["actor_name"]) == (prompt["actor"], None)


def test_json_has_the_digest_and_the_name(url: str, command: Command) -> None:
    (entry, _) = command("audit", "--actor", NAME, "--url", url, "--json").document["entries"]
    assert (len(entry["actor"]), entry["actor_name"]) == (32, NAME)


def test_a_name_is_forgotten_by_the_id_of_its_erasure_too(url: str) -> None:
    """What a list of erasures names is erased again where a backup was put back."""
    with onrecord.connect(url) as store:
        id_ = actor_id(store.tenant, backend_of(store).digest(NAME))
        store.forget_actor(str(id_), reason="before a restore", actor="eve")
        assert store.erasures()[0].conversation_id == id_
        assert {deed.actor_name for deed in store.views.audit()} == {None, "bob"}


def test_no_file_holds_a_forgotten_name(url: str, tmp_path: Path) -> None:
    def holding() -> list[str]:
        return [path.name for path in tmp_path.iterdir() if NAME.encode() in path.read_bytes()]

    with onrecord.connect(url) as store:
        list(store.views.audit())
        assert holding() != []
        done = store.forget_actor(NAME, reason="asked to", actor="eve")
        assert done.events == 0
        assert len(done.residue) == 2
        assert holding() == []
        assert store.sweep().residue == ()
        assert holding() == []
        assert store.verify(views=True).faults == ()
