"""Lists of conversations and of usage that cost as much in a large view as in a small one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import RawCursor

from onrecord.adapters.storage.postgres.postgres import migrate
from onrecord.adapters.storage.queries import load_queries
from onrecord.adapters.storage.sqlite.connection import Session
from onrecord.projections.views.view import Row
from tests.adapters.views.row_stores import ROW_STORES, SqliteStore
from tests.factories import TENANT
from tests.postgres_server import VERSIONS, server

MANY = 5000
KEYS = json.dumps([{"conversation_id": str(UUID(int=7)), "request": "r7"}])
AFTER = {
    "conversations": json.dumps({"last_position": MANY // 2}),
    "usage": json.dumps({"day": "2021-06-01", "api": "a", "model": "m5"}),
}


def a_conversation(number: int) -> Row:
    counts = (
        *("exchanges", "user_messages", "assistant_messages", "system_messages", "tool_calls"),
        *("server_tool_calls", "documents", "responses", "interrupted", "failed"),
        *("input_tokens", "output_tokens", "shard"),
    )
    return {
        "tenant": str(TENANT),
        "conversation_id": str(UUID(int=number)),
        **dict.fromkeys(("last_position", "last_at", "started_at", "version"), number),
        **{column: ["name"] for column in ("participants", "providers", "models")},
        **dict.fromkeys(("key", "title", "title_version", "origin")),
        **dict.fromkeys(counts, 0),
        "closed": False,
    }


def a_day_of_usage(number: int) -> Row:
    """Ten models a day, and each tenth row an open request."""
    counts = ("responses", "input_tokens", "output_tokens", "cached_tokens")
    is_open = number % 10 == 0
    return {
        "tenant": str(TENANT),
        "day": (date(2021, 1, 1) + timedelta(days=number // 10)).isoformat(),
        "api": "a",
        "model": f"m{number % 10}",
        "request": f"r{number}" if is_open else "",
        "conversation_id": str(UUID(int=number)) if is_open else None,
        **dict.fromkeys((*counts, "cache_write_tokens", "reasoning_tokens"), 1),
    }


ROWS = {
    "conversations": json.dumps([a_conversation(number) for number in range(MANY)]),
    "usage": json.dumps([a_day_of_usage(number) for number in range(MANY)]),
}


@pytest.fixture(params=VERSIONS)
def filled(request: pytest.FixtureRequest) -> Iterator[psycopg.Connection[Any]]:
    running = server(request.param)
    url = running.create("log", migrate)
    queries = load_queries("postgres")
    with psycopg.connect(url, autocommit=True, cursor_factory=RawCursor) as connection:
        for view, rows in ROWS.items():
            for generation in (1, 2):
                connection.execute(queries[f"{view}_put"].encode(), (generation, rows, 0, 0))
            connection.execute(f"ANALYZE onrecord.view_{view}".encode())
        yield connection
    running.drop(url)


def nodes(plan: dict[str, Any]) -> Iterator[str]:
    """The kinds of a plan's nodes, each with its index where it has one."""
    yield plan.get("Index Name", plan["Node Type"])
    for part in plan.get("Plans", ()):
        yield from nodes(part)


def plan_of(connection: psycopg.Connection[Any], query: str, asked: Sequence[object]) -> set[str]:
    explained = f"EXPLAIN (FORMAT JSON) {load_queries('postgres')[query]}".encode()
    row = connection.execute(explained, asked, prepare=True).fetchone()
    assert row is not None
    return set(nodes(row[0][0]["Plan"]))


@pytest.mark.parametrize("mode", ["force_generic_plan", "force_custom_plan"])
def test_postgres_reads_by_an_index_and_sorts_nothing(
    filled: psycopg.Connection[Any], mode: str
) -> None:
    filled.execute(f"SET plan_cache_mode = {mode}".encode())

    def plan(query: str) -> set[str]:
        view, _, verb = query.partition("_")
        asked = {
            "page": (2, TENANT, "{}", AFTER[view], 50),
            "sweep": (2, 100),
            "known": (2, KEYS),
            "drop": (2, KEYS),
        }
        return plan_of(filled, query, asked[verb])

    assert plan("conversations_page") == {"Limit", "view_conversations_last"}
    assert plan("usage_page") == {"Limit", "Aggregate", "view_usage_day"}
    assert "view_conversations_last" in plan("conversations_sweep")
    assert "view_usage_day" in plan("usage_sweep")
    # A hundred keys are expected: all rows of so small a table are read as quickly.
    for way in ("seqscan", "hashjoin", "mergejoin"):
        filled.execute(f"SET enable_{way} = off".encode())
    for query in ("conversations_known", "conversations_drop"):
        assert "view_conversations_pkey" in plan(query)
    for query in ("usage_known", "usage_drop"):
        assert "view_usage_request" in plan(query)


@pytest.mark.parametrize(
    ("query", "asked", "expected"),
    [
        (
            "conversations_page",
            (2, str(TENANT), "{}", AFTER["conversations"], 50),
            "view_conversations_last (generation=? AND tenant=? AND last_position<?)",
        ),
        ("conversations_known", (2, KEYS), "PRIMARY KEY (conversation_id=? AND generation=?)"),
        ("conversations_drop", (2, KEYS), "PRIMARY KEY (conversation_id=? AND generation=?)"),
        ("conversations_forget", (str(UUID(int=7)),), "PRIMARY KEY (conversation_id=?)"),
        (
            "usage_page",
            (2, str(TENANT), "{}", AFTER["usage"], 50),
            "PRIMARY KEY (generation=? AND tenant=? AND day>? AND day<?)",
        ),
        ("usage_known", (2, KEYS), "view_usage_request (request=?)"),
        ("usage_drop", (2, KEYS), "view_usage_request (request=?)"),
        ("usage_forget", (str(UUID(int=7)),), "view_usage_conversation (conversation_id=?)"),
    ],
)
def test_sqlite_reads_by_an_index_and_sorts_nothing(
    tmp_path: Path, query: str, asked: tuple[int | str, ...], expected: str
) -> None:
    store = ROW_STORES["sqlite"](tmp_path)
    assert isinstance(store, SqliteStore)
    sql = load_queries("sqlite_views")[query]
    connection = store.connections.take()
    plan = Session(connection, {"plan": f"EXPLAIN QUERY PLAN {sql}"}).all("plan", *asked)
    connection.close()
    store.close()
    steps = [str(step) for *_, step in plan]
    assert any(step.endswith(expected) for step in steps)
    assert not any("TEMP B-TREE" in step for step in steps)
