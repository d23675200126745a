"""Stores on PostgreSQL for the contract suite: one database a test, on each server of VERSIONS."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from onrecord.adapters.storage.postgres.postgres import migrate, open_postgres
from onrecord.domain.log import Backend
from tests.postgres_server import VERSIONS, server


@dataclass(frozen=True)
class PostgresPlace:
    version: str
    url: str

    def open(self) -> Backend:
        return open_postgres(self.url)

    def remove(self) -> None:
        server(self.version).drop(self.url)


def place(version: str, _: Path) -> PostgresPlace:
    return PostgresPlace(version, fresh_log(version))


def fresh_log(version: str) -> str:
    """The URL of a database with an empty log, on the server of that version."""
    return server(version).create("log", migrate)


@contextmanager
def log_with_role(version: str, role: str) -> Generator[str]:
    """The URL of an empty log's database, on a server that has that role meanwhile."""
    running = server(version)
    url = fresh_log(version)
    running.execute("CREATE ROLE {} LOGIN", role)
    try:
        yield url
    finally:
        running.drop(url)
        running.execute("DROP ROLE {}", role)


POSTGRES_PLACES: dict[str, Callable[[Path], PostgresPlace]] = {
    f"postgres-{version}": partial(place, version) for version in VERSIONS
}
