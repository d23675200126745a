"""A database with an empty log, the owner's, and a role that nobody has let in."""

from collections.abc import Iterator

import pytest

from onrecord.adapters.storage.postgres.postgres import Postgres, migrate, open_postgres
from tests.adapters.storage.postgres.roles import ROLE
from tests.postgres_server import VERSIONS, Server, server


@pytest.fixture
def running() -> Server:
    return server(VERSIONS[-1])


@pytest.fixture
def url(running: Server) -> Iterator[str]:
    """A database with an empty log, and a role that nobody has let in yet."""
    created = running.create("log", migrate)
    running.execute("CREATE ROLE {} LOGIN", ROLE)
    yield created
    running.drop(created)
    running.execute("DROP ROLE {}", ROLE)


@pytest.fixture
def owner(url: str) -> Iterator[Postgres]:
    log = open_postgres(url)
    yield log
    log.close()
