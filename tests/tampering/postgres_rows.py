"""The rows of a log on PostgreSQL as its owner changes them, and as they were."""

from __future__ import annotations

from typing import Any, LiteralString

import psycopg
from psycopg.sql import SQL, Composable, Identifier
from psycopg.types.string import TextLoader

from tests.tampering.rows import Column, Row

_COLUMNS = """
SELECT a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull FROM pg_attribute AS a
WHERE a.attrelid = ('onrecord.' || %s)::regclass AND a.attnum > 0 AND NOT a.attisdropped
    AND a.attgenerated = ''
ORDER BY a.attnum
"""
_TABLES = """
SELECT c.relname FROM pg_class AS c
WHERE c.relnamespace = 'onrecord'::regnamespace AND c.relkind IN ('r', 'p')
    AND (c.relname LIKE 'view\\_%%') = %s ORDER BY c.relname
"""


class PostgresRows:
    """A store's tables, or those of its views, one change at a time, by who may do anything."""

    def __init__(self, url: str, *, of_views: bool = False) -> None:
        self.url = url
        self._of_views = of_views
        self._hand = psycopg.connect(url, autocommit=True)
        # As text, for it is given back as it was.
        self._hand.adapters.register_loader("jsonb", TextLoader)
        # No trigger and no foreign key holds.
        self._hand.execute("SET session_replication_role = replica")
        self._untouched = {table: self.rows(table) for table in self.tables()}

    def tables(self) -> list[str]:
        return [name for (name,) in self._hand.execute(_TABLES, (self._of_views,)).fetchall()]

    def columns(self, table: str) -> list[Column]:
        return [Column(*row) for row in self._hand.execute(_COLUMNS, (table,)).fetchall()]

    def rows(self, table: str) -> list[Row]:
        names = [column.name for column in self.columns(table)]
        wanted = SQL(", ").join(map(Identifier, names))
        found = self._hand.execute(SQL("SELECT {} FROM {}").format(wanted, _named(table)))
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    def change(self, table: str, row: Row, column: str, value: Any) -> None:
        change = SQL("UPDATE {} SET {} = %s WHERE {}")
        statement = change.format(_named(table), Identifier(column), _place(row))
        self._hand.execute(statement, (value, *row.values()))

    def delete(self, table: str, row: Row) -> None:
        statement = SQL("DELETE FROM {} WHERE {}").format(_named(table), _place(row))
        self._hand.execute(statement, tuple(row.values()))

    def insert(self, table: str, row: Row) -> None:
        names = SQL(", ").join(map(Identifier, row))
        marks = SQL(", ").join(SQL("%s") for _ in row)
        statement = SQL("INSERT INTO {} ({}) VALUES ({})").format(_named(table), names, marks)
        self._hand.execute(statement, tuple(row.values()))

    def undo(self, table: str) -> None:
        """Put a table, and what opening the store writes, back as it was."""
        for one in {table} if self._of_views else {table, "meta"}:
            self._hand.execute(SQL("DELETE FROM {}").format(_named(one)))
            for row in self._untouched[one]:
                self.insert(one, row)

    def run(self, statements: LiteralString) -> None:
        """Run statements as who may do anything."""
        self._hand.execute(statements)

    def close(self) -> None:
        self._hand.close()


def _named(table: str) -> Composable:
    return Identifier("onrecord", table)


def _place(row: Row) -> Composable:
    each = [SQL("{} IS NOT DISTINCT FROM %s").format(Identifier(name)) for name in row]
    return SQL(" AND ").join(each)
