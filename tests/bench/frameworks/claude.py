"""500 entries of a transcript of Claude's SDK, appended at once, beside a plain insert of the same rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count
from typing import Any, Final
from uuid import uuid4

import psycopg

import onrecord
from onrecord.domain import jsontext
from tests.bench.measure import Aim, Contender, Measure, Work, take_turns
from tests.bench.pairings import GUARANTEES, Pairing
from tests.bench.payload import text

_ENTRIES: Final = 500
_AIMS: Final = {"sqlite": Aim(50, "below"), "postgres": Aim(100, "below")}
"""Milliseconds: the SDK has no database of its own to compare with."""

Rows = Sequence[tuple[int, bytes]]


def measures(pairing: Pairing) -> Iterator[Measure]:
    """Yield the append, and how it compares with a plain insert."""
    pairing.workspace.say(f"frameworks, Claude, {pairing.database}: {_ENTRIES} entries")
    ours, plain = take_turns((_ours(pairing), _plain(pairing)), pairing.workspace.scale.pace)
    name = f"frameworks.claude.{pairing.database}.append"
    yield Measure(name, "ms", ours, aim=_AIMS[pairing.database])
    yield Measure(f"{name}.beside", "ms", ours, plain)


def _ours(pairing: Pairing) -> Contender:
    from onrecord.frameworks.claude import ClaudeSessionStore, SessionKey

    store = pairing.workspace.closing.enter_context(onrecord.connect(pairing.our_url()))
    sessions = ClaudeSessionStore(store)
    key = SessionKey(project_key="desk", session_id="one")

    def prepare(_: int) -> Work:
        return partial(sessions.append, key, _entries())

    what = f"ClaudeSessionStore.append of {_ENTRIES} entries of 1 KB"
    return Contender(what, GUARANTEES[pairing.database], prepare, pairing.loop.clock)


def _plain(pairing: Pairing) -> Contender:
    insert = _postgres(pairing) if pairing.database == "postgres" else _sqlite(pairing)
    numbers = count()

    def prepare(_: int) -> Work:
        rows = [(next(numbers), jsontext.write(entry)) for entry in _entries()]
        return partial(insert, rows)

    what = f"INSERT of {_ENTRIES} rows of 1 KB, ready as bytes"
    return Contender(what, GUARANTEES[pairing.database], prepare)


def _sqlite(pairing: Pairing) -> Callable[[Rows], object]:
    connection = sqlite3.connect(pairing.workspace.path("plain.db"), isolation_level=None)
    pairing.workspace.closing.callback(connection.close)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE plain (id integer PRIMARY KEY, body blob NOT NULL)")

    def insert(rows: Rows) -> None:
        connection.execute("BEGIN")
        connection.executemany("INSERT INTO plain (id, body) VALUES (?, ?)", rows)
        connection.execute("COMMIT")

    return insert


def _postgres(pairing: Pairing) -> Callable[[Rows], object]:
    connection = psycopg.connect(pairing.workspace.database(), autocommit=True)
    pairing.workspace.closing.callback(connection.close)
    connection.execute("CREATE TABLE plain (id bigint PRIMARY KEY, body bytea NOT NULL)")

    def insert(rows: Rows) -> None:
        with connection.transaction(), connection.cursor() as cursor:
            cursor.executemany("INSERT INTO plain (id, body) VALUES (%b, %b)", rows)

    return insert


def _entries() -> list[dict[str, Any]]:
    return [
        {
            "type": "user",
            "uuid": str(uuid4()),
            "sessionId": "one",
            "timestamp": "2026-11-24T09:00:00.000Z",
            "message": {"role": "user", "content": text()},
        }
        for _ in range(_ENTRIES)
    ]
