"""Waiting for what a PostgreSQL server comes to, such as the end of the sessions of killed writers."""

import multiprocessing
from dataclasses import dataclass
from typing import LiteralString

import psycopg

from onrecord.domain.log import Backend
from tests.patience import until
from tests.postgres_places import PostgresPlace

# Not of readers, for some of them may be at work in every moment.
WRITERS_ENDED: LiteralString = """
SELECT count(*) = 0 FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'
    AND (backend_xid IS NOT NULL OR query LIKE '%onrecord.append(%')
"""


@dataclass(frozen=True)
class QuietPlace(PostgresPlace):
    """A place that is looked at when the sessions of killed writers have ended."""

    def open(self) -> Backend:
        if multiprocessing.parent_process() is None:
            wait_until(self.url, WRITERS_ENDED)
        return super().open()


def wait_until(url: str, condition: LiteralString) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        until(lambda: connection.execute(condition).fetchone() == (True,), condition)
