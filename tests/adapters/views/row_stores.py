"""Stores of view rows for tests: a step on each database, and what its page query then shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, cast
from uuid import UUID

from pydantic_core import from_json, to_json

from onrecord.adapters.storage.postgres.connections import (
    LogConnection,
    address_of,
    connected,
    fetched,
)
from onrecord.adapters.storage.postgres.postgres import migrate
from onrecord.adapters.storage.queries import load_migrations
from onrecord.adapters.storage.sqlite.connection import Connections
from onrecord.adapters.views.postgres.rows import PostgresRows
from onrecord.adapters.views.sqlite.feeding import SqliteRows
from onrecord.domain.log import Cursor, RecordedEvent
from onrecord.projections.views.step import Failure, Rows, event_batches, step
from onrecord.projections.views.view import Feed, Row, View
from tests.postgres_server import VERSIONS, server


class RowStore(Protocol):
    """Rows of views, of generation 1 unless another is named."""

    def step(
        self, view: View, events: Iterable[RecordedEvent], *, generation: int = 1
    ) -> list[Failure]:
        """Fold events into rows in one transaction."""
        ...

    def page(
        self,
        view: View,
        tenant: UUID,
        *,
        limit: int = 1000,
        after: Row | None = None,
        generation: int = 1,
        **filters: object,
    ) -> list[Row]:
        """What the view's page query shows."""
        ...

    def forget(self, view: View, conversation_id: UUID) -> None:
        """What erasing a conversation does to the rows."""
        ...

    def close(self) -> None: ...


@dataclass
class SqliteStore:
    connections: Connections

    def step(
        self, view: View, events: Iterable[RecordedEvent], *, generation: int = 1
    ) -> list[Failure]:
        with self.connections.transaction() as session:
            return _stepped(Feed(view, generation), events, SqliteRows(session))

    def page(
        self,
        view: View,
        tenant: UUID,
        *,
        limit: int = 1000,
        after: Row | None = None,
        generation: int = 1,
        **filters: object,
    ) -> list[Row]:
        asked = (generation, str(tenant), _json(filters), _json(after or {}), limit)
        with self.connections.borrowed() as session:
            rows = session.all(f"{view.name}_page", *asked)
        return [cast("Row", from_json(text)) for (text,) in rows]

    def forget(self, view: View, conversation_id: UUID) -> None:
        with self.connections.transaction() as session:
            session.run(f"{view.name}_forget", str(conversation_id))

    def close(self) -> None:
        self.connections.close()


@dataclass
class PostgresStore:
    version: str
    url: str
    connection: LogConnection = field(init=False)

    def __post_init__(self) -> None:
        self.connection = connected(address_of(self.url))

    def step(
        self, view: View, events: Iterable[RecordedEvent], *, generation: int = 1
    ) -> list[Failure]:
        with self.connection.transaction():
            return _stepped(Feed(view, generation), events, PostgresRows(self.connection, 0, 0))

    def page(
        self,
        view: View,
        tenant: UUID,
        *,
        limit: int = 1000,
        after: Row | None = None,
        generation: int = 1,
        **filters: object,
    ) -> list[Row]:
        asked = (generation, tenant, _json(filters), _json(after or {}), limit)
        return [row for (row,) in fetched(self.connection, f"{view.name}_page", asked)]

    def forget(self, view: View, conversation_id: UUID) -> None:
        self.connection.execute(
            cast("Any", f"SELECT onrecord.forget_in_view_{view.name}($1)"), (conversation_id,)
        )

    def close(self) -> None:
        self.connection.close()
        server(self.version).drop(self.url)


def _sqlite(folder: Path) -> RowStore:
    connections = Connections(str(folder / "views.db"), 10.0, "sqlite_views")
    with connections.transaction() as session:
        for migration in load_migrations("sqlite_views"):
            session.migrate(migration.sql)
    return SqliteStore(connections)


def _postgres(_: Path) -> RowStore:
    version = VERSIONS[-1]
    return PostgresStore(version, server(version).create("log", migrate))


ROW_STORES: dict[str, Callable[[Path], RowStore]] = {"sqlite": _sqlite, "postgres": _postgres}


def everything(log: Any) -> list[RecordedEvent]:
    """All events of a log, shard by shard."""
    return [event for end in log.cursors() for event in _shard(log, end)]


def _shard(log: Any, end: Cursor) -> list[RecordedEvent]:
    return cast("list[RecordedEvent]", log.read_log(Cursor(end.incarnation, end.shard, 0), 10**6))


def _stepped(feed: Feed, events: Iterable[RecordedEvent], rows: Rows) -> list[Failure]:
    return step(feed, event_batches(events, feed.view), rows)


def _json(value: object) -> str:
    return to_json(value).decode()


def in_pieces(events: Sequence[RecordedEvent], sizes: Sequence[int]) -> list[list[RecordedEvent]]:
    """Cut events into consecutive pieces of these sizes; what is left over is the last piece."""
    pieces: list[list[RecordedEvent]] = []
    start = 0
    for size in sizes:
        pieces.append(list(events[start : start + size]))
        start += size
    return [piece for piece in (*pieces, list(events[start:])) if piece]
