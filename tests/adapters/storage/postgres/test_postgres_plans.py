"""Reads and appends that stay as quick in a long conversation as in a short one: by their plans."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import RawCursor

from onrecord.adapters.storage.postgres.postgres import Postgres, migrate, open_postgres
from onrecord.adapters.storage.queries import load_queries
from onrecord.adapters.storage.subscription import NoHints
from onrecord.domain.head import Effect
from onrecord.domain.log import Append, NewEvent, Recorded
from tests.factories import TENANT, appending, raw_event
from tests.postgres_server import VERSIONS, server

QUERIES = load_queries("postgres")
LONG = 3000

PROMPT = Effect(prompts=True)
REQUEST = Effect(points="request")


@pytest.fixture(params=VERSIONS)
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    running = server(request.param)
    created = running.create("log", migrate)
    yield created
    running.drop(created)


@pytest.fixture
def log(url: str) -> Iterator[Postgres]:
    opened = open_postgres(url, new_hints=NoHints)  # One session counts what it reads.
    yield opened
    opened.close()


def events(number: int) -> list[NewEvent]:
    kinds = (PROMPT, REQUEST, Effect(), Effect())
    return [
        raw_event(effect=kinds[n % 4], once=f"message:{uuid4()}" if n % 4 == 2 else None)
        for n in range(number)
    ]


def indexes_of(plan: dict[str, Any]) -> set[str]:
    """The indexes that a plan uses on the events; "all of them" for a scan of the table."""
    found: set[str] = set()
    if plan.get("Relation Name") == "event":
        found.add(plan.get("Index Name", "all of them"))
    for part in plan.get("Plans", ()):
        found |= indexes_of(part)
    return found


@pytest.mark.parametrize(
    ("name", "arguments", "index"),
    [
        ("read", (2900, 3000, 256), "event_version"),
        ("pointed", ("request", 2**62, 1), "event_pointer"),
        ("pointed", ("request", 2**62, 256), "event_pointer"),
        ("tell", (0, 2900, 3000, 256), "event_version"),
        ("exchange_start", (700,), "event_exchange"),
        ("read_log", (2900, 256), "event_pkey"),
    ],
)
@pytest.mark.parametrize("mode", ["force_generic_plan", "force_custom_plan"])
def test_hot_reads_go_by_their_index(
    url: str, log: Postgres, name: str, arguments: tuple[object, ...], index: str, mode: str
) -> None:
    conversation = uuid4()
    log.append([appending(conversation, *events(LONG))])
    log.append([appending(uuid4(), *events(LONG // 3))])
    with psycopg.connect(url, autocommit=True, cursor_factory=RawCursor) as connection:
        connection.execute("ANALYZE onrecord.event")
        connection.execute(f"SET plan_cache_mode = {mode}".encode())
        shard = max(log.cursors(), key=lambda cursor: cursor.position).shard
        first: UUID | int = shard if name == "read_log" else conversation
        query = f"EXPLAIN (FORMAT JSON, ANALYZE) {QUERIES[name]}".encode()
        row = connection.execute(query, (first, *arguments), prepare=True).fetchone()
        assert row is not None
        assert indexes_of(row[0][0]["Plan"]) == {index}


@pytest.mark.parametrize("mode", ["force_generic_plan", "force_custom_plan"])
def test_the_first_events_of_a_page_are_read_by_their_index(
    url: str, log: Postgres, mode: str
) -> None:
    conversations = [uuid4() for _ in range(50)]
    log.append([appending(conversation, *events(60)) for conversation in conversations])
    with psycopg.connect(url, autocommit=True, cursor_factory=RawCursor) as connection:
        connection.execute("ANALYZE onrecord.event")
        connection.execute("ANALYZE onrecord.conversation_head")
        connection.execute(f"SET plan_cache_mode = {mode}".encode())
        query = f"EXPLAIN (FORMAT JSON, ANALYZE) {QUERIES['first_events']}".encode()
        row = connection.execute(query, (conversations[:20],), prepare=True).fetchone()
        assert row is not None
        assert indexes_of(row[0][0]["Plan"]) == {"event_version"}
        assert read_by(row[0][0]["Plan"]) == 20


def read_by(plan: dict[str, Any]) -> int:
    """How many events a plan looked at, those that it left out included."""
    parts = sum(map(read_by, plan.get("Plans", ())))
    if plan.get("Relation Name") != "event":
        return parts
    each = plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0)
    return parts + int(each * plan["Actual Loops"])


MANY_CLOSED = """
INSERT INTO onrecord.conversation_head
SELECT (jsonb_populate_record(
    h, jsonb_build_object('conversation_id', gen_random_uuid(), 'closed', true))).*
