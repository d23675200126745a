"""`onrecord show` of a session whose client was recorded too."""

from __future__ import annotations

from pathlib import Path

import pytest

import onrecord
from tests.adapters.cli.command import in_process, url_of
from tests.adapters.frameworks.recorded_runs import FIRST, AgentsRun


def test_an_item_shows_at_which_version_it_was_recorded_off_the_wire(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ONRECORD_URL", url_of(tmp_path))
    command = in_process(monkeypatch, capsys)
    with onrecord.connect(url_of(tmp_path)) as store, AgentsRun(store) as run:
        run.session.record(run.prompt(FIRST))
        run.session.record(run.ask())
        run.session.record(run.result("found"))
        key = str(run.conversation.key)
    ended = "7"
    for lines in ((), ("--lines",)):
        rows = [row for row in command("show", key, *lines).columns if row[3] == "item"]
        assert [row[4:6] for row in rows] == [
            *(["linked", "3"], ["linked", ended], ["linked", ended], ["", ""]),
        ]
    before = [row for row in command("show", key, "--at", "3").columns if row[3] == "item"]
    assert [row[4] for row in before] == [""]
