"""What can be done to a row by SQL alone, without computing a hash."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from tests.search import SEED, is_whole

Row = dict[str, Any]


class Column(NamedTuple):
    name: str
    kind: str
    required: bool


class Rows(Protocol):
    """The tables of a store, told by the database itself."""

    url: str

    def tables(self) -> list[str]: ...
    def columns(self, table: str) -> list[Column]: ...
    def rows(self, table: str) -> list[Row]: ...
    def change(self, table: str, row: Row, column: str, value: Any) -> None: ...
    def delete(self, table: str, row: Row) -> None: ...
    def insert(self, table: str, row: Row) -> None: ...
    def undo(self, table: str) -> None: ...
    def close(self) -> None: ...


class Tampering(NamedTuple):
    """A change of one row: of a column, or of the whole row (`column` is `*`)."""

    table: str
    column: str
    how: str
    row: Row
    value: Any = None

    def do(self, rows: Rows) -> None:
        match self.how:
            case "deleted":
                rows.delete(self.table, self.row)
            case "doubled":
                rows.insert(self.table, self.value)
            case _:
                rows.change(self.table, self.row, self.column, self.value)


def tamperings(rows: Rows, table: str) -> Iterator[Tampering]:
    """Yield each change of each column of each row of a table, and of the rows as a whole."""
    columns, there = rows.columns(table), rows.rows(table)
    for row in there:
        for column in columns:
            old = row[column.name]
            for value in plausible(column, old):
                yield Tampering(table, column.name, "changed", row, value)
            if old is not None and not column.required:
                yield Tampering(table, column.name, "nulled", row)
            others = (
                other[column.name] for other in there if other[column.name] not in (old, None)
            )
            if (other := next(others, None)) is not None:
                yield Tampering(table, column.name, "another's", row, other)
        yield Tampering(table, "*", "deleted", row)
        for column in columns:
            for value in plausible(column, row[column.name]):
                yield Tampering(table, "*", "doubled", row, {**row, column.name: value})


def drawn(rows: Rows, table: str) -> list[Tampering]:
    """All changes of a table; one of each column where this run leaves out what is long."""
    found = list(tamperings(rows, table))
    if is_whole():
        return found
    chance = random.Random(SEED)
    chance.shuffle(found)
    return list({(one.column, one.how == "deleted"): one for one in found}.values())


def plausible(column: Column, old: Any) -> Iterator[Any]:
    """Yield other values of the kind that a column has."""
    match old:
        case bool():
            yield not old
        case int():
            yield old + 1
            if old > 0:
                yield 0
        case bytes():
            yield bytes([old[0] ^ 1, *old[1:]]) if old else b"x"
        case UUID():
            yield UUID(int=old.int ^ 1)
        case date():
            yield old + timedelta(days=1)
        case str() if old.startswith("{"):
            yield json.dumps({**json.loads(old), "toolu_9": 3}, separators=(",", ":"))
        case str():
            yield f"{old}s"
        case list():
            yield [*old, _of_a_list(column.kind)]
        case _:
            kinds: dict[str, Any] = {
                "BLOB": bytes(16),
                "bytea": bytes(16),
                "jsonb": "{}",
                "smallint": 1,
                "TEXT": "request",
                "text": "request",
                "INTEGER": 1,
                "bigint": 1,
                "uuid": UUID(int=1),
            }
            yield kinds[column.kind]


def _of_a_list(kind: str) -> bytes | int | str:
    if "bytea" in kind:
        return b"toolu_9"
    return "another" if "text" in kind else 3
