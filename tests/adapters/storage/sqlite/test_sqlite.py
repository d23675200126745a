"""What SQLite promises beyond the contract: immutable rows, forks, turns, constant cost."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast
from uuid import UUID, uuid4

import apsw
import pytest

from onrecord.adapters.storage.queries import load_migrations, load_queries, parse_queries
from onrecord.adapters.storage.sqlite.sqlite import Sqlite, open_sqlite
from onrecord.domain.errors import StorageBusy
from tests.factories import (
    TENANT,
    answer,
    appending,
    attachment,
    prompt,
    raw_event,
    started,
)
from tests.ledger import verified_log
from tests.sqlite_by_hand import ByHand


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


@pytest.fixture
def store(path: Path) -> Iterator[Sqlite]:
    opened = open_sqlite(path)
    yield opened
    opened.close()


@pytest.fixture
def raw(store: Sqlite, path: Path) -> Iterator[ByHand]:
    """A connection of somebody who does not care for the rules."""
    store.append([appending(uuid4(), started(), prompt())])
    connection = ByHand.open(path)
    yield connection
    connection.close()


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM event",
        "DELETE FROM event WHERE position = 2",
        "UPDATE event SET body = x'00'",
        "UPDATE event SET salt = x'00'",
        "UPDATE event SET once = x'00'",
        "UPDATE event SET type = 'other', body = NULL, salt = NULL, once = NULL",
        "UPDATE event SET rowid = rowid + 10, body = NULL, salt = NULL, once = NULL",
        "UPDATE event SET points = 'tools', body = NULL, salt = NULL, once = NULL",
        "UPDATE event SET leaf = digest, body = NULL, salt = NULL, once = NULL",
        "REPLACE INTO event SELECT * FROM event WHERE position = 2",
        """REPLACE INTO event SELECT 3, conversation_id, 3, exchange, points,
           event_id, type, schema_version, recorded_at, once, header, digest, leaf, salt, body
           FROM event WHERE position = 2""",
        """INSERT INTO event SELECT 9, conversation_id, 3, exchange, points,
           x'01', type, schema_version, recorded_at, NULL, header, digest, leaf, salt, body
           FROM event WHERE position = 2""",
        "INSERT OR REPLACE INTO event SELECT * FROM event WHERE position = 1",
    ],
)
def test_events_cannot_be_changed_by_hand(store: Sqlite, raw: ByHand, statement: str) -> None:
    with pytest.raises(apsw.ConstraintError, match="immutable"):
        raw.run(statement)
    assert len(verified_log(store)) == 2


def test_only_what_is_said_can_be_erased_by_hand(store: Sqlite, raw: ByHand) -> None:
    raw.run("UPDATE event SET body = NULL, salt = NULL, once = NULL")
    assert [event.body for event in verified_log(store)] == [None, None]


def test_a_key_is_flushed_with_what_is_said_behind_it(store: Sqlite) -> None:
    levels = Flushes(store)
    conversation = store.open(TENANT, "support/4711")
    assert levels.of_commits == [NORMAL]
    store.append([appending(conversation, started(), prompt())])
    store.put_blob(TENANT, conversation, (b"data",))
    assert levels.of_commits == [NORMAL, FULL, FULL]


def test_what_broke_off_amid_an_unflushed_commit_leaves_the_next_one_flushed(store: Sqlite) -> None:
    with pytest.raises(ZeroDivisionError), store.file.writing(is_flushed=False):
        _ = 1 / 0
    levels = Flushes(store)
    store.append([appending(uuid4(), started(), prompt())])
    assert levels.of_commits == [FULL]


NORMAL, FULL = 1, 2


class Flushes:
    """How the commits of a store's connection are flushed."""

    def __init__(self, store: Sqlite) -> None:
        self.of_commits: list[int] = []
        (connection,) = store.file.connections.idle

        def commits() -> bool:
            (level,) = cast("Any", connection).execute("PRAGMA synchronous").fetchone()
            self.of_commits.append(level)
            return False

        connection.set_commit_hook(commits)


def test_what_is_forgotten_is_in_none_of_the_files(path: Path) -> None:
    canary = "Ada's canary"
    store = open_sqlite(path)
    conversations = [store.open(TENANT, f"{canary} {n}") for n in range(20)]
    for n, conversation in enumerate(conversations):
        blob = store.put_blob(TENANT, conversation, [canary.encode() * 1000])
        requests = [
            appending(conversation, started(f"{canary} {n}"), attachment(blob)),
            appending(conversation, prompt(canary * n * 50), answer(f"{n} {canary}")),
        ]
        for request in requests:
            store.append([request])
    assert any(canary.encode() in file.read_bytes() for file in path.parent.iterdir())
    for conversation in conversations:
        store.forget(conversation)
    holding = [f.name for f in path.parent.iterdir() if canary.encode() in f.read_bytes()]
    assert holding == []
    assert len(verified_log(store)) == 80
    store.close()
    assert [f.name for f in path.parent.iterdir() if canary.encode() in f.read_bytes()] == []


def test_what_is_erased_while_another_program_reads_is_finished_later(path: Path) -> None:
    store, conversation, reader = erased_while_read(path)
    with pytest.raises(StorageBusy, match=f"`onrecord forget {conversation}`"):
        store.forget(conversation)
    assert [event.body for event in store.read(conversation)] == [None]
    assert holds_the_canary(path)
    reader.run("ROLLBACK")
    assert store.forget(conversation) == 0
    assert not holds_the_canary(path)
    reader.close()
    store.close()


def test_the_next_append_finishes_an_erasure(path: Path) -> None:
    store, _, reader = erased_while_read(path)
    for ends in (False, True):
        if ends:
            reader.run("ROLLBACK")
        store.append([appending(uuid4(), started())])
        assert holds_the_canary(path) is not ends
    assert reader.run("SELECT unemptied FROM meta") == [(0,)]
    reader.close()
    store.close()


