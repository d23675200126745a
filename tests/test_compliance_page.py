"""The page on compliance is true: each row's command shows its answer, where it was planted and only there."""

from __future__ import annotations

import re
import shlex
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

import onrecord
from tests.adapters.cli.command import Command, in_process
from tests.shown_program import run_program
from tests.test_docs import ROOT

PAGE = ROOT / "docs" / "compliance.md"
DAY, LATER = datetime(2026, 3, 3, 9, tzinfo=UTC), datetime(2026, 11, 20, tzinfo=UTC)
RULES = ("EU AI Act 12", "EU AI Act 19", "EU AI Act 26", "SEC 17a-4(f)", "HIPAA 164.312")
MORE = ("HIPAA 164.316", "ISO/IEC 42001 A.6.2.8", "GDPR 15", "GDPR 17", "GDPR 20")


def rows() -> list[list[str]]:
    """The cells of each row that names a command."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    tables = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line[:1] == "|"]
    return [row for row in tables if any(cell.startswith("`onrecord ") for cell in row)]


def answers() -> dict[tuple[str, ...], set[str]]:
    """What each command shows, by its arguments: the cell behind it."""
    found = dict[tuple[str, ...], set[str]]()
    for row in rows():
        (at,) = (at for at, cell in enumerate(row) if re.fullmatch("`onrecord [^`]+`", cell))
        answer = re.fullmatch("`([^`]+)`", row[at + 1])
        assert answer is not None, row
        _, *arguments = shlex.split(row[at].strip("`"))
        found.setdefault(tuple(arguments), set()).add(answer[1])
    return found


def shown(command: Command, arguments: tuple[str, ...]) -> tuple[int, str]:
    """The exit code of a command, and all that it wrote: to the terminal, or to the file of a report."""
    done, written = command(*arguments), ""
    if "--report" in arguments:
        file = Path(arguments[arguments.index("--report") + 1])
        written = file.read_text(encoding="utf-8")
        file.unlink()
    return done.code, done.out + done.err + written


def at(moment: datetime) -> pytest.MonkeyPatch:
    """Let the clock of this machine go on from a moment."""
    patch, real = pytest.MonkeyPatch(), time.time_ns
    ahead = int((moment - datetime.now(UTC)).total_seconds()) * 10**9
    patch.setattr(time, "time_ns", lambda: real() + ahead)
    return patch


@pytest.fixture
def command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Iterator[Command]:
    """The store of the page, sealed, and another one that nobody sealed."""
    monkeypatch.chdir(tmp_path)
    ran = in_process(monkeypatch, capsys)
    patch = at(DAY)
    for name in ("support", "another"):
        assert ran("kek", f"{name}.kek").code == 0
    use(monkeypatch, "support")
    monkeypatch.delenv("ONRECORD_SEALS")
    run_program(PAGE)
    use(monkeypatch, "another")
    monkeypatch.delenv("ONRECORD_SEALS")
    with onrecord.connect("sqlite:///another.db") as store:
        store.conversation("sales/1").user("What does it cost?")
    patch.undo()
    patch = at(LATER)
    for name in ("support", "another"):
        use(monkeypatch, name)
        assert ran("seal-key", f"{name}.key", "--url", f"sqlite:///{name}.db").code == 0
    use(monkeypatch, "support")
    assert ran("seal").code == 0
    yield ran
    patch.undo()


def use(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("ONRECORD_URL", f"sqlite:///{name}.db")
    monkeypatch.setenv("ONRECORD_SEALS", f"{name}.seals")
    monkeypatch.setenv("ONRECORD_SEAL_KEY", f"{name}.key")
    monkeypatch.setenv("ONRECORD_KEK", f"{name}.kek")
    monkeypatch.setenv("ONRECORD_KEYS", f"{name}.keys")


def test_each_command_shows_its_answer_where_it_is_and_only_there(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONRECORD_ACCESS_LOG", "on")
    for arguments, planted in answers().items():
        code, text = shown(command, arguments)
        found = {answer for answer in planted if answer in text}
        assert (code, found) == (0, planted), (arguments, text)
    by = command("access", "--conversation", "support/4711", "--json").documents
    assert {"onrecord audit", "onrecord calls", "onrecord export"} <= {each["via"] for each in by}
    monkeypatch.delenv("ONRECORD_ACCESS_LOG")
    use(monkeypatch, "another")
    for arguments, planted in answers().items():
        _, text = shown(command, arguments)
        assert not [answer for answer in planted if answer in text], arguments


def test_a_store_that_was_changed_proves_nothing(command: Command) -> None:
    with closing(sqlite3.connect("support.db")) as file, file:
        for (trigger,) in file.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'event'"
        ).fetchall():
            file.execute(f"DROP TRIGGER {trigger}")
        file.execute("UPDATE event SET body = zeroblob(length(body)) WHERE version = 6")
    proofs = [arguments for arguments in answers() if arguments[0] in ("verify", "evidence")]
    assert [command(*arguments).code for arguments in proofs] == [1] * 3


def test_every_rule_has_a_row_and_its_limits() -> None:
    table = [row for row in rows() if len(row) == 5]
    for rule in (*RULES, *MORE):
        assert [row for row in table if row[0].startswith(rule)], rule
    assert all(row[1] and row[4] for row in table)
