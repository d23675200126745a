"""The rows of a SQLite log as another program changes them, and as they were."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.sqlite_by_hand import Unruled
from tests.tampering.rows import Column, Row


class SqliteRows:
    """A closed store's tables, one change at a time."""

    def __init__(self, path: Path) -> None:
        self.url = f"sqlite:///{path}"
        self._path = path
        self._lock = path.with_name(f"{path.name}-lock")
        self._marked = self._lock.read_bytes()
        self._hand = Unruled.open(path)
        self._untouched = {table: self.rows(table) for table in self.tables()}

    def tables(self) -> list[str]:
        found = "SELECT name FROM main.sqlite_schema WHERE type = 'table' ORDER BY name"
        return [name for (name,) in self._hand.run(found)]

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
        """Put a table, and what opening the store writes, back as it was."""
        for one in {table, "meta"}:
            self._hand.run(f"DELETE FROM main.{one}")
            for row in self._untouched[one]:
                self.insert(one, row)
        with self._lock.open("r+b") as lock:
            lock.truncate(0)
            lock.write(self._marked)

    def close(self) -> None:
        self._hand.close()


def _place(row: Row) -> tuple[str, list[Any]]:
    return " AND ".join(f"{name} IS ?" for name in row), list(row.values())
