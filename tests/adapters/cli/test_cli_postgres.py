"""The command line on a PostgreSQL store: the same words, the same answers."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import onrecord
from onrecord.adapters.app import is_there
from tests.adapters.cli.command import Command, ended, in_process, started, url_of
from tests.adapters.histories.kept_histories import CHAT, written
from tests.postgres_places import fresh_log
from tests.postgres_server import VERSIONS, server

KEY = "support/4711"
VERSION = VERSIONS[-1]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return in_process(monkeypatch, capsys)


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    place = fresh_log(VERSION)
    monkeypatch.setenv("ONRECORD_URL", place)
    yield place
    server(VERSION).drop(place)


def test_a_conversation_moves_from_a_file_to_a_server_and_back(
    url: str, command: Command, tmp_path: Path
) -> None:
    local = url_of(tmp_path)
    with onrecord.connect(local) as store:
        store.conversation(KEY).user("What is this?", documents=[b"%PDF-1.7 report"])
    file = str(tmp_path / "chat.jsonl")
    command("export", KEY, "-o", file, "--url", local)
    assert command("import", file).out == f"2 events of {KEY} recorded.\n"
    assert command("import", file).out.startswith("Nothing new")
    assert command("request", KEY).out == command("request", KEY, "--url", local).out
    with onrecord.connect(url) as store:
        store.conversation(KEY).user("And this?")
    command("export", KEY, "-o", file, "--force")
    assert command("import", file, "--url", local).out == f"1 event of {KEY} recorded.\n"


def test_histories_of_other_programs_are_taken_in_once(
    url: str, command: Command, tmp_path: Path
) -> None:
    long = {"role": "user", "content": [{"type": "text", "text": "x" * 100_000}]}
    again = {"role": "tool", "tool_call_id": "call_1", "content": "Rain again"}
    kept = [*CHAT[:4], again, *CHAT[4:], long]
    for at_most, outcome, recorded in ((5, "recorded", 7), (9, "extended", 3), (9, "unchanged", 0)):
        path = written(tmp_path / "chat.json", kept[:at_most])
        (done,) = command("import", str(path), "--api", "openai-chat", "--json").documents
        assert (done["outcome"], done["recorded"]) == (outcome, recorded)
    sent = command("request", "chat", "--api", "openai-chat").document
    assert sent["messages"] == [*CHAT, long]
    assert command("verify", "chat").code == 0


def test_it_is_listed_shown_and_forgotten(url: str, command: Command) -> None:
    with onrecord.connect(url) as store:
        store.conversation(KEY).user("Hello")
    assert [row[0] for row in command("conversations").columns] == [KEY]
    assert [row[6] for row in command("show", KEY).columns] == [KEY, "Hello"]
    forgotten = command("forget", KEY, "--yes", "--reason", "asked to")
    assert forgotten.out.startswith("2 events erased")
    [tables] = re.findall(r"VACUUM \(FULL\) ([a-z_., ]+)", forgotten.err)
    named = {"onrecord.actor_name", "onrecord.blob", "onrecord.view_audit"}
    assert named <= set(tables.split(", "))
    assert "write-ahead log holds" in forgotten.err
    assert "VACUUM" not in command("sweep").err
    assert command("show", KEY).code == 1


def test_forks_of_what_is_forgotten_are_named(url: str, command: Command) -> None:
    with onrecord.connect(url) as store:
        store.conversation("older").user("Hello")
        chat = store.conversation(KEY)
        chat.user("Hello")
        chat.fork("fork").fork("fork of the fork")
        store.conversation("younger").user("Hello")
    told = command("forget", KEY, "--yes", "--reason", "asked to").err
    assert told.startswith("onrecord: 2 forks of it stayed, ")
    assert told.splitlines()[0].endswith(": fork of the fork, fork")


@pytest.mark.parametrize("looking", ["conversations", "verify", "views", "overview"])
def test_looking_makes_no_log_in_a_database(looking: str, command: Command) -> None:
    empty = server(VERSION).create("empty", lambda _: None)
    try:
        done = command(looking, "--url", empty)
        assert (done.code, done.out) == (1, "")
        assert done.err.startswith("onrecord: there is no store at postgresql://")
        assert not is_there(empty)
    finally:
        server(VERSION).drop(empty)


@pytest.mark.parametrize("secret", ["password=hush", "sslpassword=hush&application_name=talks"])
def test_a_password_beside_the_address_is_not_shown(
    url: str, secret: str, command: Command
) -> None:
    place = f"{url}{'&' if '?' in url else '?'}{secret}"
    with onrecord.connect(place) as store:
        assert "hush" not in store.url
        assert ("application_name=talks" in store.url) == ("application_name" in secret)
    assert "hush" not in command("show", "nothing", "--url", place).err


def test_a_schema_is_made_by_migrating(command: Command) -> None:
    place = server(VERSION).create("empty", lambda _: None)
    assert command("migrate", "--url", place, "--json").document["steps"] > 0
    assert command("migrate", "--url", place, "--json").document == {"steps": 0}
    server(VERSION).drop(place)


def test_events_are_told_as_they_come(url: str) -> None:
    keys = {f"conversation {number}" for number in range(20)}
    with onrecord.connect(url) as store:
        for key in keys:
            store.conversation(key).user("Hello")
    process = started("tail", "--from-start", "--json")
    assert process.stdout is not None
    told = [json.loads(process.stdout.readline()) for _ in range(40)]
    assert {event["body"]["key"] for event in told if event["version"] == 1} == keys
    assert ended(process).code == 0


def test_a_server_that_is_not_there_is_one_line_without_the_password(command: Command) -> None:
    done = command("conversations", "--url", "postgresql://me:secret@127.0.0.1:1/nothing")
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert "secret" not in done.err
