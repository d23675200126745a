"""What is PostgreSQL's own: reaching it, its errors, its schema, its processes."""

import multiprocessing
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg
import pytest
from psycopg import errors

from onrecord.adapters.storage.postgres.errors import translated
from onrecord.adapters.storage.postgres.postgres import Limits, migrate, open_postgres
from onrecord.adapters.storage.queries import load_migrations
from onrecord.domain.errors import (
    ForeignDatabase,
    InvalidInput,
    SchemaNewer,
    SchemaOlder,
    StaleCursor,
    StorageBusy,
    StorageError,
    StorageFull,
    StorageReadOnly,
    StorageUnavailable,
)
from onrecord.domain.log import Cursor, Recorded
from tests.factories import appending, raw_event
from tests.patience import PATIENCE, join_process
from tests.postgres_places import fresh_log
from tests.postgres_server import GIVEN, GUARDED, VERSIONS, Server, server
from tests.postgres_sessions import HOLD

SECRET = "open-sesame-4711"


@pytest.fixture(params=VERSIONS)
def running(request: pytest.FixtureRequest) -> Server:
    return server(request.param)


@pytest.fixture
def url(running: Server) -> Iterator[str]:
    """A database with an empty log."""
    created = running.create("log", migrate)
    yield created
    running.drop(created)


@pytest.fixture
def bare(running: Server) -> Iterator[str]:
    """A database without a log."""
    created = running.create("bare", lambda _: None)
    yield created
    running.drop(created)


