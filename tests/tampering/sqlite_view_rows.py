"""The rows of the views of a SQLite log as another program changes them, and as they were."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.sqlite_by_hand import ByHand
from tests.tampering.rows import Column, Row

_TABLES = """
SELECT name FROM pragma_table_list
WHERE schema = 'main' AND type = 'table' AND name LIKE 'view\\_%' ESCAPE '\\' ORDER BY name
"""


class SqliteViewRows:
    """The tables of the views' file, one change at a time; its triggers keep the index of words."""

    def __init__(self, path: Path) -> None:
        self.url = f"sqlite:///{path}"
        self._hand = ByHand.open(path.with_name(f"{path.name}-views"))
        self._untouched = {table: self.rows(table) for table in self.tables()}

    def tables(self) -> list[str]:
        return [name for (name,) in self._hand.run(_TABLES)]

    def columns(self, table: str) -> list[Column]:
        found = self._hand.run(f"PRAGMA main.table_info({table})")
        return [Column(name, kind, bool(notnull)) for _, name, kind, notnull, _, _ in found]

    def rows(self, table: str) -> list[Row]:
        names = [column.name for column in self.columns(table)]
        found = self._hand.run(f"SELECT * FROM main.{table}")
        return [dict(zip(names, row, strict=True)) for row in found]

    def change(self, table: str, row: Row, column: str, value: Any) -> None:
        place, values = _place(row)
        self._hand.run(f"UPDATE main.{table} SET {column} = ? WHERE {place}", value, *values)

    def delete(self, table: str, row: Row) -> None:
        place, values = _place(row)
        self._hand.run(f"DELETE FROM main.{table} WHERE {place}", *values)

    def insert(self, table: str, row: Row) -> None:
        marks = ", ".join("?" for _ in row)
        self._hand.run(f"INSERT INTO main.{table} VALUES ({marks})", *row.values())

    def undo(self, table: str) -> None:
        """Put a table back as it was."""
        self._hand.run(f"DELETE FROM main.{table}")
        for row in self._untouched[table]:
            self.insert(table, row)

    def forget_words(self) -> None:
        """Take a row out of the index of words alone."""
        [(number, words), *_] = self._hand.run("SELECT id, words FROM view_search ORDER BY id")
        place = "view_search_words (view_search_words, rowid, words)"
        self._hand.run(f"INSERT INTO {place} VALUES ('delete', ?, ?)", number, words)

    def close(self) -> None:
        self._hand.close()


def _place(row: Row) -> tuple[str, list[Any]]:
    return " AND ".join(f"{name} IS ?" for name in row), list(row.values())
