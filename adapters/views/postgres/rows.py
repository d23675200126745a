"""The rows of views on PostgreSQL, as a step reads and writes them: carefully, or in one go."""

from __future__ import annotations

from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager
from typing import Final
from uuid import UUID

import psycopg
from psycopg import Cursor, errors
from psycopg.rows import TupleRow

from onrecord.adapters.storage.postgres.connections import LogConnection, fetched, sent
from onrecord.adapters.storage.postgres.errors import translated
from onrecord.adapters.views.postgres.tables import write_own
from onrecord.projections.views.own_views import queries_of
from onrecord.projections.views.step import Refused
from onrecord.projections.views.view import Changes, Feed, Row, rows_json

OF_A_VALUE: Final = (errors.DataError, errors.IntegrityError, errors.ProgramLimitExceeded)
"""Errors of the server that say that it refuses a value."""


class PostgresRows:
    """What a step reads and writes; `connection` is in a transaction, of one part of a shard."""

    def __init__(self, connection: LogConnection, shard: int, part: int) -> None:
        """Use a connection that nobody else uses until its transaction ends."""
        self._connection = connection
        self._place = (shard, part)

    def blocked(self, feed: Feed, conversations: Sequence[UUID]) -> Collection[UUID]:
        """Return those of these conversations that wait behind a parked event."""
        place = (feed.view.name, feed.generation, list(conversations))
        return {waiting for (waiting,) in fetched(self._connection, "blocked", place)}

    def known(self, feed: Feed, keys: Sequence[Row]) -> list[Row]:
        """Return the rows of these keys that are there; Refused where a key is not taken."""
        name, wanted = f"{queries_of(feed.view)}_known", (feed.generation, rows_json(keys))
        with self._taken_back():
            return [row for (row,) in fetched(self._connection, name, wanted)]

    def write(self, feed: Feed, changes: Changes) -> None:
        """Write changes, all or none; Refused where the database refuses a value."""
        if changes.events:
            write_own(self._connection, feed, changes.events)
            return
        with self._taken_back():
            if changes.drop:
                drop = (feed.generation, rows_json(changes.drop))
                fetched(self._connection, f"{queries_of(feed.view)}_drop", drop)
            if changes.put:
                put = (feed.generation, rows_json(changes.put), *self._place)
                fetched(self._connection, f"{queries_of(feed.view)}_put", put)

    @contextmanager
    def _taken_back(self) -> Generator[None]:
        """Take back what is done within, where a value is refused, and go on before it."""
        try:
            with self._connection.transaction():
                yield
        except OF_A_VALUE as exc:
            raise Refused(type(exc).__name__) from exc
        except psycopg.Error as exc:
            raise translated(exc) from exc


# The rows of views on PostgreSQL where nothing is expected to fail: writes are sent, not awaited.
#
# A value that the database refuses shows only when an answer is awaited, and spoils the
# transaction: then all of it is done again with PostgresRows, which can tell which conversation
# it was.


class SwiftRows:
    """What a step reads and writes; `connection` is in a transaction, and in pipeline mode."""

    def __init__(
        self, connection: LogConnection, shard: int, part: int, parked: Collection[UUID]
    ) -> None:
        """Use a connection of one batch; `parked` are the conversations that wait in its view."""
        self._connection = connection
        self._place = (shard, part)
        self._parked = parked
        self._asked: tuple[Sequence[Row], Cursor[TupleRow]] | None = None

    def blocked(self, feed: Feed, conversations: Sequence[UUID]) -> Collection[UUID]:
        """Return those of these conversations that wait behind a parked event, and others."""
        del feed, conversations
        return self._parked

    def ask(self, feed: Feed, keys: Sequence[Row]) -> None:
        """Send the question that `known` will be asked with these very keys."""
        self._asked = (keys, self._send(feed, "known", rows_json(keys)))

    def known(self, feed: Feed, keys: Sequence[Row]) -> list[Row]:
        """Return the rows of these keys that are there, each with its `conversation_id`."""
        if self._asked is None or self._asked[0] is not keys:
            self.ask(feed, keys)
        assert self._asked is not None
        (_, cursor), self._asked = self._asked, None
        try:
            return [row for (row,) in cursor.fetchall()]
        except psycopg.Error as exc:
            raise translated(exc) from exc

    def write(self, feed: Feed, changes: Changes) -> None:
        """Send changes; whether they were written shows later."""
        if changes.drop:
            self._send(feed, "drop", rows_json(changes.drop))
        if changes.put:
            self._send(feed, "put", rows_json(changes.put), *self._place)

    def _send(self, feed: Feed, verb: str, *parameters: object) -> Cursor[TupleRow]:
        name = f"{queries_of(feed.view)}_{verb}"
        try:
            return sent(self._connection, name, feed.generation, *parameters)
        except psycopg.Error as exc:
            raise translated(exc) from exc
