"""The key stores that the tests of this folder run on."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.adapters.encryption.places import URL_FILE
from tests.postgres_server import VERSIONS, server


@pytest.fixture(params=["sqlite", *VERSIONS])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A folder whose key store is a file in it, or is on a server of a version of PostgreSQL."""
    if request.param == "sqlite":
        yield tmp_path
        return
    url = empty_database(request.param)
    (tmp_path / URL_FILE).write_text(f"{url}{'&' if '?' in url else '?'}schema=keys", "utf-8")
    yield tmp_path
    server(request.param).drop(url)


def empty_database(version: str) -> str:
    """The URL of a database with nothing in it."""
    return server(version).create("nothing", lambda _: None)
