"""The page on retention is true: an archive of several parts is looked at and restored as it says."""

from __future__ import annotations

import shlex
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest

import onrecord
from onrecord.adapters.storage.sqlite.sqlite import Sqlite
from tests.adapters.cli.command import Command, in_process
from tests.test_docs import ROOT, fences

PAGE = ROOT / "docs" / "retention.md"
PLACEHOLDER = "archives/TENANT/CONVERSATION/VERSION"


@pytest.fixture
def command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Command:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ONRECORD_URL", "sqlite:///talks.db")
    monkeypatch.setenv("ONRECORD_ACTOR", "ana")
    return in_process(monkeypatch, capsys)


def test_an_archive_is_restored_as_the_page_says(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with onrecord.connect("sqlite:///talks.db") as store:
        store.conversation("support/4711").user("Where is my parcel?")
        store.retention.set_class(1, rule="own")
    real = Sqlite.clock
    days = timedelta(days=2) // timedelta(microseconds=1)

    def clock(log: Sqlite) -> int:
        return real(log) + days

    monkeypatch.setattr(Sqlite, "clock", clock)
    monkeypatch.setattr("onrecord.adapters.upkeep.archives._PART", 500)
    assert command("expire", "--archive", "archives").code == 0
    (manifest,) = (tmp_path / "archives").rglob("manifest.json")
    assert len(list(manifest.parent.glob("part-*"))) > 1
    (shown,) = [fence.text for fence in fences(PAGE) if PLACEHOLDER in fence.text]
    done = None
    for line in shown.replace(PLACEHOLDER, str(manifest.parent)).splitlines():
        if line.startswith("onrecord "):
            done = command(*shlex.split(line)[1:])
            assert done.code == 0, done.err
        else:
            subprocess.run(line, shell=True, check=True, cwd=tmp_path)
    assert done is not None
    assert "Where is my parcel?" in done.out
    refused = command("import", "conversation.jsonl")
    assert (refused.code, "forgotten" in refused.err) == (1, True)
