"""Services that the tests ask: one on each kind of store, and one that costs little."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.adapters.service.served import Served, served
from tests.postgres_places import fresh_log
from tests.postgres_server import VERSIONS, server

NEWEST = VERSIONS[-1]


@pytest.fixture
def service() -> Iterator[Served]:
    with served() as answering:
        yield answering


@pytest.fixture
def postgres_url() -> Iterator[str]:
    url = fresh_log(NEWEST)
    yield url
    server(NEWEST).drop(url)


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    match request.param:
        case "memory":
            return "memory://"
        case "sqlite":
            return f"sqlite:///{tmp_path / 'log.db'}"
        case _:
            return str(request.getfixturevalue("postgres_url"))


@pytest.fixture
def each_service(store_url: str) -> Iterator[Served]:
    with served(store_url) as answering:
        yield answering