FROM onrecord.conversation_head AS h, generate_series(1, 2000) AS n
"""


def test_finding_what_is_not_closed_looks_at_none_that_is(url: str, log: Postgres) -> None:
    for _ in range(3):
        log.append([appending(uuid4(), raw_event())])
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(MANY_CLOSED)
        connection.execute("VACUUM ANALYZE onrecord.conversation_head")
        before = rows_read(connection)
        assert len(log.open_conversations(TENANT)) == 3
        with log.connections.transaction() as reading:
            reading.execute("SELECT pg_stat_force_next_flush()")
        assert rows_read(connection) - before <= 20


def rows_read(connection: psycopg.Connection) -> int:
    """Rows of tables and indexes that were looked at so far, all sessions' counts written."""
    connection.execute("SELECT pg_stat_force_next_flush()")
    row = connection.execute(
        "SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE schemaname = 'onrecord')"
        " + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE schemaname = 'onrecord')"
    ).fetchone()
    assert row is not None
    return int(row[0])


def looked_at(url: str, log: Postgres, batches: Iterable[Sequence[Append]]) -> int:
    """How many rows the server looks at to append these."""
    with psycopg.connect(url, autocommit=True) as connection:
        flush_counts(log)
        before = rows_read(connection)
        for batch in batches:
            verdicts = log.append(batch)
            assert all(isinstance(verdict, Recorded) for verdict in verdicts)
        flush_counts(log)
        return rows_read(connection) - before


def flush_counts(log: Postgres) -> None:
    """Have the server count what the log's session looked at until now."""
    with log.connections.transaction() as writing:
        writing.execute("SELECT pg_stat_force_next_flush()")


@pytest.mark.parametrize("size", [1, 10])
def test_an_append_looks_at_no_more_rows_in_a_long_conversation(
    url: str, log: Postgres, size: int
) -> None:
    chats = [uuid4() for _ in range(size)]

    def batches() -> list[list[Append]]:
        kinds = events(100)
        return [[appending(chat, kinds.pop()) for chat in chats] for _ in range(len(kinds) // size)]

    # From the first append on: plans are made while the tables are empty, and kept.
    short = looked_at(url, log, batches())
    log.append([appending(chats[0], *events(LONG))])
    long = looked_at(url, log, batches())
    assert long <= short * 1.5
    assert long <= 100 * 12


def test_a_large_event_is_written_to_the_log_only(url: str, log: Postgres) -> None:
    log.append([appending(uuid4(), raw_event(body=bytes(8 << 20)))])
    with log.connections.transaction() as writing:
        writing.execute("SELECT pg_stat_force_next_flush()")
    with psycopg.connect(url) as connection:
        files = connection.execute(
            "SELECT temp_files FROM pg_stat_database WHERE datname = current_database()"
        )
        assert files.fetchall() == [(0,)]


# Half of them in a conversation that has one already, each of the others in one of its own.
MANY_BLOBS = """
INSERT INTO onrecord.blob (shard, conversation_id, blob_id, tenant, digest, referenced)
SELECT b.shard, CASE WHEN n % 2 = 0 THEN b.conversation_id ELSE gen_random_uuid() END,
    gen_random_uuid(), b.tenant, sha256(int4send(n)), $2
FROM generate_series($1::integer + 1, $1::integer + 2000) AS n, onrecord.blob AS b
WHERE b.digest = $3
"""


@pytest.mark.parametrize("referenced", [True, False])
def test_an_append_looks_at_no_other_blobs_than_it_refers_to(
    url: str, log: Postgres, referenced: bool
) -> None:
    conversation = uuid4()
    blob = log.put_blob(TENANT, conversation, [b"report"])
    digest = bytes.fromhex(blob.sha256)
    with psycopg.connect(url, autocommit=True, cursor_factory=RawCursor) as connection:
        connection.execute(MANY_BLOBS, (0, referenced, digest))
        connection.execute("VACUUM ANALYZE onrecord.blob")
        connection.execute(MANY_BLOBS, (2000, False, digest))
    assert looked_at(url, log, [[appending(conversation, raw_event(blobs=(blob,)))]]) <= 12
    with psycopg.connect(url) as connection:
        found = connection.execute(
            "SELECT referenced FROM onrecord.blob WHERE digest = %s", (digest,)
        )
        assert found.fetchall() == [(True,)]
