"""Stores of each kind, for tests of tools."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import onrecord
from tests.postgres_places import fresh_log
from tests.postgres_server import VERSIONS, server


@pytest.fixture(params=["memory", "sqlite", VERSIONS[-1]])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[onrecord.Store]:
    """A store of each kind, in which Ana acts."""
    match str(request.param):
        case "memory":
            url = "memory://"
        case "sqlite":
            url = f"sqlite:///{tmp_path / 'talks.db'}"
        case version:
            url = fresh_log(version)
    with onrecord.connect(url, actor="ana") as opened:
        yield opened
    if url.startswith("postgres"):
        server(str(request.param)).drop(url)
