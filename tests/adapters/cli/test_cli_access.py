"""Each command that shows what conversations say leaves one entry in the access log; `onrecord access`."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from uuid_utils.compat import uuid7

import onrecord
from onrecord.adapters.store import backend_of
from onrecord.adapters.terminal.reads import CONVERSATION_COMMANDS, PAGE_COMMANDS
from onrecord.adapters.upkeep.access_log import AccessLog, now
from onrecord.domain.errors import StorageFull
from onrecord.domain.log import Append
from onrecord.domain.marks.marked_ids import access_id, day_of, operators_of
from onrecord.domain.new_events import Stamp, draft_fact
from onrecord.domain.operators import AccessFact, AccessRead
from tests.adapters.cli.command import Command, in_process, url_of
from tests.adapters.cli.test_cli_controls import names_of_commands

SHOW_NOTHING = {
    "mcp",  # Each of its reads leaves an entry, and its start none.
    *("approve", "bpmn", "capabilities", "check-request", "checkpoint", "compact", "demo", "deny"),
    *("edit-message", "erase", "expire", "forget", "forget-actor", "fork", "holds", "import"),
    *("kek", "keys", "migrate", "move", "parked", "pause", "proof", "rebuild", "redact", "resume"),
    *("retention", "retract-answer", "retry", "rotate-keys", "seal", "seal-key", "serve"),
    *("sweep", "verify", "views", "worker"),
}
"""Commands that show nothing of what conversations say as they start."""

READS: dict[str, tuple[tuple[str, ...], int | None]] = {
    "approvals": (("support/1",), 3),
    "context": (("support/1",), 3),
    "conversations": ((), None),
    "diff": (("support/1", "2", "3", "--api", "gemini"), 3),
    "documents": (("support/1",), 3),
    "export": (("support/1",), 3),
    "replay": (("support/1",), 3),
    "request": (("support/1", "--api", "gemini"), 3),
    "share": (("support/1", "--into", "-"), 3),
    "show": (("support/1",), 3),
    "tools": (("support/1",), 3),
    "why": (("support/1", "2"), 3),
    "access": ((), 0),
    "audit": ((), 3),
    "calls": ((), 0),
    "in-force": (("--policy", "2026-11"), 0),
    "overview": ((), 1),
    "search": (("swordfish",), 2),
    "usage": ((), 0),
    "window": (("support/1",), 2),
}
"""What each of the others is tried with, and how many entries it shows."""


@pytest.fixture
def command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Command:
    monkeypatch.setenv("ONRECORD_ACTOR", "ana")
    monkeypatch.setenv("ONRECORD_URL", url_of(tmp_path))
    with onrecord.connect(url_of(tmp_path)) as store:
        store.conversation("support/1").user("swordfish")
        store.conversation("support/1").user("swordfish again")
    monkeypatch.setenv("ONRECORD_ACCESS_LOG", "on")
    return in_process(monkeypatch, capsys)


def entries(folder: Path) -> list[onrecord.AccessEntry]:
    with onrecord.connect(url_of(folder)) as store:
        return store.access.entries()


def test_every_command_shows_content_and_records_that_or_shows_none() -> None:
    reading = CONVERSATION_COMMANDS | PAGE_COMMANDS
    assert names_of_commands() == reading | SHOW_NOTHING
    assert not reading & SHOW_NOTHING
    # The tail ends with Ctrl-C, evidence needs a seal.
    assert reading - READS.keys() == {"tail", "evidence"}


@pytest.mark.parametrize("name", READS)
def test_a_command_that_shows_content_leaves_one_entry(
    command: Command, tmp_path: Path, name: str
) -> None:
    arguments, shown = READS[name]
    done = command(name, *arguments)
    assert done.code == 0, done.err
    (entry,) = entries(tmp_path)
    assert (entry.via, entry.actor_name, entry.entries) == (f"onrecord {name}", "ana", shown)
    assert entry.key == ("support/1" if "support/1" in arguments else None)
    assert entry.reads == {}


def test_entries_are_listed_by_conversation_actor_and_time(command: Command) -> None:
    command("show", "support/1")
    command("search", "swordfish", "--role", "user")
    listed = command("access", "--json").documents
    assert [each["via"] for each in listed] == ["onrecord search", "onrecord show"]
    assert (listed[0]["asked"], listed[1]["entries"]) == (["role", "text"], 3)
    assert "swordfish" not in str(listed)
    of_one = command("access", "--conversation", "support/1", "--json").documents
    assert [each["via"] for each in of_one] == ["onrecord search", "onrecord show"]
    assert of_one[0]["conversations"] == [of_one[1]["conversation"]]
    assert (of_one[0]["more"], of_one[1]["conversations"]) == (0, [])
    assert command("access", "--actor", "ben").out == ""
    day = datetime.now(UTC).date().isoformat()
    assert command("access", "--until", "2020-01-01").out == ""
    plain = command("access", "--since", day, "--actor", "ana").columns
    assert [row[1:5] for row in plain][-1] == ["ana", "onrecord show", "support/1", "3"]
    assert command("verify", "--views").code == 0


def test_nothing_is_shown_that_cannot_be_recorded_where_that_is_required(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(log: AccessLog, fact: AccessFact, actor: str | None) -> None:
        raise StorageFull("the disk is full")

    monkeypatch.setenv("ONRECORD_ACCESS_LOG", "required")
    monkeypatch.setattr(AccessLog, "record", full)
    for arguments in (("show", "support/1"), ("search", "swordfish"), ("export", "support/1")):
        done = command(*arguments)
        assert (done.code, done.out) == (1, "")
        assert "the disk is full" in done.err
        assert "swordfish" not in done.err


def test_a_report_of_the_audit_is_a_read(command: Command, tmp_path: Path) -> None:
    assert command("audit", "-c", "support/1", "--report", str(tmp_path / "a.jsonl")).code == 0
    (entry,) = entries(tmp_path)
    assert (entry.via, entry.key, entry.entries) == ("onrecord audit", "support/1", 3)


def test_a_mode_that_there_is_not_is_refused(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONRECORD_ACCESS_LOG", "sometimes")
    assert "off, on, required" in command("conversations").err


def test_an_entry_that_nobody_can_read_stops_no_list_and_verify_names_it(
    command: Command, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    command("show", "support/1")
    with onrecord.connect(url_of(tmp_path)) as store:
        backend, today = backend_of(store), access_id(store.tenant, day_of(now()))
        stamp = Stamp(uuid7(), now(), b"0" * 16, operators_of(store.tenant), today, None)
        fact = AccessRead(tenant=store.tenant, via="x", at=now())
        broken = draft_fact(fact, stamp)._replace(body=b'{"tenant":7}')
        backend.append([Append(operators_of(store.tenant), today, (broken,))])
    listed = command("access", "--json")
    assert [each["via"] for each in listed.documents] == ["onrecord show"]
    assert "cannot be read" in caplog.text
    audited = command("audit", "--json").document["entries"]
    assert [each["type"] for each in audited].count("access.read") == 2
    assert "this access cannot be read" in command("verify").out