def run(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def setting(url: str, name: str, value: str) -> None:
    run(url, f"ALTER DATABASE {database(url)} SET {name} = {value}")


def database(url: str) -> str:
    return urlsplit(url).path.lstrip("/")


def as_role(url: str, role: str, password: str | None = None) -> str:
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    login = role if password is None else f"{role}:{password}"
    return urlunsplit(parts._replace(netloc=f"{login}@{host}"))


def test_an_url_that_is_none_is_refused_without_repeating_it() -> None:
    with pytest.raises(InvalidInput, match="not understood") as refused:
        open_postgres(f"postgresql://me:{SECRET}@host:port@x/db?no_such=1")
    assert SECRET not in str(refused.value)
    assert refused.value.__cause__ is None


def test_a_server_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(StorageUnavailable, match="check host and port") as refused:
        open_postgres(f"postgresql://me:{SECRET}@127.0.0.1:1/db")
    assert SECRET not in f"{refused.value} {refused.value.__cause__}"


def test_a_database_that_is_not_there_is_unavailable(running: Server) -> None:
    with pytest.raises(StorageUnavailable, match="create it"):
        open_postgres(running.url_of("no_such_database"))


@pytest.mark.skipif(GIVEN is not None, reason="needs a server that asks this role for a password")
def test_a_wrong_password_is_refused_without_repeating_it(url: str) -> None:
    run(url, f"DROP ROLE IF EXISTS {GUARDED}", f"CREATE ROLE {GUARDED} LOGIN PASSWORD 'right'")
    with pytest.raises(StorageUnavailable, match="user and password") as refused:
        open_postgres(as_role(url, GUARDED, SECRET))
    assert SECRET not in f"{refused.value} {refused.value.__cause__}"


def test_a_role_without_a_connection_left_is_told_so(url: str) -> None:
    run(url, "CREATE ROLE crowded LOGIN CONNECTION LIMIT 0")
    try:
        with pytest.raises(StorageUnavailable, match="no connection left"):
            open_postgres(as_role(url, "crowded"))
    finally:
        run(url, "DROP ROLE crowded")


def test_an_empty_database_gets_the_schema_when_it_is_opened(bare: str) -> None:
    log = open_postgres(bare)
    (verdict,) = log.append([appending(uuid4(), raw_event())])
    log.close()
    assert verdict == Recorded(1, 1, 1)
    assert migrate(bare) == 0


def test_a_role_that_may_not_make_the_schema_is_told_who_can(bare: str) -> None:
    run(bare, "CREATE ROLE newcomer LOGIN")
    try:
        with pytest.raises(StorageReadOnly, match="onrecord migrate"):
            open_postgres(as_role(bare, "newcomer"))
    finally:
        run(bare, "DROP ROLE newcomer")


@pytest.mark.parametrize("before", [(), ("CREATE SCHEMA onrecord",)])
def test_many_processes_may_migrate_at_once_and_one_does(
    bare: str, before: tuple[str, ...]
) -> None:
    run(bare, *before)
    with ThreadPoolExecutor(6) as pool:
        steps = list(pool.map(migrate, [bare] * 6))
    assert sorted(steps) == [0] * 5 + [len(load_migrations("postgres"))]


def test_a_schema_of_someone_else_is_left_alone(bare: str) -> None:
    run(bare, "CREATE SCHEMA onrecord", "CREATE TABLE onrecord.parliament (speech text)")
    with pytest.raises(ForeignDatabase, match="another database"):
        open_postgres(bare)
    with pytest.raises(ForeignDatabase, match="another database"):
        migrate(bare)


def test_a_newer_schema_asks_for_an_upgrade(url: str) -> None:
    run(url, "INSERT INTO onrecord.migration VALUES ('tables', 999, '')")
    with pytest.raises(SchemaNewer, match="upgrade"):
        open_postgres(url)
    with pytest.raises(SchemaNewer, match="upgrade"):
        migrate(url)


def test_an_older_schema_asks_to_be_migrated(url: str) -> None:
    run(url, "DELETE FROM onrecord.migration WHERE part = 'tables' AND number > 1")
    with pytest.raises(SchemaOlder, match="onrecord migrate"):
        open_postgres(url)


def test_a_database_that_takes_no_writes_says_so(url: str, bare: str) -> None:
    open_postgres(url).close()
    for place in (url, bare):
        setting(place, "default_transaction_read_only", "on")
    log = open_postgres(url)
    with pytest.raises(StorageReadOnly, match="primary"):
        log.append([appending(uuid4(), raw_event())])
    log.close()
    with pytest.raises(StorageReadOnly, match="primary"):
        open_postgres(bare)


def test_an_append_needs_read_committed(url: str) -> None:
    setting(url, "default_transaction_isolation", "'repeatable read'")
    log = open_postgres(url)
    with pytest.raises(StorageUnavailable, match="READ COMMITTED"):
        log.append([appending(uuid4(), raw_event())])
    log.close()


def test_a_lock_that_takes_too_long_is_busy(url: str) -> None:
    setting(url, "statement_timeout", "'100ms'")
    log = open_postgres(url)
    log.append([appending(uuid4(), raw_event())])
    shard = next(cursor.shard for cursor in log.cursors() if cursor.position)
    with psycopg.connect(url) as holder:
        holder.execute(HOLD, (shard,))
        with pytest.raises(StorageBusy, match="try again"):
            log.append([appending(uuid4(), raw_event())])
    log.close()


@pytest.mark.parametrize(
    ("error", "meant"),
    [
        (errors.DiskFull("no space"), StorageFull),
        (errors.ProgramLimitExceeded("too large"), StorageFull),
        (errors.TooManyConnections("sorry"), StorageUnavailable),
        (errors.AdminShutdown("terminating"), StorageUnavailable),
        (errors.ReadOnlySqlTransaction("standby"), StorageReadOnly),
        (errors.DeadlockDetected("deadlock"), StorageBusy),
        (psycopg.OperationalError("server closed the connection"), StorageUnavailable),
    ],
)
def test_each_trouble_of_the_server_has_its_error(
    error: psycopg.Error, meant: type[StorageError]
) -> None:
    assert type(translated(error)) is meant


def test_it_works_without_prepared_statements(url: str) -> None:
    log = open_postgres(url, Limits(prepared=False))
    conversation = uuid4()
    for _ in range(8):
        log.append([appending(conversation, raw_event())])
    assert [event.version for event in log.read(conversation)] == list(range(1, 9))
    with log.connections.transaction() as connection:
        prepared = connection.execute("SELECT name FROM pg_prepared_statements").fetchall()
    assert prepared == []
    log.close()


def append_in_a_child(log: object, done: "multiprocessing.Queue[int]") -> None:
    from onrecord.adapters.storage.postgres.postgres import Postgres

    assert isinstance(log, Postgres)
    (verdict,) = log.append([appending(uuid4(), raw_event())])
    assert isinstance(verdict, Recorded)
    done.put(verdict.position)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_opens_connections_of_its_own(url: str) -> None:
    log = open_postgres(url)
    log.append([appending(uuid4(), raw_event())])
    fork = multiprocessing.get_context("fork")
    done = fork.Queue()
    child = fork.Process(target=append_in_a_child, args=(log, done))
    child.start()
    assert done.get(timeout=PATIENCE) == 2
    join_process(child)
    assert child.exitcode == 0
    assert log.append([appending(uuid4(), raw_event())]) == [Recorded(1, 1, 3)]
    log.close()


def test_an_append_wakes_up_subscriptions_of_its_process(url: str) -> None:
    log = open_postgres(url)
    conversation = uuid4()
    log.append([appending(conversation, raw_event())])
    last = next(cursor for cursor in log.cursors() if cursor.position)
    with log.subscribe(last) as subscription, ThreadPoolExecutor(1) as pool:
        following = pool.submit(next, subscription)
        log.append([appending(conversation, raw_event())])
        assert following.result(timeout=PATIENCE).position == 2
    log.close()


def test_a_copied_database_is_another_incarnation(running: Server, url: str) -> None:
    log = open_postgres(url)
    log.append([appending(uuid4(), raw_event())])
    cursor = next(cursor for cursor in log.cursors() if cursor.position)
    log.close()
    again = open_postgres(url)
    assert again.read_log(cursor, 9) == []
    again.close()
    copy = f"{database(url)}_copy"
    running.execute("CREATE DATABASE {} TEMPLATE {}", copy, database(url))
    restored = open_postgres(running.url_of(copy))
    try:
        with pytest.raises(StaleCursor):
            restored.read_log(cursor, 9)
        beginning = Cursor(restored.cursors()[0].incarnation, cursor.shard, 0)
        assert [event.position for event in restored.read_log(beginning, 9)] == [1]
    finally:
        restored.close()
        running.drop(running.url_of(copy))


def test_many_first_appends_of_a_tenant_at_once_are_all_recorded(url: str) -> None:
    log = open_postgres(url)
    begun = threading.Barrier(8, timeout=PATIENCE)

    def write(_: int) -> object:
        begun.wait()
        return log.append([appending(uuid4(), raw_event(), tenant=tenant)])[0]

    for _ in range(5):
        tenant = uuid4()
        with ThreadPoolExecutor(8) as pool:
            assert all(isinstance(verdict, Recorded) for verdict in pool.map(write, range(8)))
    log.close()


def test_a_log_in_a_database_is_one_for_all_who_open_it() -> None:
    url = fresh_log(VERSIONS[0])
    one, two = open_postgres(url), open_postgres(url)
    conversation = uuid4()
    one.append([appending(conversation, raw_event())])
    two.append([appending(conversation, raw_event())])
    assert one.cursors() == two.cursors()
    assert one.digest("key") == two.digest("key")
    one.close()
    two.close()
    server(VERSIONS[0]).drop(url)
