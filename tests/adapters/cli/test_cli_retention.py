"""`onrecord holds`, `retention`, `expire`, and `forget` of many."""

from __future__ import annotations

import sqlite3
from datetime import timedelta
from pathlib import Path

import pytest

import onrecord
from onrecord.adapters.storage.sqlite.sqlite import Sqlite
from tests.adapters.cli.command import Command, in_process, on_a_terminal, url_of

RULE = "EU AI Act 19(1)"


@pytest.fixture
def command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Command:
    monkeypatch.setenv("ONRECORD_ACTOR", "ana")
    monkeypatch.setenv("ONRECORD_URL", url_of(tmp_path))
    with onrecord.connect(url_of(tmp_path)) as store:
        for key in ("support/1", "support/2", "sales/1"):
            store.conversation(key).user("swordfish")
    return in_process(monkeypatch, capsys)


def later(monkeypatch: pytest.MonkeyPatch, age: timedelta) -> None:
    """Let the log's clock be ahead."""
    real, ahead = Sqlite.clock, age // timedelta(microseconds=1)

    def clock(log: Sqlite) -> int:
        return real(log) + ahead

    monkeypatch.setattr(Sqlite, "clock", clock)


def placed(command: Command, *on: str) -> str:
    done = command("holds", "place", *on, "--matter", "Smith v. Example", "--reason", "claim")
    assert done.code == 0, done.err
    return done.out.strip()


def test_a_hold_is_placed_listed_obeyed_and_lifted(command: Command) -> None:
    id_ = placed(command, "support/1")
    assert command("holds", "list").columns[0][:2] == [id_, "Smith v. Example"]
    refused = command("forget", "support/1", "--yes", "--reason", "asked to")
    assert refused.code == 1
    assert id_ in refused.err
    assert "Smith v. Example" in refused.err
    done = command("holds", "lift", id_, "--reason", "settled", "--actor", "ben")
    assert (done.code, done.out) == (0, f"{id_} is lifted.\n")
    assert command("holds", "list").out == ""
    (hold,) = command("holds", "list", "--lifted", "--json").documents
    assert (hold["placed_by"], hold["lifted_by"], hold["lifted_for"]) == ("ana", "ben", "settled")
    assert command("forget", "support/1", "--yes", "--reason", "asked to").code == 0


def test_the_audit_tells_of_holds_and_classes_who_when_and_why(command: Command) -> None:
    id_ = placed(command, "--all")
    command("holds", "lift", id_, "--reason", "settled", "--actor", "ben")
    command("retention", "set", "six-months", "--rule", RULE)
    entries = command("audit", "--json").document["entries"]
    retention, lifted, hold = entries[:3]
    assert [each["type"] for each in entries[:3]] == ["retention.set", "hold.lifted", "hold.placed"]
    assert (hold["hold"]["actor"], hold["hold"]["matter"]) == ("ana", "Smith v. Example")
    assert (lifted["hold"]["actor"], lifted["hold"]["reason"]) == ("ben", "settled")
    assert (retention["retention"]["keep"], retention["retention"]["rule"]) == ("six-months", RULE)
    assert "six-months, EU AI Act 19(1)" in command("audit").out
    cleared = command("retention", "clear", "--reason", "no rule any more", "--json").document
    assert cleared == {"conversation": None, "label": None, "value": None, "cleared": True}
    again = command("retention", "clear", "--reason", "again")
    assert again.out == "all: there was no class; nothing changed.\n"
    assert command("retention", "list").out == ""
    deed = command("audit", "--json").document["entries"][0]
    assert (deed["type"], deed["retention"]["reason"]) == ("retention.cleared", "no rule any more")
    assert (deed["retention"]["keep"], deed["retention"]["rule"]) == (None, None)
    assert "taken back, no rule any more" in command("audit").out
    assert command("verify", "--views").code == 0


def test_a_dry_run_lists_what_would_go_and_what_a_hold_keeps(command: Command) -> None:
    id_ = placed(command, "support/1")
    done = command("forget", "--prefix", "support/", "--dry-run")
    assert done.code == 0
    assert {columns[1]: columns[4].split(" ")[0] for columns in done.columns} == {
        "support/1": "kept",
        "support/2": "would",
    }
    assert id_ in done.out
    assert "1 conversation would go; holds keep 1" in done.err
    assert "swordfish" not in done.out + done.err
    assert len(command("conversations").columns) == 3


def test_a_query_erases_what_it_chooses(command: Command) -> None:
    placed(command, "support/1")
    asked = command("forget", "--prefix", "support/", "--reason", "tidied")
    assert (asked.code, "--yes" in asked.err) == (1, True)
    done = command("forget", "--prefix", "support/", "--yes", "--reason", "tidied", "--json")
    assert {each["key"]: each["erased"] for each in done.documents} == {
        "support/1": False,
        "support/2": True,
    }
    late = command("forget", "--before", "2100-01-01", "--yes", "--reason", "tidied")
    assert [columns[1] for columns in late.columns if columns[4] == "erased"] == ["sales/1"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("forget",),
        ("forget", "support/1", "--prefix", "support/"),
        ("forget", "support/1", "--dry-run"),
        ("forget", "--before", "yesterday", "--dry-run"),
        ("forget", "--older-than", "0d", "--dry-run"),
        ("expire",),
        ("expire", "--archive", "a", "--no-archive"),
        ("holds", "place", "--matter", "a", "--reason", "b"),
        ("holds", "place", "support/1", "--all", "--matter", "a", "--reason", "b"),
        ("holds", "lift", "7", "--reason", "b"),
        ("retention", "set", "for-ever", "--rule", RULE),
        ("retention", "set", "six-months"),
        ("retention", "set", "1d", "support/1", "--label", "a", "--rule", RULE),
    ],
)
def test_what_was_typed_wrong_changes_nothing(command: Command, arguments: tuple[str, ...]) -> None:
    assert command(*arguments).code == 2
    assert len(command("conversations").columns) == 3
    assert command("holds", "list").out == command("retention", "list").out == ""


