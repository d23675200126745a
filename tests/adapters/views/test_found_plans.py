"""What is found, called and remembered costs as much in a large view as in a small one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import RawCursor

from onrecord.adapters.storage.postgres.postgres import migrate
from onrecord.adapters.storage.queries import load_queries
from onrecord.adapters.storage.sqlite.connection import Session
from onrecord.projections.views.search import parse_query
from onrecord.projections.views.view import Row
from tests.adapters.storage.postgres.test_postgres import as_role
from tests.adapters.views.row_stores import ROW_STORES, SqliteStore
from tests.factories import TENANT
from tests.postgres_server import VERSIONS, server

MANY = 5000
LONG = str(UUID(int=7))
ROLE = "onrecord_searcher"
OF_LONG = json.dumps({"conversation_id": LONG})
AFTER = json.dumps({"position": MANY // 2, "first_version": MANY // 2})


def an_event(number: int) -> Row:
    """Each tenth one is of one long conversation."""
    return {
        "tenant": str(TENANT),
        "conversation_id": str(UUID(int=1000 + number)) if number % 10 else LONG,
        **dict.fromkeys(("version", "position", "recorded_at"), number + 1),
        "shard": 0,
        "role": "user",
    }


def a_hit(number: int) -> Row:
    words = f"common w{number % 500}"
    return {**an_event(number), "type": "message.recorded", "text": words, "words": words}


def a_call(number: int) -> Row:
    return {
        **an_event(number),
        "call_id": f"c{number}",
        "kind": "tool",
        "name": "look_up",
        "status": "done",
        "response": str(UUID(int=number)),
        "result_version": number + 2,
        "metadata": {},
        **dict.fromkeys(("arguments_cut", "is_error", "result_cut", "is_redacted"), False),
        "documents": 0,
        "ordinal": 0,
    }


def a_message(number: int) -> Row:
    """Each fiftieth event opens an exchange of the long conversation."""
    return {**an_event(number), "exchange": number, "opens": number % 50 == 0, "shown": True}


ROWS = {
    "search": json.dumps([a_hit(number) for number in range(MANY)]),
    "tool_ledger": json.dumps([a_call(number) for number in range(MANY)]),
    "window": json.dumps([a_message(number) for number in range(MANY)]),
}
KEYS: dict[str, list[Row]] = {
    "search": [{"version": 11}, {"call_id": "c10"}],
    "tool_ledger": [{"at": 11}, {"version": 11}, {"call_id": "c10"}, {"response": LONG}],
    "window": [{"version": 11}, {"exchange": 50}, {"line": LONG}],
}


def keys(view: str) -> str:
    return json.dumps([{"conversation_id": LONG, **key} for key in KEYS[view]])


@pytest.fixture(params=VERSIONS)
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    running = server(request.param)
    created = running.create("log", migrate)
    with psycopg.connect(created, autocommit=True, cursor_factory=RawCursor) as connection:
        for view, rows in ROWS.items():
            put = load_queries("postgres")[f"{view}_put"].encode()
            connection.execute(put, (2, rows, 0, 0))
            connection.execute(f"ANALYZE onrecord.view_{view}".encode())
    yield created
    running.drop(created)


def nodes(plan: dict[str, Any]) -> Iterator[str]:
    """The kinds of a plan's nodes, each with its index or its table where it has one."""
    yield plan.get("Index Name") or plan.get("Relation Name") or plan["Node Type"]
    for part in plan.get("Plans", ()):
        yield from nodes(part)


@pytest.mark.parametrize("mode", ["force_generic_plan", "force_custom_plan"])
def test_postgres_reads_by_an_index(url: str, mode: str) -> None:
    queries = load_queries("postgres")

    def read(query: str, *asked: object) -> set[str]:
        explained = f"EXPLAIN (FORMAT JSON) {queries[query]}".encode()
        row = connection.execute(explained, (2, *asked), prepare=True).fetchone()
        assert row is not None
        return {node for node in nodes(row[0][0]["Plan"]) if node.startswith("view_")}

    with psycopg.connect(url, autocommit=True, cursor_factory=RawCursor) as connection:
        connection.execute(f"SET plan_cache_mode = {mode}".encode())
        assert read("tool_ledger_page", TENANT, "{}", AFTER, 50) == {"view_tool_ledger_position"}
        window = {"view_window_opening", "view_window_pkey"}
        assert read("window_page", TENANT, OF_LONG, AFTER, 5) == window
        assert "view_search_position" in read("search_sweep", 100)
        assert "view_tool_ledger_position" in read("tool_ledger_sweep", 100)
        assert "view_window_pkey" in read("window_sweep", 100)
        # A hundred keys are expected: all rows of so small a table are read as quickly.
        for way in ("seqscan", "hashjoin", "mergejoin"):
            connection.execute(f"SET enable_{way} = off".encode())
        for view in ROWS:
            read_by = read(f"{view}_known", keys(view))
            # A row is looked for by its version, and not among all those of its conversation.
            assert f"view_{view}" not in read_by and f"view_{view}_pkey" in read_by


