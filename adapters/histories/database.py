"""Another program's SQLite file, read by named queries and never written."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, cast

import apsw

from hansard.adapters.storage.queries import parse_queries
from hansard.domain.errors import InvalidInput
from hansard.domain.jsontext import JsonObject

Row = tuple[Any, ...]
Value = str | int | None

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


class Database:
    """An open file and the queries of sql/<subject>.sql."""

    def __init__(self, connection: apsw.Connection, subject: str) -> None:
        """Ask a connection the queries of a subject."""
        # Its type hints name collections.abc.Buffer, which Python 3.11 does not have.
        self._connection = cast("Any", connection)
        self._queries = _queries(subject)

    def all(self, query: str, *values: Value) -> list[Row]:
        """Return all rows of a query."""
        return cast("list[Row]", self._connection.execute(self._queries[query], values).fetchall())

    def one(self, query: str, *values: Value) -> Row | None:
        """Return the first row of a query, or None."""
        return cast("Row | None", self._connection.execute(self._queries[query], values).fetchone())

    def rows(self, query: str, *values: Value) -> list[JsonObject]:
        """Return all rows of a query, each with the names of its columns."""
        cursor = self._connection.cursor()
        cursor.set_row_trace(_by_name)
        return cast("list[JsonObject]", cursor.execute(self._queries[query], values).fetchall())


@contextmanager
def opened(path: Path, subject: str) -> Generator[Database]:
    """Open a file for a while; InvalidInput where it is not the database that it should be."""
    try:
        with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
            connection.set_busy_timeout(5000)
            yield Database(connection, subject)
    except (apsw.Error, UnicodeDecodeError) as exc:
        raise InvalidInput(f"the file is no {subject} database: {_reason(exc)}") from exc


def microseconds(time: object) -> int | None:
    """Return a time of such a file (ISO 8601, in UTC if it does not say) since 1970; None if none."""
    try:
        moment = datetime.fromisoformat(time) if isinstance(time, str) else None
    except ValueError:
        return None
    if moment is None:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH) // _MICROSECOND


def _by_name(cursor: Any, row: Row) -> JsonObject:
    return {column[0]: value for column, value in zip(cursor.get_description(), row, strict=True)}


@cache
def _queries(subject: str) -> dict[str, str]:
    folder = files("hansard.adapters.histories") / "sql"
    return parse_queries((folder / f"{subject}.sql").read_text("utf-8"))


def _reason(exc: apsw.Error | UnicodeDecodeError) -> str:
    return "a text is not UTF-8" if isinstance(exc, UnicodeDecodeError) else str(exc)
