"""`onrecord diff`: what changed between two requests, drawn, between tabs and as JSON."""

import re
from pathlib import Path

import pytest

import onrecord
from onrecord.domain.content import Native
from tests.adapters.cli.command import Command, in_process, on_a_terminal, url_of
from tests.factories import tool_call, tool_result

KEY = "support/4711"


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return in_process(monkeypatch, capsys)


@pytest.fixture(autouse=True)
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Given: a prompt (version 2), a call (3), its result (4), a redaction (5), instructions (6)."""
    with onrecord.connect(url_of(tmp_path)) as store:
        chat = store.conversation(KEY)
        chat.user("Where is my parcel?")
        chat.log.append(tool_call("c1", "track"))
        chat.log.append(tool_result("c1", "It left depot\nNorth"))
        chat.redact(2)
        chat.instruct("Be brief.")
        chat.tools.declare([{"name": "track", "input_schema": {"type": "object"}}])
    monkeypatch.setenv("ONRECORD_URL", url_of(tmp_path))
    return url_of(tmp_path)


def test_each_change_is_a_line_with_its_reason(command: Command) -> None:
    call, result = command("diff", KEY, "3", "4").columns
    assert call[:3] == ["changed", "3", "tool_call.recorded"]
    assert re.fullmatch(r"before: repaired, .*\[R1\]; after: nothing else", call[3])
    assert result == [
        *("added", "4", "tool_result.recorded", "not recorded yet"),
        *("It left depot\\nNorth", ""),
    ]
    assert command("diff", KEY, "4", "5").columns[0] == [
        *("removed", "2", "message.recorded", "redaction", "Where is my parcel?", "")
    ]


def test_instructions_and_tools_stand_before_the_events(command: Command) -> None:
    assert command("diff", KEY, "5", "7").columns == [
        ["removed", "", "instructions", "", "none", ""],
        ["added", "", "instructions", "", "Be brief.", ""],
        ["added", "", "tool", "", "track", ""],
    ]


def test_a_server_that_is_added_is_named(url: str, command: Command) -> None:
    parcels, depots = (
        Native(api="openai-responses", value={"type": "mcp", "server_label": name})
        for name in ("parcels", "depots")
    )
    with onrecord.connect(url) as store:
        chat = store.conversation(KEY)
        chat.tools.declare([parcels])
        chat.tools.declare([parcels, depots])
    changed = command("diff", KEY, "8", "9", "--api", "openai-responses").columns
    assert [row[:5] for row in changed] == [["added", "", "tool", "", "mcp (depots)"]]


def test_versions_of_a_fork_and_of_its_origin_are_told_apart(url: str, command: Command) -> None:
    with onrecord.connect(url) as store:
        fork = store.conversation(KEY).fork("fork", at=4)
        fork.user("And now?")  # Version 3 of the fork, as the call is of its origin.
        fork.compact("It left.", until=3)
    changed = command("diff", "fork", "3", "4").columns
    assert [(row[1], row[5]) for row in changed if row[0] == "removed"] == [
        *(("2", KEY), ("3", KEY), ("4", KEY)),
        ("3", ""),
    ]
    assert KEY in on_a_terminal("diff", "fork", "3", "4", columns=120)


def test_json_has_the_notes_of_both_reports(command: Command) -> None:
    document = command("diff", KEY, "3", "4", "--json", "--api", "openai-chat").document
    assert (document["api"], document["a"], document["b"]) == ("openai-chat", 3, 4)
    call, result = document["events"]
    assert [note["deed"] for note in call["before"]] == ["repaired"]
    assert (result["change"], result["reason"]) == ("added", "not recorded yet")
    assert document["instructions"] is document["tools"] is None


def test_where_nothing_changed_it_says_so(command: Command) -> None:
    done = command("diff", KEY, "4", "4")
    assert (done.code, done.out, done.err) == (0, "", "nothing changed\n")


def test_a_terminal_of_80_columns_gets_a_table() -> None:
    lines = re.sub(r"\x1b\[[0-9;]*m", "", on_a_terminal("diff", KEY, "3", "7")).splitlines()
    assert max(map(len, lines)) <= 80
    assert "change" in lines[1]


def test_what_is_no_version_is_one_line(command: Command) -> None:
    assert command("diff", KEY, "0", "4").code == 2
    done = command("diff", KEY, "4", "99")
    assert done.code == 1
    assert done.err.startswith("onrecord: ")