@pytest.mark.parametrize(
    "arguments",
    [("forget", "--older-than", "0d", "--dry-run"), ("retention", "set", "0d", "--rule", RULE)],
)
def test_no_days_are_too_few(command: Command, arguments: tuple[str, ...]) -> None:
    done = command(*arguments)
    assert (done.code, "at least 1d" in done.err) == (2, True)


def test_lists_name_conversations_by_their_keys(command: Command) -> None:
    placed(command, "support/1")
    placed(command, "--all")
    command("retention", "set", "1d", "sales/1", "--rule", "a wish")
    assert sorted(columns[2] for columns in command("holds", "list").columns) == [
        "all",
        "support/1",
    ]
    (row,) = command("retention", "list").columns
    assert row[:2] == ["sales/1", "1 day"]


def test_who_forgets_before_a_class_has_run_out_is_told(command: Command) -> None:
    command("retention", "set", "six-years", "support/1", "--rule", "HIPAA 164.316(b)(2)")
    dry = command("forget", "--prefix", "support/", "--dry-run")
    assert {columns[1]: columns[4] for columns in dry.columns} == {
        "support/1": "would go, though its class has not run out",
        "support/2": "would go",
    }
    said = "its retention class six-years (HIPAA 164.316(b)(2)) has not run out"
    done = command("forget", "support/1", "--yes", "--reason", "asked to")
    assert (done.code, said in done.err) == (0, True)
    assert "run out" not in command("forget", "support/2", "--yes", "--reason", "asked to").err


def test_the_audit_names_operators_as_their_facts_do(command: Command) -> None:
    placed(command, "support/1")
    command("retention", "set", "1d", "--rule", "a wish", "--actor", "ben")
    assert [columns[1] for columns in command("audit").columns[:2]] == ["ben", "ana"]
    command("forget", "sales/1", "--yes", "--reason", "asked to", "--actor", "eve")
    rows = command("audit", "--limit", "1").columns
    assert [(columns[1], columns[4]) for columns in rows] == [("eve", "erasure.completed")]


def test_a_dry_run_is_drawn_as_a_table_on_a_terminal(command: Command) -> None:
    placed(command, "support/1")
    shown = on_a_terminal("forget", "--prefix", "s", "--dry-run", columns=160)
    assert "last moved" in shown
    assert "support/1" in shown
    assert "\t" not in shown


def test_what_was_tampered_with_is_not_expired(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command("retention", "set", "1d", "--rule", RULE)
    with sqlite3.connect(tmp_path / "talks.db") as file:
        for (name,) in file.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall():
            file.execute(f"DROP TRIGGER {name}")
        changed = "CAST(replace(CAST(body AS TEXT), 'sword', 'gold_') AS BLOB)"
        file.execute(f"UPDATE event SET body = {changed} WHERE version = 2")
    later(monkeypatch, timedelta(days=2))
    done = command("expire", "--archive", str(tmp_path / "archives"))
    assert done.code == 1
    assert {columns[4].split(":")[0] for columns in done.columns} == {"left alone"}
    assert "its digest is not that of its salt and body" in done.out
    assert len(command("conversations").columns) == 3
    exported = command("export", "support/1", "-o", str(tmp_path / "file.jsonl"))
    assert (exported.code, (tmp_path / "file.jsonl").exists()) == (1, False)


def test_expiry_archives_then_erases_what_has_run_out(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = command("retention", "set", "six-months", "--rule", RULE)
    assert done.out == f"all: six-months ({RULE}).\n"
    command("retention", "set", "unlimited", "sales/1", "--rule", "a wish")
    command("retention", "set", "400d", "--label", "category=health", "--rule", "own")
    assert sorted(columns[1] for columns in command("retention", "list").columns) == [
        "400 days",
        "six-months",
        "unlimited",
    ]
    placed(command, "support/1")
    archive = str(tmp_path / "archives")
    assert command("expire", "--archive", archive).out == ""
    later(monkeypatch, timedelta(days=185))
    dry = command("expire", "--dry-run")
    assert len(dry.columns) == 2
    assert not (tmp_path / "archives").exists()
    documents = command("expire", "--archive", archive, "--json").documents
    (gone,) = [each for each in documents if each["erased"]]
    assert (gone["key"], gone["retention"]["rule"]) == ("support/2", RULE)
    assert (tmp_path / "archives" / gone["archive"]["path"] / "manifest.json").exists()
    again = command("expire", "--no-archive")
    assert (again.code, len(again.columns)) == (0, 1)
    assert command("verify").code == 0
