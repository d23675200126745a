"""The rows of views on PostgreSQL, inside one transaction of a worker."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from uuid import UUID

import psycopg
from psycopg import Connection, errors
from psycopg.rows import TupleRow

from hansard.adapters.storage.postgres_connections import fetched
from hansard.adapters.storage.postgres_errors import translated
from hansard.projections.views.rows_json import rows_json
from hansard.projections.views.step import Unwritable
from hansard.projections.views.view import Changes, Feed, Row


class PostgresRows:
    """What a step reads and writes; `connection` is in a transaction, of one part of a shard."""

    def __init__(self, connection: Connection[TupleRow], shard: int, part: int) -> None:
        """Use a connection that nobody else uses until its transaction ends."""
        self._connection = connection
        self._place = (shard, part)

    def blocked(self, feed: Feed, conversations: Sequence[UUID]) -> Collection[UUID]:
        """Return those of these conversations that wait behind a parked event."""
        asked = (feed.view.name, feed.generation, list(conversations))
        return {found for (found,) in fetched(self._connection, "blocked", asked)}

    def known(self, feed: Feed, keys: Sequence[Row]) -> list[Row]:
        """Return the rows of these keys that are there, each with its `conversation_id`."""
        name, asked = f"{feed.view.name}_known", (feed.generation, rows_json(keys))
        try:
            return [row for (row,) in fetched(self._connection, name, asked)]
        except psycopg.Error as exc:
            raise translated(exc) from exc

    def write(self, feed: Feed, changes: Changes) -> None:
        """Write changes, all or none; Unwritable where the database refuses a value."""
        try:
            with self._connection.transaction():
                if changes.drop:
                    asked = (feed.generation, rows_json(changes.drop))
                    fetched(self._connection, f"{feed.view.name}_drop", asked)
                if changes.put:
                    put = (feed.generation, rows_json(changes.put), *self._place)
                    fetched(self._connection, f"{feed.view.name}_put", put)
        except (errors.DataError, errors.IntegrityError, errors.ProgramLimitExceeded) as exc:
            raise Unwritable(type(exc).__name__) from exc
        except psycopg.Error as exc:
            raise translated(exc) from exc
