"""Documents that no event refers to are swept; those that may yet be said are spared."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import onrecord
from tests.adapters.cli.command import Command, in_process, url_of
from tests.factories import BECAUSE

KEY = "support/4711"


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return in_process(monkeypatch, capsys)


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A store with a document that was said, and one whose event was refused."""
    place = url_of(tmp_path)
    with onrecord.connect(place) as store:
        chat = store.conversation(KEY)
        chat.user("Keep this.", documents=[b"said"])
        with pytest.raises(onrecord.VersionConflict):
            chat.user("And this?", documents=[b"not said"], expected_version=7)
    return place


def test_what_no_event_refers_to_goes_once(url: str) -> None:
    with onrecord.connect(url) as store:
        assert store.sweep(timedelta(0)).documents == 1
        assert store.sweep(timedelta(0)).documents == 0
        assert store.verify().is_whole


def test_what_may_yet_be_said_is_spared(url: str) -> None:
    with onrecord.connect(url) as store:
        assert store.sweep().documents == 0


def test_a_time_to_come_is_refused(url: str) -> None:
    with onrecord.connect(url) as store, pytest.raises(onrecord.InvalidInput, match="0 or more"):
        store.sweep(timedelta(hours=-1))


def test_the_command_says_what_went(url: str, command: Command) -> None:
    assert command("sweep", "--url", url).out == "No unreferenced documents to delete.\n"
    done = command("sweep", "--older-than", "0", "--url", url)
    assert (done.code, done.out) == (0, "1 document deleted that no event refers to.\n")
    assert command("sweep", "--json", "--url", url).document == {
        "swept": 0,
        "rewritten": [],
        "residue": [],
        "doubts": [],
    }
    assert command("sweep", "--older-than", "-1", "--url", url).code == 2


def forgotten(url: str) -> None:
    """Forget, and leave a mark that pieces of it may be in the file."""
    with onrecord.connect(url) as store:
        store.views.conversations()
        store.forget(KEY, **BECAUSE)
    assert len(_residue(url)) == 2


def _residue(url: str) -> tuple[str, ...]:
    with onrecord.connect(url) as store:
        return store.sweep(rewrite=False).residue


def test_the_command_says_what_was_written_anew(url: str, command: Command) -> None:
    forgotten(url)
    done = command("sweep", "--url", url)
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "Wrote talks.db and talks.db-views anew: nothing of what was forgotten is left in them. "
        "No unreferenced documents to delete.\n"
    )
    assert _residue(url) == ()
    assert command("sweep", "--url", url).out == "No unreferenced documents to delete.\n"


def test_json_names_what_was_written_anew(url: str, command: Command) -> None:
    forgotten(url)
    told = command("sweep", "--json", "--url", url).document
    assert told["rewritten"] == ["talks.db", "talks.db-views"]
    assert told["residue"] == []


def test_an_age_is_a_timedelta() -> None:
    seconds: Any = 5
    store = onrecord.connect("memory://")
    with pytest.raises(onrecord.InvalidContent, match="type timedelta, not int"):
        store.sweep(seconds)
