"""Another program's SQLite file, read by named queries and never written."""

from __future__ import annotations

import shutil
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, cast

import apsw

from onrecord.adapters.histories.foreign_history import (
    Doubt,
    Histories,
    History,
    Transcript,
    TranscriptContext,
    microseconds,
)
from onrecord.adapters.histories.json_files import transcribe
from onrecord.adapters.storage.queries import parse_queries
from onrecord.adapters.storage.sqlite.connection import Row, Session, Value
from onrecord.domain.errors import InvalidInput, MalformedJson
from onrecord.domain.jsontext import JsonObject, read_bounded

_READ_VERSION: Final = 19
"""Where a SQLite file says whether a log is written ahead of it (sqlite.org/fileformat2.html)."""
_AHEAD: Final = 2
_TRIES: Final = 3


class Database(Session):
    """An open file and the queries of sql/<subject>.sql."""

    def rows(self, query: str, *values: Value) -> list[JsonObject]:
        """Return all rows of a query, each with the names of its columns."""
        cursor = self._connection.cursor()
        cursor.set_row_trace(_by_name)
        return cast("list[JsonObject]", cursor.execute(self._sql[query], values).fetchall())


@contextmanager
def opened(path: Path, subject: str) -> Generator[Database]:
    """Open a file for a while, and write nothing into it or beside it.

    InvalidInput where it is not the database that it should be.
    """
    try:
        with _untouched(path) as (name, flags), closing(apsw.Connection(name, flags)) as connection:
            connection.set_busy_timeout(5000)
            yield Database(connection, _queries(subject))
    except (apsw.Error, UnicodeDecodeError) as exc:
        kind = subject.replace("_", "-")
        raise InvalidInput(f"the file is no {kind} database: {_reason(exc)}") from exc


@contextmanager
def _untouched(path: Path) -> Generator[tuple[str, int]]:
    """Yield the name and the flags to open a file with so that nothing comes to stand beside it.

    Who opens a file with a write-ahead log makes that log and its index, even to read. Without a
    log nobody has the file open, so it can be read as one that does not change; with one a copy is.
    """
    if not _is_logged_ahead(path):
        yield str(path), apsw.SQLITE_OPEN_READONLY
    elif not _log_of(path).exists():
        uri = f"{path.absolute().as_uri()}?immutable=1"
        yield uri, apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    else:
        with TemporaryDirectory(prefix="onrecord-import-") as folder:
            yield str(_copied(path, Path(folder))), apsw.SQLITE_OPEN_READWRITE


def _is_logged_ahead(path: Path) -> bool:
    with path.open("rb") as file:
        header = file.read(_READ_VERSION + 1)
    return header[_READ_VERSION:] == bytes((_AHEAD,))


def _log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _copied(path: Path, folder: Path) -> Path:
    """Copy a file and its log as they were at one time: neither changed meanwhile."""
    copy = folder / "copy.db"
    for _ in range(_TRIES):
        before = _state(path)
        shutil.copyfile(path, copy)
        _log_of(copy).unlink(missing_ok=True)
        if _log_of(path).exists():
            shutil.copyfile(_log_of(path), _log_of(copy))
        if _state(path) == before:
            return copy
    raise InvalidInput("the file is being written: import it once its program has ended")


def _state(path: Path) -> tuple[tuple[int, int] | None, ...]:
    return tuple(_written(file) for file in (path, _log_of(path)))


def _written(file: Path) -> tuple[int, int] | None:
    try:
        found = file.stat()
    except FileNotFoundError:
        return None
    return found.st_mtime_ns, found.st_size


def _by_name(cursor: Any, row: Row) -> JsonObject:
    return {column[0]: value for column, value in zip(cursor.get_description(), row, strict=True)}


@cache
def _queries(subject: str) -> dict[str, str]:
    folder = files("onrecord.adapters.histories") / "sql"
    return parse_queries((folder / f"{subject}.sql").read_text("utf-8"))


def _reason(exc: apsw.Error | UnicodeDecodeError) -> str:
    return "a text is not UTF-8" if isinstance(exc, UnicodeDecodeError) else str(exc)


# Sessions of the OpenAI Agents SDK: a SQLite file of items in the form of the Responses API.
#
# Tables: those of its `SQLiteSession`, under their default names, and of its
# `AdvancedSQLiteSession`, each branch of which is a conversation.

_SUBJECT: Final = "openai_agents_session"
_API: Final = "openai-responses"
_MAIN: Final = "main"


def sessions_in(path: Path) -> Histories:
    """Return the sessions of a file; InvalidInput where it is no file of such sessions."""
    with opened(path, _SUBJECT) as database:
        count = len(_named(database))
    return Histories(count, are_several=True, read=partial(_sessions, path))


def _sessions(path: Path) -> Iterator[History]:
    with opened(path, _SUBJECT) as database:
        for session, branch in _named(database):
            rows = _rows(database, session, branch)
            name = session if branch in (None, _MAIN) else f"{session}/{branch}"
            yield History(f"session {name}", name, partial(_transcribe, rows))


def _named(database: Database) -> list[Row]:
    has_branches = database.one("has_branches") is not None
    return database.all("sessions_and_branches" if has_branches else "sessions")


def _rows(database: Database, session: str, branch: str | None) -> list[Row]:
    if branch is None:
        return database.all("messages", session)
    return database.all("messages_of_branch", session, branch)


def _transcribe(rows: Sequence[Row], context: TranscriptContext) -> Transcript:
    """Return what a session says; the SDK passes over items that are no JSON, and so does this."""
    items: list[JsonObject] = []
    times: list[int | None] = []
    doubts: list[Doubt] = []
    for number, data, created_at in rows:
        item = _item(data)
        if item is None:
            doubts.append(Doubt("left out", f"row {number}", "it is no JSON object"))
            continue
        if "__enc__" in item:
            raise InvalidInput(
                "its items are encrypted: write them to a plain session with their key first"
            )
        items.append(item)
        times.append(microseconds(created_at))
    transcript = transcribe(_API, {"input": items}, context, times)
    return replace(transcript, doubts=(*doubts, *transcript.doubts))


def _item(data: object) -> JsonObject | None:
    try:
        item: Any = read_bounded(data) if isinstance(data, str) else None
    except MalformedJson:
        return None
    return cast("JsonObject", item) if isinstance(item, dict) else None
