"""What was forgotten is in no table, statistic or file of PostgreSQL once it was swept.

The write-ahead log is left out: `sweep` says that it holds what was erased until its files are used
again.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, LiteralString

import psycopg
import pytest

import onrecord
from onrecord.adapters.storage.postgres.postgres import migrate
from onrecord.adapters.store import Store
from onrecord.projections.views.registry import VIEWS
from tests.adapters.storage.postgres.test_postgres import as_role
from tests.adapters.views.workers import caught_up
from tests.churned_store import ChurnedStore, found_in
from tests.factories import BECAUSE
from tests.postgres_server import GIVEN, VERSIONS, server

ROLE: Final = "onrecord_sweeping"
FIXED_WORDS: Final = {
    # Of columns that an erasure empties or whose rows it deletes, these hold no content: words that
    # Onrecord itself chose, ids, and digests that are kept anyway.
    "event": {"pointer", "type", "header", "digest", "leaf"},
    "view_audit": {"actor", "type"},
    "view_search": {"type", "role"},
    "view_tool_ledger": {"kind", "status"},
    "view_usage": {"api", "model"},
    "view_window": {"role"},
}
NOTHING_ERASED: Final = {
    *("caller", "checkpoint", "erasure", "generation", "meta", "migration", "parked", "part"),
    *("tenant", "tracking", "view", "worker"),
}

TEXTS: Final[LiteralString] = """
SELECT c.relname, a.attname, a.attstattarget FROM pg_attribute AS a
JOIN pg_class AS c ON c.oid = a.attrelid
WHERE c.relnamespace = 'onrecord'::regnamespace AND c.relkind = 'r' AND a.attnum > 0
    AND NOT a.attisdropped
    AND a.atttypid::regtype::text IN ('text', 'bytea', 'jsonb', 'tsvector', 'text[]', 'bytea[]')
