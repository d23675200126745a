"""The fixtures of the views' tests: an empty store of rows on each database, an empty log on a server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from onrecord.adapters.storage.postgres.connections import Connections, address_of
from onrecord.adapters.storage.postgres.postgres import Postgres, migrate, open_postgres
from tests.adapters.views.row_stores import ROW_STORES, RowStore
from tests.postgres_server import VERSIONS, server


@pytest.fixture(params=ROW_STORES)
def rows(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RowStore]:
    store = ROW_STORES[request.param](tmp_path)
    yield store
    store.close()


@pytest.fixture
def url() -> Iterator[str]:
    """A database with an empty log, on the newest server."""
    version = VERSIONS[-1]
    database = server(version).create("log", migrate)
    yield database
    server(version).drop(database)


@pytest.fixture
def log(url: str) -> Iterator[Postgres]:
    log = open_postgres(url)
    yield log
    log.close()


@pytest.fixture
def connections(url: str) -> Iterator[Connections]:
    connections = Connections(address_of(url), most=2, wait=10.0, prepared=True)
    yield connections
    connections.close()