@pytest.mark.parametrize("bound", [True, False])
def test_postgres_searches_by_words_for_roles_of_one_tenant_too(url: str, bound: bool) -> None:
    running = next(server(version) for version in VERSIONS if f"postgres{version}-" in url)
    running.execute("CREATE ROLE {} LOGIN", ROLE)
    try:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("SELECT onrecord.admit(%s, %s)", (ROLE, TENANT if bound else None))
        assert searched(as_role(url, ROLE)) == (10, 0, 1)
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"DROP OWNED BY {ROLE}".encode())
        running.execute("DROP ROLE {}", ROLE)


def test_postgres_finds_a_frequent_word_among_the_last_rows(url: str) -> None:
    assert searched(url, "common") == (50, 0, 0)


def searched(url: str, text: str = "w7") -> tuple[int, int, int]:
    """How many rows a search finds, how often it reads the table, and how often the words."""
    asked = (2, TENANT, json.dumps(parse_query(text).filters()), "{}", 50)
    with psycopg.connect(url, cursor_factory=RawCursor) as connection:
        found = connection.execute(load_queries("postgres")["search_page"].encode(), asked)
        read = connection.execute(
            "SELECT (SELECT seq_scan FROM pg_stat_xact_user_tables WHERE relname = 'view_search'),"
            " (SELECT pg_stat_get_xact_numscans('onrecord.view_search_lexemes'::regclass))"
        ).fetchone()
        assert read is not None
        return len(found.fetchall()), *read


@pytest.mark.parametrize(
    ("query", "asked", "expected"),
    [
        (
            "tool_ledger_page",
            (2, str(TENANT), "{}", AFTER, 50),
            ["SEARCH view_tool_ledger USING INDEX view_tool_ledger_position"],
        ),
        (
            "window_page",
            (2, str(TENANT), OF_LONG, AFTER, 50),
            [
                "SEARCH view_window USING PRIMARY KEY (generation=? AND conversation_id=? AND version>",
                "SEARCH view_window USING INDEX view_window_opening",
                "SEARCH n USING INDEX view_window_opening",
            ],
        ),
        (
            "search_page",
            (2, str(TENANT), json.dumps(parse_query("w7").filters()), AFTER, 50),
            ["SCAN w VIRTUAL TABLE", "SEARCH v USING INTEGER PRIMARY KEY"],
        ),
        ("search_known", (2, keys("search")), ["SEARCH v USING INTEGER PRIMARY KEY"]),
        (
            "tool_ledger_known",
            (2, keys("tool_ledger")),
            [
                "SEARCH v USING PRIMARY KEY",
                # Of a response with thousands of calls only those of the id are read.
                "view_tool_ledger_response (generation=? AND conversation_id=? AND response=? AND call",
            ],
        ),
        ("window_known", (2, keys("window")), ["SEARCH v USING PRIMARY KEY"]),
        ("search_forget", (LONG,), ["USING COVERING INDEX view_search_version"]),
        ("tool_ledger_forget", (LONG,), ["USING PRIMARY KEY (generation=? AND conversation_id=?"]),
        ("window_forget", (LONG,), ["USING PRIMARY KEY (generation=? AND conversation_id=?"]),
    ],
)
def test_sqlite_reads_by_an_index(
    tmp_path: Path, query: str, asked: tuple[int | str, ...], expected: list[str]
) -> None:
    steps = steps_on_sqlite(tmp_path, query, asked)
    for step in expected:
        assert any(step in each for each in steps)
    tables = ("SCAN view_", "SCAN v", "SCAN d", "SCAN e", "SCAN f")
    assert [each for each in steps if each.startswith(tables)] == []


def test_what_becomes_of_many_windows_is_not_read_anew_for_each(tmp_path: Path) -> None:
    steps = steps_on_sqlite(tmp_path, "window_put", (2, "[]", 0, 0))
    behind = steps[steps.index("SCAN p") :]
    assert not any("SCAN json_each" in step for step in behind)


def steps_on_sqlite(folder: Path, query: str, asked: tuple[int | str, ...]) -> list[str]:
    """The steps by which SQLite answers a query."""
    store = ROW_STORES["sqlite"](folder)
    assert isinstance(store, SqliteStore)
    sql = load_queries("sqlite_views")[query]
    connection = store.connections.take()
    plan = Session(connection, {"plan": f"EXPLAIN QUERY PLAN {sql}"}).all("plan", *asked)
    connection.close()
    store.close()
    return [str(step) for *_, step in plan]
