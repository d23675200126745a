"""Sessions of the OpenAI Agents SDK: a SQLite file of items in the form of the Responses API.

Tables: those of its `SQLiteSession`, under their default names, and of its `AdvancedSQLiteSession`,
each branch of which is a conversation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

from onrecord.adapters.histories.database import Database, Row, microseconds, opened
from onrecord.adapters.histories.history import Doubt, Heard, Histories, History, Listener
from onrecord.adapters.histories.spoken import hear
from onrecord.adapters.wire.nesting import read
from onrecord.domain.errors import InvalidInput, MalformedJson
from onrecord.domain.jsontext import JsonObject

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
            yield History(f"session {name}", name, partial(_hear, rows))


def _named(database: Database) -> list[Row]:
    has_branches = database.one("has_branches") is not None
    return database.all("sessions_and_branches" if has_branches else "sessions")


def _rows(database: Database, session: str, branch: str | None) -> list[Row]:
    if branch is None:
        return database.all("messages", session)
    return database.all("messages_of_branch", session, branch)


def _hear(rows: Sequence[Row], listener: Listener) -> Heard:
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
    heard = hear(_API, {"input": items}, listener, times)
    return replace(heard, doubts=(*doubts, *heard.doubts))


def _item(data: object) -> JsonObject | None:
    try:
        item: Any = read(data) if isinstance(data, str) else None
    except MalformedJson:
        return None
    return cast("JsonObject", item) if isinstance(item, dict) else None
