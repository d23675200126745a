"""The rows of views on SQLite, inside one transaction of the views' file."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import cast
from uuid import UUID

import apsw
from pydantic_core import from_json

from onrecord.adapters.storage.sqlite_connection import Session
from onrecord.projections.views.step import Refused
from onrecord.projections.views.view import Changes, Feed, Row, rows_json


class SqliteRows:
    """What a step reads and writes; the session is in a write transaction."""

    def __init__(self, session: Session) -> None:
        """Use a session that nobody else uses until its transaction ends."""
        self._session = session

    def blocked(self, feed: Feed, conversations: Sequence[UUID]) -> Collection[UUID]:
        """Return those of these conversations that wait behind a parked event."""
        asked = rows_json([str(found) for found in conversations])
        rows = self._session.all("blocked", feed.view.name, feed.generation, asked)
        return {UUID(found) for (found,) in rows}

    def known(self, feed: Feed, keys: Sequence[Row]) -> list[Row]:
        """Return the rows of these keys that are there, each with its `conversation_id`."""
        asked = (feed.generation, rows_json(keys))
        rows = self._session.all(f"{feed.view.name}_known", *asked)
        return [cast("Row", from_json(text)) for (text,) in rows]

    def write(self, feed: Feed, changes: Changes) -> None:
        """Write changes, all or none; Refused where the database refuses a value."""
        try:
            with self._session.savepoint():
                if changes.drop:
                    dropped = rows_json(changes.drop)
                    self._session.run(f"{feed.view.name}_drop", feed.generation, dropped)
                if changes.put:
                    put = rows_json(changes.put)
                    self._session.run(f"{feed.view.name}_put", feed.generation, put, 0, 0)
        except (apsw.ConstraintError, apsw.MismatchError, apsw.TooBigError) as exc:
            raise Refused(type(exc).__name__) from exc
