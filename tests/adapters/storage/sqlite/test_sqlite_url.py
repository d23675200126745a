"""One rule says which file a `sqlite:` URL names, whoever is given it."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from eventsourcing.utils import Environment

import onrecord
from onrecord.adapters.app import is_there
from onrecord.adapters.recording.spool import spool_folder
from onrecord.adapters.storage.eventsourcing.sqlite import SqliteFactory
from onrecord.adapters.storage.sqlite.url import path_of, url_of


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///talks.db", "{here}/talks.db"),
        ("sqlite:////var/talks.db", "/var/talks.db"),
        ("SQLite:///talks.db", "{here}/talks.db"),
        ("sqlite:///my%20talks.db", "{here}/my talks.db"),
        ("sqlite:///a%23b%3Fc%25.db", "{here}/a#b?c%.db"),
        ("sqlite:///a%0Ab%7F.db", "{here}/a\nb\x7f.db"),
    ],
)
def test_a_url_names_a_file(
    url: str, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert path_of(url) == Path(path.format(here=tmp_path))
    assert path_of(url_of(path_of(url))) == path_of(url)


@pytest.mark.parametrize(
    "url",
    [
        *("sqlite:talks.db", "sqlite:/talks.db", "sqlite://talks.db", "sqlite://host/talks.db"),
        *("sqlite:///talks.db\n", "sqlite:///talks.db\r", "sqlite:///a\tb"),
        *("sqlite:///", "sqlite:///a\0b", "sqlite:///%00", "sqlite:///:memory:"),
    ],
)
def test_a_url_that_names_no_file_is_refused_by_all(url: str) -> None:
    with pytest.raises(onrecord.InvalidInput, match="sqlite:///"):
        onrecord.connect(url)
    with pytest.raises(onrecord.InvalidInput, match="sqlite:///"):
        is_there(url)
    with pytest.raises(onrecord.InvalidInput, match="sqlite:///"):
        SqliteFactory(Environment(name="talks", env={"ONRECORD_URL": url}))


def test_what_a_url_says_beside_the_file_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(onrecord.InvalidInput, match="%23"):
        onrecord.connect("sqlite:///talks#1.db")
    with pytest.raises(onrecord.InvalidInput, match="parameters, here mode, cache:"):
        onrecord.connect("sqlite:///talks.db?mode=ro&cache=shared")
    with pytest.raises(onrecord.InvalidInput, match="memory://"):
        onrecord.connect("sqlite:///:memory:")
    assert list(tmp_path.iterdir()) == []


def test_the_url_of_a_store_opens_it_again(tmp_path: Path) -> None:
    with onrecord.connect(f"sqlite:///{tmp_path}/a%23b%3Fc%25.db") as store:
        store.conversation("support/4711").user("Hello")
    with onrecord.connect(store.url) as again:
        assert [listed.key for listed in again.conversations()] == ["support/4711"]
    assert spool_folder(store.url, "1f", uuid4(), {}).parent == tmp_path / "a#b?c%.db-spool"


@pytest.mark.parametrize("url", [5, Path("talks.db"), b"sqlite:///talks.db"])
def test_a_url_is_a_text(url: Any) -> None:
    with pytest.raises(onrecord.InvalidContent, match=r"URL is a text"):
        onrecord.connect(url)
