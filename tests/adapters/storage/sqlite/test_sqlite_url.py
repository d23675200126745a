"""One rule says which file a `sqlite:` URL names, whoever is given it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from eventsourcing.utils import Environment

import onrecord
from onrecord.adapters.app import is_there
from onrecord.adapters.storage.eventsourcing.sqlite import SqliteFactory
from onrecord.adapters.storage.sqlite.url import path_of


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///talks.db", "{here}/talks.db"),
        ("sqlite:////var/talks.db", "/var/talks.db"),
        ("sqlite:///my%20talks.db", "{here}/my talks.db"),
    ],
)
def test_a_url_names_a_file(
    url: str, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert path_of(url) == Path(path.format(here=tmp_path))


@pytest.mark.parametrize("url", ["sqlite://talks.db", "sqlite://host/talks.db", "sqlite:///"])
def test_a_url_that_names_no_file_is_refused_by_all(url: str) -> None:
    with pytest.raises(onrecord.InvalidInput, match="sqlite:///"):
        onrecord.connect(url)
    with pytest.raises(onrecord.InvalidInput, match="sqlite:///"):
        is_there(url)
    with pytest.raises(onrecord.InvalidInput, match="sqlite:///"):
        SqliteFactory(Environment(name="talks", env={"ONRECORD_URL": url}))


@pytest.mark.parametrize("url", [5, Path("talks.db"), b"sqlite:///talks.db"])
def test_a_url_is_a_text(url: Any) -> None:
    with pytest.raises(onrecord.InvalidContent, match=r"URL is a text"):
        onrecord.connect(url)
