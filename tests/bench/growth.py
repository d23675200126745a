"""What a log grows by: bytes of an event on disk, and of PostgreSQL's write-ahead log, by group.

Events are prompts of 1 KB that do not compress, in a hundred conversations of one tenant, each an
append of its own; a group is how many appends share a commit.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Final
from uuid import uuid4

import psycopg

from onrecord.adapters.storage.postgres.postgres import open_postgres
from onrecord.adapters.storage.sqlite.sqlite import open_sqlite
from onrecord.domain.log import Append, Log
from tests.bench.measure import Figures, Measure
from tests.bench.payload import batches, prompt
from tests.bench.workspace import Workspace
from tests.factories import TENANT, appending

GROUPS: Final = (1, 16, 100)
_CONVERSATIONS: Final = 100
_MOST_OF_A_GROUP: Final = 10_000

_ONE_EVENT: Final = "a prompt of 1 KB, after {count:,} of them"
_PARTS: Final = {
    "table": "SELECT pg_table_size('onrecord.event')",
    "indexes": "SELECT pg_indexes_size('onrecord.event')",
    "all": "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class "
    "WHERE relnamespace = 'onrecord'::regnamespace AND relkind = 'r'",
}
_LEAVE_ALONE: Final = (
    "SELECT format('ALTER TABLE %s SET (autovacuum_enabled = off)', oid::regclass) FROM pg_class "
    "WHERE relnamespace = 'onrecord'::regnamespace AND relkind = 'r'"
)
_WRITTEN: Final = "SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint"


def measures(workspace: Workspace) -> Iterator[Measure]:
    """Yield the bytes of an event: in the write-ahead log, and on disk in each database."""
    count = workspace.scale.sizes[-1]
    workspace.say("growth: the write-ahead log of PostgreSQL")
    for group in GROUPS:
        yield from _wal(workspace.database(), group, min(count, _MOST_OF_A_GROUP))
    workspace.say(f"growth: {count:,} events on PostgreSQL")
    yield from _postgres(workspace.database(), count)
    yield _conversation(workspace.database(), min(count, _MOST_OF_A_GROUP))
    workspace.say(f"growth: {count:,} events on SQLite")
    yield _sqlite(workspace.path("growth.db"), count)


def _wal(url: str, group: int, count: int) -> Iterator[Measure]:
    """Measure the appends, then the VACUUM that such a table gets once; each from a checkpoint."""
    log = open_postgres(url)
    fill(log, _CONVERSATIONS, group=100)
    with psycopg.connect(url, autocommit=True) as connection:
        leave_alone(connection)
        start = checkpointed(connection)
        fill(log, count, group=group)
        appended = wal_written(connection) - start
        start = checkpointed(connection)
        connection.execute("VACUUM onrecord.event")
        vacuumed = wal_written(connection) - start
    log.close()
    yield measured(f"growth.postgres.wal.{group}", appended / count, count)
    yield measured(f"growth.postgres.wal.{group}.vacuum", vacuumed / count, count)


def _postgres(url: str, count: int) -> Iterator[Measure]:
    log = open_postgres(url)
    fill(log, count, group=100)
    log.close()
    with psycopg.connect(url, autocommit=True) as connection:
        for part, query in _PARTS.items():
            taken = number(connection, query)
            yield measured(f"growth.postgres.event.{part}", taken / count, count)


def _conversation(url: str, count: int) -> Measure:
    """Measure what conversations with keys take beside their events, each of which has one."""
    log = open_postgres(url)
    for name in range(count):
        log.open(TENANT, f"support/{name}")
    for appends in batches((appending(uuid4(), prompt()) for _ in range(count)), 100):
        log.append(appends)
    log.close()
    with psycopg.connect(url, autocommit=True) as connection:
        everything, *events = (number(connection, _PARTS[it]) for it in ("all", "table", "indexes"))
    return measured("growth.postgres.conversation", (everything - sum(events)) / count, count)


def _sqlite(path: Path, count: int) -> Measure:
    log = open_sqlite(path)
    fill(log, count, group=100)
    log.close()
    return measured("growth.sqlite.event", path.stat().st_size / count, count)


def leave_alone(connection: psycopg.Connection) -> None:
    """Let no VACUUM of its own time write to the write-ahead log amid a measure."""
    for (statement,) in connection.execute(_LEAVE_ALONE.encode()).fetchall():
        connection.execute(statement.encode())


def checkpointed(connection: psycopg.Connection) -> int:
    """Make a checkpoint, and return how many bytes the write-ahead log has after it."""
    connection.execute("CHECKPOINT")
    return wal_written(connection)


def wal_written(connection: psycopg.Connection) -> int:
    """Return how many bytes the write-ahead log of the server ever had."""
    return number(connection, _WRITTEN)


def fill(log: Log, count: int, *, group: int) -> None:
    """Append so many events, so many of them sharing a commit."""
    for appends in batches(islice(_appends(), count), group):
        log.append(appends)


def _appends() -> Iterator[Append]:
    for conversation in cycle([uuid4() for _ in range(_CONVERSATIONS)]):
        yield appending(conversation, prompt(), tenant=TENANT)


def number(connection: psycopg.Connection, query: str) -> int:
    """Return the one number that a query finds."""
    row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return int(row[0])


def measured(name: str, value: float, count: int, what: str = _ONE_EVENT) -> Measure:
    """Return the measure of bytes an event."""
    return Measure(name, "bytes", Figures(what.format(count=count), "", [[value]]))
