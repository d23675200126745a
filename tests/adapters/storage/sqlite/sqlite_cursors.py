"""Cursors of a SQLite log, taken and used by opening it each time anew."""

from pathlib import Path
from uuid import uuid4

from onrecord.adapters.storage.sqlite.sqlite import open_sqlite
from onrecord.domain.log import Cursor
from tests.factories import answer, appending


def recorded(path: Path, events: int = 1) -> Cursor:
    """The cursor of a log's end, after some more events."""
    backend = open_sqlite(path)
    backend.append([appending(uuid4(), *(answer() for _ in range(events)))])
    (cursor,) = backend.cursors()
    backend.close()
    return cursor


def read_after(path: Path, cursor: Cursor) -> int:
    backend = open_sqlite(path)
    try:
        return len(backend.read_log(cursor, 99))
    finally:
        backend.close()
