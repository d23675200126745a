"""A log is migrated while programs of the release before write to it; none of them notices."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
import pytest

import onrecord
from onrecord.adapters.storage.postgres import schema
from onrecord.adapters.storage.postgres.connections import address_of, connected, queries_of
from onrecord.adapters.storage.postgres.postgres import (
    DEFAULT_LIMITS,
    Postgres,
    migrate,
    open_postgres,
)
from onrecord.adapters.storage.queries import (
    DEFAULT_SCHEMA,
    Migration,
    load_functions,
    load_migrations,
    load_queries,
    statements,
)
from onrecord.adapters.storage.sqlite import connection, file
from onrecord.adapters.storage.sqlite.sqlite import Sqlite, migrate_sqlite, open_sqlite
from onrecord.adapters.store import backend_of
from onrecord.domain.errors import SchemaOlder, StorageBusy
from onrecord.domain.log import Recorded
from tests.factories import appending, prompt
from tests.faults.load import under_load
from tests.ledger import verified_log
from tests.patience import PATIENCE, join_process, until
from tests.postgres_server import VERSIONS, Server, server
from tests.postgres_sessions import counted

BEFORE = 1
"""The schema of PostgreSQL before there were views."""

WAITED_FOR_LONG = """
SELECT count(*) FROM pg_locks WHERE NOT granted AND waitstart < clock_timestamp() - interval '1 second'
"""

SQLITE_BEFORE = 1


def make_older(url: str) -> None:
    """Make a log as the release before did."""
    with connected(address_of(url)) as owner, owner.transaction():
        owner.execute(owner.queries["create_schema"])
        owner.execute(owner.queries["bodies_unchecked"])
        (tables,), functions = load_migrations("postgres")[:BEFORE], load_functions("postgres", 0)
        for part, made in (("tables", tables), ("functions", functions)):
            for statement in statements(made.sql):
                if "onrecord.view_" not in statement:  # Those of views whose tables came later.
                    # So did the mark of an encrypted log.
                    owner.execute(statement.replace("l.encrypted", "false").encode())
            digest = made.digest if part == "tables" else b"of before"
            owner.execute(owner.queries["migrated"], (part, made.version, digest))


@pytest.fixture(params=VERSIONS)
def running(request: pytest.FixtureRequest) -> Server:
    return server(request.param)


@pytest.fixture
def url(running: Server) -> Iterator[str]:
    created = running.create("older", make_older)
    yield created
    running.drop(created)


def older(url: str) -> Postgres:
    """A log that was opened before the migration: its schema is not looked at again."""
    return Postgres(address_of(url), DEFAULT_LIMITS)


def write_until_told(url: str, pipe: Connection) -> None:
    """Append in a process of its own; hand over the ids of what was acknowledged."""
    log, conversation, acknowledged = older(url), uuid4(), list[UUID]()
    while not pipe.poll():
        append = appending(conversation, prompt())
        (verdict,) = log.append([append])
        assert isinstance(verdict, Recorded)
        acknowledged += [event.event_id for event in append.events]
        if len(acknowledged) == 1:
            pipe.send("writing")
    pipe.send(acknowledged)
    log.close()


def test_an_older_log_is_refused_until_it_is_migrated(url: str) -> None:
    with pytest.raises(SchemaOlder, match="onrecord migrate"):
        open_postgres(url)
    assert migrate(url) == len(load_migrations("postgres")) - BEFORE
    open_postgres(url).close()


def test_threads_and_processes_write_on_while_two_migrate(url: str) -> None:
    here, there = multiprocessing.get_context("spawn").Pipe()
    writer = multiprocessing.get_context("spawn").Process(
        target=write_until_told, args=(url, there)
    )
    writer.start()
    there.close()  # The writer's own: if it dies, what is read here ends.
    log = older(url)
    assert here.recv() == "writing"
    with under_load(log) as load, ThreadPoolExecutor(2) as pool:
        steps = sorted(pool.map(migrate, [url, url]))
        load.go_on()
    here.send("enough")
    acknowledged = load.told() | set(here.recv())
    join_process(writer)
    log.close()
    assert writer.exitcode == 0
    assert steps == [0, len(load_migrations("postgres")) - BEFORE]
    with onrecord.connect(url) as store:
        assert {event.event_id for event in verified_log(backend_of(store))} == acknowledged
        assert store.verify().faults == ()


def test_who_reads_the_whole_log_makes_the_migration_wait_and_nobody_else(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dump holds up a step that alters a table which it reads."""
    known = load_migrations("postgres")
    later = Migration(known[-1].version + 1, "ALTER TABLE onrecord.meta ADD later text", b"later")

    def with_later(*_: object, **__: object) -> tuple[Migration, ...]:
        return (*known, later)

    monkeypatch.setattr(schema, "load_migrations", with_later)
    log = older(url)
    with psycopg.connect(url) as dump, under_load(log) as load:
        dump.execute("LOCK TABLE onrecord.meta IN ACCESS SHARE MODE")
        with pytest.raises(StorageBusy, match="try again"):
            migrate(url)
        load.go_on()
        newcomer = older(url)
        assert newcomer.cursors() != []
        newcomer.close()
        dump.rollback()
        assert migrate(url) == len(known) + 1 - BEFORE
        load.go_on()
    log.close()


def test_who_holds_the_lock_of_migrations_for_long_is_not_waited_for_without_end(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn = queries_of(DEFAULT_SCHEMA)["migration_turn"].replace(b"30s", b"50ms")
    monkeypatch.setitem(queries_of(DEFAULT_SCHEMA), "migration_turn", turn)
    with psycopg.connect(url) as other, ThreadPoolExecutor(1) as pool:
        other.execute("LOCK TABLE onrecord.migration IN EXCLUSIVE MODE")
        migrating = pool.submit(migrate, url)
        until(lambda: migrating.done() or counted(url, WAITED_FOR_LONG), "the end of patience")
        other.rollback()
        with pytest.raises(StorageBusy, match="try again"):
            migrating.result(PATIENCE)
    assert migrate(url) > 0


# SQLite


def open_older(path: Path, monkeypatch: pytest.MonkeyPatch) -> Sqlite:
    """Open a file as the release before would, made if it is not there."""

    def steps(dialect: str) -> tuple[Migration, ...]:
        return load_migrations(dialect)[:SQLITE_BEFORE]

    def queries(dialect: str) -> Mapping[str, str]:
        known = load_queries(dialect)
        return {**known, "log_end": known["log_end"].replace("encrypted", "0")}

    with monkeypatch.context() as before:
        before.setattr(file, "_SCHEMA", SQLITE_BEFORE)
        before.setattr(file, "load_migrations", steps)
        before.setattr(connection, "load_queries", queries)
        return open_sqlite(path)


def test_a_file_is_migrated_while_it_is_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "talks.db"
    log = open_older(path, monkeypatch)
    with under_load(log) as load, ThreadPoolExecutor(2) as pool:
        with pytest.raises(SchemaOlder, match="onrecord migrate"):
            open_sqlite(path)
        steps = sorted(pool.map(migrate_sqlite, [path, path]))
        load.go_on()
    log.close()
    assert steps == [0, len(load_migrations("sqlite")) - SQLITE_BEFORE]
    with onrecord.connect(f"sqlite:///{path}") as store:
        assert {event.event_id for event in verified_log(backend_of(store))} == load.told()
        assert store.verify().faults == ()
