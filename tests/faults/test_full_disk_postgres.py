"""A PostgreSQL without room: a typed error, nothing half there, and on it goes when there is room."""

import secrets
import shutil
from collections.abc import Iterator
from contextlib import suppress
from subprocess import CalledProcessError
from uuid import UUID, uuid4

import psycopg
import pytest

from onrecord.adapters.storage.postgres.postgres import Limits, Postgres, migrate, open_postgres
from onrecord.domain.content import Text
from onrecord.domain.errors import StorageError, StorageFull, StorageUnavailable
from onrecord.domain.events import Event, MessageRecorded
from onrecord.domain.log import Append, Duplicate, Recorded
from tests.factories import appending
from tests.faults.kills import verify_all
from tests.faults.small_disk import SmallDisk, small_disk
from tests.postgres_places import PostgresPlace, fresh_log
from tests.postgres_server import VERSIONS, Server, carried_server

IMPATIENT = Limits(wait=2.0)
VERSION = VERSIONS[-1] if VERSIONS != ("given",) else "18"

# What PostgreSQL says when a table cannot grow, of the second event of a request.
FULL = """
CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE disk_full USING MESSAGE = 'could not extend file: No space left on device';
END $$;
CREATE TRIGGER full_disk BEFORE INSERT ON onrecord.event
    FOR EACH ROW WHEN (NEW.version = 2) EXECUTE FUNCTION no_room();
"""


@pytest.fixture
def disk() -> Iterator[SmallDisk]:
    with small_disk(megabytes=40) as mounted:
        yield mounted


@pytest.fixture
def fragile(disk: SmallDisk) -> Iterator[Server]:
    """A server of its own, which is stopped before the disk goes."""
    started = carried_server(VERSION)
    yield started
    started.crash()


@pytest.fixture
def place() -> Iterator[PostgresPlace]:
    created = PostgresPlace(VERSIONS[-1], fresh_log(VERSIONS[-1]))
    yield created
    created.remove()


def test_an_append_that_finds_no_room_halfway_leaves_nothing(place: PostgresPlace) -> None:
    log, request = open_postgres(place.url), pair(uuid4())
    with psycopg.connect(place.url, autocommit=True) as operator:
        operator.execute(FULL)
        with pytest.raises(StorageFull, match="nothing of the append was kept: make room"):
            log.append([appending(uuid4(), large()), request])
        operator.execute("DROP TRIGGER full_disk ON onrecord.event")
    assert verify_all(log) == []
    assert log.append([request]) == [Recorded(1, 2, 2)]
    assert len(verify_all(log)) == 2
    log.close()


def large(size: int = 300_000) -> Event:
    """What cannot be compressed."""
    return MessageRecorded(role="user", content=(Text(text=secrets.token_hex(size // 2)),))


def pair(conversation: UUID) -> Append:
    return appending(conversation, large(), large())


def append_until_full(log: Postgres) -> tuple[int, Append, StorageError]:
    """How many events were acknowledged before an append failed, that append, and its error."""
    conversations = [uuid4(), uuid4()]
    acknowledged = 0
    while True:
        batch = [pair(conversation) for conversation in conversations]
        try:
            verdicts = log.append(batch)
        except (StorageFull, StorageUnavailable) as error:
            return acknowledged, batch[0], error
        assert all(isinstance(verdict, Recorded) for verdict in verdicts)
        acknowledged += 4


def test_tables_without_room_take_nothing_of_an_append(fragile: Server, disk: SmallDisk) -> None:
    log = open_postgres(in_tablespace(fragile, disk))
    acknowledged, refused, error = append_until_full(log)
    assert isinstance(error, StorageFull)
    assert acknowledged > 0
    with pytest.raises(StorageFull, match="make room"):
        log.append([refused])
    disk.enlarge(megabytes=80)
    assert len(verify_all(log)) == acknowledged
    assert isinstance(log.append([refused])[0], Recorded)
    assert len(verify_all(log)) == acknowledged + 2
    log.close()


def test_a_write_ahead_log_without_room_loses_nothing_that_was_acknowledged(
    disk: SmallDisk, fragile: Server
) -> None:
    url = fragile.create("log", migrate)
    move_write_ahead_log(fragile, disk)
    log = open_postgres(url, IMPATIENT)
    acknowledged, unknown, error = append_until_full(log)
    assert acknowledged > 0
    log.close()
    # Whether it recovers and fails again, or gave up: that is how an operator finds it.
    disk.enlarge(megabytes=300)
    with suppress(CalledProcessError):
        fragile.crash()
    fragile.restart()
    again = open_postgres(url)
    found = len(verify_all(again))
    # The server stops at once: some are told why, others find nobody there, and know nothing.
    assert found == acknowledged or isinstance(error, StorageUnavailable)
    assert found in (acknowledged, acknowledged + 4)
    (verdict,) = again.append([unknown])
    assert isinstance(verdict, Recorded if found == acknowledged else Duplicate)
    again.close()


def move_write_ahead_log(server: Server, disk: SmallDisk) -> None:
    """Let the server write ahead to the disk from now on."""
    assert server.carried is not None
    server.stop()
    log = server.carried.pgdata / "pg_wal"
    moved = disk.folder / "pg_wal"
    shutil.move(log, moved)
    for path in (moved, *moved.rglob("*")):
        shutil.chown(path, log.parent.stat().st_uid)
    log.symlink_to(moved)
    server.restart()


def in_tablespace(server: Server, disk: SmallDisk) -> str:
    """The URL of a log whose tables are on the disk; what the server itself needs is elsewhere."""
    assert server.carried is not None
    folder = disk.folder / "tables"
    folder.mkdir()
    shutil.chown(folder, server.carried.pgdata.stat().st_uid)
    url = server.url_of("small")
    with psycopg.connect(server.url, autocommit=True) as operator:
        operator.execute(f"CREATE TABLESPACE small LOCATION '{folder}'".encode())
        operator.execute("CREATE DATABASE small TABLESPACE small")
    migrate(url)
    return url
