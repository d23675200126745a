"""What another session does between two steps of a function of the log: nothing is lost by it."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Final
from uuid import UUID, uuid4

import psycopg
import pytest

from onrecord.adapters.storage.postgres.batch import packed, parameters_of
from onrecord.adapters.storage.postgres.connections import LogConnection, fetched
from onrecord.adapters.storage.postgres.postgres import Postgres, migrate, open_postgres
from onrecord.adapters.upkeep.verifying import verify_log
from onrecord.domain.errors import StorageReadOnly
from onrecord.domain.log import Recorded, Verdict
from tests.factories import TENANT, appending, raw_event
from tests.patience import PATIENCE, until
from tests.postgres_server import VERSIONS, Server, server
from tests.postgres_sessions import WAITING_SESSIONS, counted

REPORT: Final = b"%PDF-1.7 the report"
HOUR: Final = 3_600_000_000
PASSAGE: Final = 4711
"""The lock that closes a passage."""

WAITING_FOR_LOCKS: Final = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND wait_event_type = 'Lock' AND wait_event = 'advisory'
"""
# A trigger of a statement fires whether rows are changed or none; a sequence counts across rollbacks.
PASSAGE_OF: Final = """
CREATE SEQUENCE public.passages;
CREATE FUNCTION public.pass() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF nextval('public.passages') = {number} THEN
        PERFORM pg_advisory_xact_lock(4711);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER passage {moment} ON onrecord.{table} FOR EACH STATEMENT EXECUTE FUNCTION public.pass();
"""


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
def log(url: str) -> Iterator[Postgres]:
    opened = open_postgres(url)
    yield opened
    opened.close()


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


@contextmanager
def passage(url: str, table: str, moment: str, number: int) -> Generator[None]:
    """Stop who comes by so many changes of a table, until the scope ends."""
    with psycopg.connect(url, autocommit=True) as guard:
        guard.execute(PASSAGE_OF.format(table=table, moment=moment, number=number).encode())
        guard.execute("SELECT pg_advisory_lock(%s)", (PASSAGE,))
        yield


def appended(connection: LogConnection, log: Postgres, tenant: UUID, conversation: UUID) -> None:
    """Begin a conversation in the transaction of a connection."""
    request = appending(conversation, raw_event(), tenant=tenant)
    [(verdict, *_)] = fetched(connection, "append", parameters_of(packed([request], log.digest)))
    assert verdict == "recorded"


def elsewhere(log: Postgres) -> UUID:
    """A tenant of another shard than TENANT's."""
    log.append([appending(uuid4(), raw_event())])
    tenant = uuid4()
    while sum(cursor.position > 0 for cursor in log.cursors()) < 2:
        tenant = uuid4()
        log.append([appending(uuid4(), raw_event(), tenant=tenant)])
    return tenant


def waits_or_ended(url: str, done: Future[Any]) -> None:
    until(lambda: done.done() or counted(url, WAITING_SESSIONS), "the second tenant")


def test_one_id_begins_in_one_shard_only(
    url: str, log: Postgres, threads: ThreadPoolExecutor
) -> None:
    shared, other = uuid4(), elsewhere(log)
    late = appending(shared, raw_event(), tenant=other)
    with log.connections.transaction() as connection:
        appended(connection, log, TENANT, shared)
        second = threads.submit(log.append, [late])
        waits_or_ended(url, second)
    with pytest.raises(StorageReadOnly, match="another tenant's"):
        second.result(PATIENCE)
    assert [event.version for event in log.read(shared)] == [1]
    assert log.owner(shared) == TENANT
    assert log.forget(shared) == 1


def test_one_id_may_begin_elsewhere_where_its_first_append_is_undone(
    url: str, log: Postgres, threads: ThreadPoolExecutor
) -> None:
    shared, other = uuid4(), elsewhere(log)
    late = appending(shared, raw_event(), tenant=other)
    second: Future[list[Verdict]] = Future()
    with pytest.raises(KeyError), log.connections.transaction() as connection:
        appended(connection, log, TENANT, shared)
        second = threads.submit(log.append, [late])
        waits_or_ended(url, second)
        raise KeyError
    [verdict] = second.result(PATIENCE)
    assert isinstance(verdict, Recorded)
    assert log.owner(shared) == other


def test_a_conversation_is_forgotten_where_its_events_are(log: Postgres) -> None:
    """Another tenant may have named the id before it began, in another shard."""
    shared, other = uuid4(), elsewhere(log)
    log.open(other, "a key", shared)
    log.put_blob(other, shared, [REPORT])
    log.append([appending(shared, raw_event())])
    assert log.forget(shared) == 1
    assert [event.body for event in log.read(shared)] == [None]


def test_heads_of_one_id_are_all_verified(url: str, log: Postgres) -> None:
    """No append makes two, but somebody may who takes the index away."""
    other = elsewhere(log)
    log.append([appending(UUID(int=number), raw_event()) for number in range(1, 65)])
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute("DROP INDEX onrecord.conversation_head_id")
        owner.execute(
            "UPDATE onrecord.conversation_head SET conversation_id = %s WHERE tenant = %s",
            (UUID(int=64), other),
        )
    found = verify_log(log)
    assert any("more than one head" in fault.why for fault in found.faults)
    assert found.conversations == len(heads(url))


def heads(url: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute("SELECT FROM onrecord.conversation_head").fetchall()


def test_a_key_that_is_forgotten_as_it_is_looked_up_is_free(
    url: str, log: Postgres, threads: ThreadPoolExecutor
) -> None:
    first, proposed = uuid4(), uuid4()
    assert log.open(TENANT, "key", first) == first
    place = (TENANT, log.digest("key"), proposed)
    with passage(url, "conversation_key", "AFTER INSERT", 1):
        opened = threads.submit(log.connections.ask, "open_conversation", place)
        until(lambda: counted(url, WAITING_FOR_LOCKS), "who opens")
        assert log.forget(first) == 0
    assert opened.result(PATIENCE) == [(proposed,)]
    assert log.find(TENANT, "key") == proposed


def test_a_document_stays_whose_other_copy_is_swept_as_it_is_sealed(
    url: str, log: Postgres, threads: ThreadPoolExecutor
) -> None:
    conversation = uuid4()
    log.put_blob(TENANT, conversation, [REPORT])
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute("UPDATE onrecord.blob SET stored_at = stored_at - %s", (2 * HOUR,))
    with passage(url, "blob", "BEFORE UPDATE", 2):
        stored = threads.submit(log.put_blob, TENANT, conversation, [REPORT])
        until(lambda: counted(url, WAITING_FOR_LOCKS), "who seals")
        assert log.sweep_blobs(HOUR) == 1
    assert b"".join(log.get_blob(conversation, stored.result(PATIENCE))) == REPORT
    assert counted(url, "SELECT count(*) FROM onrecord.blob") == 1


def test_a_document_that_is_there_is_kept_once(url: str, log: Postgres) -> None:
    conversation = uuid4()
    first, *others = [log.put_blob(TENANT, conversation, [REPORT]) for _ in range(3)]
    assert others == [first, first]
    assert counted(url, "SELECT count(*) FROM onrecord.blob_chunk") == 1
