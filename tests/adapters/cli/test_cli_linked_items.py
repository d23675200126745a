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
        items = [item.version for item in run.session.load().items]
    for lines in ((), ("--lines",)):
        rows = [row for row in command("show", key, *lines).columns if int(row[0]) in items]
        assert [(*row[3:6], row[6]) for row in rows] == [
            ("text", "linked to 3", "", FIRST),
            ("text", "linked to 7", "", "Let me look."),
            ("tool call", "linked to 7", "", 'track {"parcel":"NW-1"}'),
            ("result", "", str(items[2]), "track: found"),
        ]
    before = [row for row in command("show", key, "--at", "3").columns if int(row[0]) in items]
    assert [row[4] for row in before] == [""]


def test_a_linked_result_shows_its_call_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ONRECORD_URL", url_of(tmp_path))
    command = in_process(monkeypatch, capsys)
    with onrecord.connect(url_of(tmp_path)) as store, AgentsRun(store) as run:
        run.session.record(run.prompt(FIRST))
        run.session.record(run.ask())
        run.session.record(run.result("found"))
        run.session.record(run.ask())
        key = str(run.conversation.key)
        *_, call, result, _ = (item.version for item in run.session.load().items)
    (shown,) = (row for row in command("show", key).columns if row[0] == str(result))
    assert shown[3] == "result"
    assert shown[4].startswith("linked to ")
    assert shown[5] == str(call)
