"""Stores of each kind, for tests of tools."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import onrecord


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[onrecord.Store]:
    """A store of each kind, in which Ana acts."""
    match str(request.param):
        case "postgres":
            yield from _on_postgres()
        case "sqlite":
            with onrecord.connect(f"sqlite:///{tmp_path / 'talks.db'}", actor="ana") as opened:
                yield opened
        case _:
            with onrecord.connect("memory://", actor="ana") as opened:
                yield opened


def _on_postgres() -> Iterator[onrecord.Store]:
    # Here: where the oldest releases of SDKs are tried, no driver of PostgreSQL is installed.
    from tests.postgres_places import fresh_log
    from tests.postgres_server import VERSIONS, server

    url = fresh_log(VERSIONS[-1])
    with onrecord.connect(url, actor="ana") as opened:
        yield opened
    server(VERSIONS[-1]).drop(url)
