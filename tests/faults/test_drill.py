"""The drill of docs/operations.md: back up a store in use, restore it, and go on with what it holds.

What was acknowledged before a backup began is in it. A restored store is another incarnation, so a
cursor that may name events it never had is refused.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit
from uuid import UUID, uuid4

import psycopg
import pytest

import onrecord
from onrecord.adapters.storage.postgres.postgres import migrate, open_postgres
from onrecord.adapters.storage.sqlite.sqlite import open_sqlite
from onrecord.adapters.store import Store, backend_of
from onrecord.domain.errors import StaleCursor, StorageReadOnly
from onrecord.domain.log import Backend, Cursor, Recorded
from onrecord.projections.views.registry import VIEWS
from tests.adapters.views.workers import caught_up
from tests.factories import appending, prompt
from tests.faults.load import under_load
from tests.ledger import verified_log
from tests.patience import until
from tests.postgres_copies import base_backup, folder_of, run, run_as_owner, started
from tests.postgres_server import GIVEN, VERSIONS, Server, carried_server, server

needs_a_server_of_ours = pytest.mark.skipif(
    GIVEN is not None, reason="needs a server's own programs, and copies its files"
)
VACUUM_INTO = (
    "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('VACUUM INTO ?', sys.argv[2:])"
)
ONLINE_BACKUP = (
    "import sqlite3, sys; sqlite3.connect(sys.argv[1]).backup(sqlite3.connect(sys.argv[2]))"
)


def holds(url: str, acknowledged: set[UUID], cursors: list[Cursor]) -> None:
    """Fail unless a restored store has the events, verifies, refuses the cursors, and goes on."""
    with onrecord.connect(url) as store:
        log = backend_of(store)
        assert acknowledged <= {event.event_id for event in verified_log(log)}
        assert store.verify().faults == ()
        refuses(log, cursors)
        goes_on(log)


def refuses(log: Backend, cursors: list[Cursor]) -> None:
    for cursor in cursors:
        for position in (0, cursor.position):
            with pytest.raises(StaleCursor):
                log.read_log(replace(cursor, position=position), 1)


def goes_on(log: Backend) -> None:
    before = {cursor.shard: cursor.position for cursor in log.cursors()}
    (verdict,) = log.append([appending(uuid4(), prompt())])
    assert isinstance(verdict, Recorded)
    moved = {c.shard: c.position - before[c.shard] for c in log.cursors()}
    assert max(moved.values()) == sum(moved.values()) == 1


# SQLite


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    return tmp_path / "talks.db"


@pytest.mark.parametrize("program", [VACUUM_INTO, ONLINE_BACKUP], ids=["vacuum", "online"])
def test_a_file_that_is_backed_up_amid_writing_is_restored(chats: Path, program: str) -> None:
    backup = chats.with_name("backup.db")
    log = open_sqlite(chats)
    with under_load(log) as load:
        before = load.told()
        subprocess.run([sys.executable, "-c", program, chats, backup], check=True)
        load.go_on()
    cursors = log.cursors()
    log.close()
    for name in ("talks.db", "talks.db-wal", "talks.db-shm", "talks.db-lock"):
        chats.with_name(name).unlink(missing_ok=True)
    shutil.copy(backup, chats)
    holds(f"sqlite:///{chats}", before, cursors)


def test_a_plain_copy_of_a_file_in_use_lacks_what_was_acknowledged(chats: Path) -> None:
    log = open_sqlite(chats)
    for _ in range(5):
        log.append([appending(uuid4(), prompt())])
    copy = shutil.copy(chats, chats.with_name("copy.db"))
    found = open_sqlite(Path(copy))
    assert len(verified_log(found)) < 5
    found.close()
    log.close()


# PostgreSQL: one database


@pytest.fixture(params=VERSIONS)
def running(request: pytest.FixtureRequest) -> Server:
    return server(request.param)


@pytest.fixture
def url(running: Server) -> Iterator[str]:
    created = running.create("log", migrate)
    yield created
    running.drop(created)


@pytest.fixture
def empty(running: Server) -> Iterator[str]:
    created = running.create("bare", lambda _: None)
    yield created
    running.drop(created)


@needs_a_server_of_ours
def test_a_database_that_is_dumped_amid_writing_is_restored(
    running: Server, url: str, empty: str, tmp_path: Path
) -> None:
    dump = tmp_path / "talks.dump"
    log = open_postgres(url)
    with under_load(log) as load:
        before = load.told()
        run(running, "pg_dump", "--format=custom", f"--file={dump}", url)
        load.go_on()
    cursors = log.cursors()
    log.close()
    run(running, "pg_restore", "--exit-on-error", f"--dbname={empty}", str(dump))
    holds(empty, before, cursors)


@needs_a_server_of_ours
def test_a_dump_that_is_put_back_in_its_place_is_another_log_once_it_is_told_so(
    running: Server, url: str, tmp_path: Path
) -> None:
    dump = tmp_path / "talks.dump"
    log = open_postgres(url)
    log.append([appending(uuid4(), prompt())])
    run(running, "pg_dump", "--format=custom", f"--file={dump}", url)
    log.append([appending(uuid4(), prompt())])
    cursors = log.cursors()
    log.close()
    restoring = ("--clean", "--exit-on-error", f"--dbname={url}", str(dump))
    run(running, "pg_restore", *restoring)
    tell_that_it_is_another(url)
    holds(url, set(), cursors)


def tell_that_it_is_another(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute("UPDATE onrecord.meta SET incarnation = gen_random_uuid()")


# PostgreSQL: the whole server


@needs_a_server_of_ours
def test_a_base_backup_that_ends_no_timeline_is_another_log_once_it_is_told_so() -> None:
    primary = carried_server("18")
    url = primary.create("log", migrate)
    copy = base_backup(primary)
    log = open_postgres(url)
    log.append([appending(uuid4(), prompt())])
    cursors = log.cursors()
    log.close()
    primary.crash()
    restored = started(primary, copy)
    database = restored.url_of(urlsplit(url).path[1:])
    tell_that_it_is_another(database)
    holds(database, set(), cursors)
    restored.crash()


@dataclass(frozen=True, slots=True)
class Archived:
    """A server that keeps each finished file of its write-ahead log in a folder elsewhere too."""

    server: Server
    archive: Path

    def finish(self) -> None:
        """Return when the file that is being written now is in the archive."""
        with psycopg.connect(self.server.url, autocommit=True) as owner:
            last = told(owner, "SELECT pg_walfile_name(pg_current_wal_lsn())")
            owner.execute("SELECT pg_switch_wal()")
        wait_until(self.server.url, ARCHIVED.format(last))


ARCHIVED = "SELECT last_archived_wal >= '{}' FROM pg_stat_archiver"
TAKES_WRITES = "SELECT NOT pg_is_in_recovery()"


@pytest.fixture
def archived() -> Iterator[Archived]:
    primary = carried_server("18")
    archive = folder_of(primary)
    with psycopg.connect(primary.url, autocommit=True) as owner:
        owner.execute("ALTER SYSTEM SET archive_mode = on")
        command = f"ALTER SYSTEM SET archive_command = 'cp %p {archive}/%f'"
        owner.execute(command.encode())
    primary.crash()
    primary.restart()
    yield Archived(primary, archive)
    shutil.rmtree(archive)


@needs_a_server_of_ours
def test_a_server_is_restored_up_to_the_last_acknowledged_event(archived: Archived) -> None:
    url = archived.server.create("log", migrate)
    log = open_postgres(url)
    with under_load(log) as load:
        copy = base_backup(archived.server)
        load.go_on()
    cursors = log.cursors()
    log.close()
    archived.finish()
    archived.server.crash()
    with (copy / "postgresql.auto.conf").open("a", encoding="utf-8") as settings:
        settings.write(f"restore_command = 'cp {archived.archive}/%f %p'\narchive_mode = off\n")
    (copy / "recovery.signal").touch()
    restored = started(archived.server, copy)
    wait_until(restored.url, TAKES_WRITES)
    holds(restored.url_of(urlsplit(url).path[1:]), load.told(), cursors)
    restored.crash()


@needs_a_server_of_ours
def test_a_standby_reads_as_its_primary_does_and_is_another_log_once_promoted() -> None:
    primary = carried_server("18")
    url = primary.create("log", migrate)
    with onrecord.connect(url) as store:
        store.conversation("support/4711").user("Hello")
        folder = base_backup(primary, "--write-recovery-conf")
        standby = started(primary, folder)
        store.conversation("support/4712").user("Hello")
        caught_up(url, VIEWS)
        wait_until(standby.url, REPLAYED.format(written(primary)))
        copied = standby.url_of(urlsplit(url).path[1:])
        cursors = backend_of(store).cursors()
        reads_as(copied, store)
    primary.crash()
    run_as_owner(standby, "pg_ctl", "-D", str(folder), "-w", "promote")
    holds(copied, set(), cursors)
    standby.crash()


def reads_as(standby: str, store: Store) -> None:
    """Fail unless a standby answers as its primary does, and takes no writes."""
    with onrecord.connect(standby) as copy:
        assert verified_log(backend_of(copy)) == verified_log(backend_of(store))
        assert backend_of(copy).cursors() == backend_of(store).cursors()
        assert copy.verify().faults == ()
        assert list(copy.views.conversations()) == list(store.views.conversations())
        assert len(list(copy.views.conversations())) == 2
        chat, original = copy.get("support/4712"), store.get("support/4712")
        assert chat.head() == original.head()
        assert dict(chat.request("anthropic-messages")) == dict(
            original.request("anthropic-messages")
        )
        with pytest.raises(StorageReadOnly, match="use the primary"):
            chat.log.append(prompt())


REPLAYED = "SELECT pg_last_wal_replay_lsn() >= '{}'"


def written(server: Server) -> str:
    with psycopg.connect(server.url) as connection:
        return told(connection, "SELECT pg_current_wal_flush_lsn()")


def told(connection: psycopg.Connection, query: str) -> str:
    row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return str(row[0])


def wait_until(url: str, condition: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        until(lambda: connection.execute(condition.encode()).fetchone() == (True,), condition)