def test_opening_a_file_finishes_an_erasure(path: Path) -> None:
    store, _, reader = erased_while_read(path)
    store.close()
    open_sqlite(path).close()
    assert holds_the_canary(path)
    reader.run("ROLLBACK")
    open_sqlite(path).close()
    assert not holds_the_canary(path)
    reader.close()


def erased_while_read(path: Path) -> tuple[Sqlite, UUID, ByHand]:
    """A conversation that was forgotten while another program had a snapshot of it."""
    store = open_sqlite(path, wait=0.05)
    conversation = uuid4()
    store.append([appending(conversation, started("Ada's canary"))])
    reader = ByHand.open(path)
    reader.run("BEGIN")
    reader.run("SELECT * FROM event")
    with pytest.raises(StorageBusy):
        store.forget(conversation)
    return store, conversation, reader


def holds_the_canary(path: Path) -> bool:
    return any(b"canary" in file.read_bytes() for file in path.parent.iterdir())


def test_no_key_stands_anywhere_in_clear_but_in_bodies(store: Sqlite, path: Path) -> None:
    store.open(TENANT, "Ada's canary")
    assert all(b"canary" not in file.read_bytes() for file in path.parent.iterdir())


def plan_of(raw: ByHand, query: str, *values: bytes | int | str) -> str:
    plan = raw.run(f"EXPLAIN QUERY PLAN {load_queries('sqlite')[query]}", *values)
    return "; ".join(row[3] for row in plan)


def test_the_catalogue_reads_a_tenants_heads_and_no_others(raw: ByHand) -> None:
    plan = plan_of(raw, "select_conversations", b"1")
    assert plan.startswith(
        "SEARCH conversation_head USING INDEX conversation_head_tenant (tenant=?)"
    )


@pytest.mark.parametrize(
    ("query", "values", "index"),
    [
        ("log_end", (), "SEARCH event USING INTEGER PRIMARY KEY (rowid=?)"),
        ("known_by_id", (b"1",), "event_event_id (event_id=?)"),
        ("known_by_once", (b"1", b"1"), "event_once (conversation_id=? AND once=?)"),
        ("select_head", (b"1",), "PRIMARY KEY (conversation_id=?)"),
        (
            "select_conversation",
            (b"1", 1, 2, 3),
            "event_version (conversation_id=? AND version>? AND version<?)",
        ),
        (
            "select_told",
            (b"1", 1, 0, 2, 3),
            "event_version (conversation_id=? AND version>? AND version<?)",
        ),
        ("open_conversations", (b"1",), "conversation_head_open (tenant=?)"),
        ("inventory_erasures", (b"1",), "erasure_conversation_id (conversation_id=?)"),
        ("select_log", (1, 2), "INTEGER PRIMARY KEY (rowid>?)"),
        (
            "select_pointed",
            (b"1", "tools", 3, 1),
            "event_points (conversation_id=? AND points=? AND version<?)",
        ),
        ("select_exchange_start", (b"1", 3), "event_version (conversation_id=? AND version=?)"),
        ("sweep_blobs", (1, 2, "a", 3), "SCAN blob USING INDEX blob_unreferenced"),
        ("forget_events", (b"1",), "event_version (conversation_id=?)"),
        ("forget_key", (b"1",), "conversation_key_conversation_id (conversation_id=?)"),
        ("select_blob", (b"1", b"1"), "(conversation_id=? AND sha256=?)"),
        ("select_piece", (1, 1), "(blob=? AND ordinal=?)"),
        ("last_notification", (b"1",), "conversation_head_tenant (tenant=? AND conversation_id=?)"),
        (
            "tracked",
            (b"t", "a", "b"),
            "PRIMARY KEY (tenant=? AND follower=? AND application=?)",
        ),
        ("stored_events", (b"1", 1, 2, 3), "event_version (conversation_id=? AND version>?"),
        (
            "notifications",
            (b"1", 1, 2, '["a"]', 3),
            "INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
        ),
    ],
)
def test_every_query_is_answered_by_an_index(
    raw: ByHand,
    query: str,
    values: tuple[bytes | int | str, ...],
    index: str,
) -> None:
    plan = plan_of(raw, query, *values)
    assert index in plan
    assert "TEMP B-TREE" not in plan


def test_an_append_writes_as_many_pages_at_any_length(path: Path) -> None:
    store = open_sqlite(path)
    conversation = uuid4()
    grown: list[int] = []
    for _ in range(3):
        store.append([appending(conversation, *(raw_event() for _ in range(2000)))])
        grown.append(wal_size_of_an_append(path, store))
    store.close()
    assert max(grown) - min(grown) <= 3 * (4096 + 24)


def wal_size_of_an_append(path: Path, store: Sqlite) -> int:
    raw = ByHand.open(path)
    raw.run("PRAGMA wal_checkpoint(TRUNCATE)")
    raw.close()
    store.append([appending(uuid4(), raw_event(), raw_event())])
    return path.with_name("log.db-wal").stat().st_size


def test_migrations_count_up_from_one() -> None:
    versions = [migration.version for migration in load_migrations("sqlite")]
    assert versions == list(range(1, len(versions) + 1))


def test_a_query_must_have_a_name_of_its_own() -> None:
    queries = "-- name: a\n-- why\nSELECT 1;\n\n-- name: b\n-- why\nSELECT\n  2;\n"
    assert parse_queries(queries) == {"a": "SELECT 1;", "b": "SELECT\n  2;"}
    with pytest.raises(ValueError, match="twice"):
        parse_queries(queries + queries)