"""

# Tables and statistics as text: bytes as they are where they can be, else in hex.
ALL_TABLES: Final[LiteralString] = """
SELECT c.oid::regclass::text FROM pg_class AS c
WHERE c.relkind IN ('r', 't') AND c.relpersistence = 'p' ORDER BY 1
"""


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


@pytest.fixture
def url(version: str) -> Iterator[str]:
    created = server(version).create("log", migrate)
    yield created
    server(version).drop(created)


def churned(url: str, store: Store, seed: int, steps: int) -> ChurnedStore:
    """A store in which much was said, folded and analysed."""
    made = ChurnedStore(store, seed)
    made.begin(8)
    made.churn(steps)
    caught_up(url, VIEWS)
    if seed % 2:
        made.rebuild()
    run(url, "ANALYZE")
    return made


def run(url: str, statement: LiteralString) -> list[tuple[Any, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


def in_tables(url: str, pieces: frozenset[bytes]) -> dict[str, int]:
    """How many pieces are in the rows of which tables, catalogues and statistics included."""
    held: dict[str, int] = {}
    in_hex = {piece.hex().encode(): piece for piece in pieces}
    with psycopg.connect(url, autocommit=True) as connection:
        for (table,) in connection.execute(ALL_TABLES).fetchall():
            with connection.cursor().copy(
                f"COPY (SELECT * FROM {table}) TO STDOUT".encode()
            ) as rows:
                data = b"".join(bytes(row) for row in rows)
            found = found_in(pieces, data)
            found |= {piece for text, piece in in_hex.items() if text in data}
            held[table] = len(found)
        rows_of = connection.execute("SELECT s::text FROM pg_stats AS s").fetchall()
        told = "\n".join(text for (text,) in rows_of).encode()
        held["pg_stats"] = len(found_in(pieces, told))
        held["pg_stats"] += sum(text in told for text in in_hex)
    return {table: count for table, count in held.items() if count}


def in_files(url: str, version: str, pieces: frozenset[bytes]) -> dict[str, int]:
    """How many pieces are in which files of the server, but for the write-ahead log."""
    run(url, "CHECKPOINT")
    [(oid,)] = run(url, "SELECT oid FROM pg_database WHERE datname = current_database()")
    carried = server(version).carried
    assert carried is not None
    folder = Path(carried.pgdata)
    others = {f"base/{name.name}" for name in (folder / "base").iterdir() if name.name != str(oid)}
    held = {
        str(path.relative_to(folder)): len(found_in(pieces, path.read_bytes()))
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and path.relative_to(folder).parts[0] != "pg_wal"
        and str(path.parent.relative_to(folder)) not in others
    }
    return {name: count for name, count in held.items() if count}


def forgotten_is_nowhere(url: str, version: str, seed: int, steps: int) -> None:
    with onrecord.connect(url) as store:
        made = churned(url, store, seed, steps)
        kept_before = frozenset(made.kept())
        assert in_files(url, version, kept_before)
        pieces = frozenset(made.forget_some())
        caught_up(url, VIEWS)
        run(url, "ANALYZE")
        assert in_tables(url, pieces) == {}
        assert in_files(url, version, pieces)
        swept = store.sweep()
        assert [sentence[:27] for sentence in swept.residue] == ["PostgreSQL's write-ahead lo"]
        run(url, "ANALYZE")
        assert in_tables(url, pieces) == {}
        assert in_files(url, version, pieces) == {}
        assert in_files(url, version, frozenset(made.kept()))
        assert store.verify().is_whole


@pytest.mark.skipif(bool(GIVEN), reason="the files of a server that was given are not here")
@pytest.mark.parametrize("seed", [1])
def test_what_is_forgotten_is_in_no_file_once_it_was_swept(
    url: str, version: str, seed: int
) -> None:
    forgotten_is_nowhere(url, version, seed, steps=60)


@pytest.mark.soak
@pytest.mark.skipif(bool(GIVEN), reason="the files of a server that was given are not here")
@pytest.mark.parametrize("seed", range(100, 110))
def test_whatever_is_said_and_forgotten_it_is_in_no_file_once_it_was_swept(
    url: str, version: str, seed: int
) -> None:
    forgotten_is_nowhere(url, version, seed, steps=400)


def test_no_statistics_are_kept_of_what_an_erasure_takes(url: str) -> None:
    shown = {
        (table, column)
        for table, column, target in run(url, TEXTS)
        if target != 0
        and table not in NOTHING_ERASED
        and column not in FIXED_WORDS.get(table, set())
    }
    assert shown == set()


def test_who_does_not_own_the_tables_is_told_of_all_of_them(url: str, version: str) -> None:
    tables = {
        f"onrecord.{name}"
        for (name,) in run(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'onrecord'")
    }
    running = server(version)
    running.execute("CREATE ROLE {} LOGIN", ROLE)
    try:
        run(url, "SELECT onrecord.admit_eraser('onrecord_sweeping')")
        with onrecord.connect(url) as store:
            store.conversation("a").user("Hello")
            store.forget("a", **BECAUSE)
        with onrecord.connect(as_role(url, ROLE)) as store:
            residue = store.sweep().residue
            assert len(residue) == 2
            assert set(residue[0].rpartition("VACUUM (FULL) ")[2].split(", ")) == tables
        with onrecord.connect(url) as store:
            assert len(store.sweep(rewrite=False).residue) == 2
            assert len(store.sweep().residue) == 1
        with onrecord.connect(as_role(url, ROLE)) as store:
            assert store.sweep().residue == ()
    finally:
        run(url, "DROP OWNED BY onrecord_sweeping")
        running.execute("DROP ROLE {}", ROLE)


def test_what_an_older_transaction_still_sees_is_not_said_to_be_gone(url: str) -> None:
    with onrecord.connect(url) as store, psycopg.connect(url) as older:
        store.conversation("a").user("Hello")
        older.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        older.execute("SELECT 1 FROM pg_class LIMIT 1")
        store.forget("a", **BECAUSE)
        assert len(store.sweep().residue) == 2
        older.rollback()
        assert len(store.sweep().residue) == 1


def test_a_table_that_others_hold_is_left_for_the_next_time(url: str) -> None:
    with onrecord.connect(url) as store, psycopg.connect(url) as holding:
        store.conversation("a").user("Hello")
        store.forget("a", **BECAUSE)
        holding.execute("LOCK TABLE onrecord.view_search IN ACCESS SHARE MODE")
        assert len(store.sweep().residue) == 2
        holding.rollback()
        assert len(store.sweep().residue) == 1
