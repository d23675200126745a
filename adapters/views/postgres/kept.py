"""What is kept of views on PostgreSQL, for `onrecord verify --views`."""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager
from typing import Final
from uuid import UUID

from psycopg.rows import TupleRow
from psycopg.types.numeric import Int8

from onrecord.adapters.storage.postgres.connections import Connections, LogConnection, fetched
from onrecord.adapters.storage.postgres.inventory import PostgresMoment
from onrecord.projections.views.planning import Build, Part
from onrecord.projections.views.view import Row

_NOTHING: Final[Collection[str]] = ()


class PostgresKept:
    """The views in a log's schema."""

    def __init__(self, connections: Connections) -> None:
        """Read by these connections."""
        self._connections = connections

    @property
    def parts(self) -> int:
        """Return into how many parts each shard is divided."""
        return int(self._connections.ask("parts_of_a_shard")[0][0])

    def unreadable(self) -> str | None:
        """Return None: the tables are the log's own."""
        return None

    @contextmanager
    def moment(self) -> Generator[PostgresKeptMoment]:
        """Lend views and log as they are now."""
        with self._connections.transaction() as connection:
            fetched(connection, "begin_moment")
            yield PostgresKeptMoment(connection)

    def index_faults(self) -> list[str]:
        """Return nothing: the lexemes stand in the rows, and are compared with them."""
        return []


class PostgresKeptMoment:
    """Views and log inside a transaction that sees one moment."""

    def __init__(self, connection: LogConnection) -> None:
        """Read by a connection that is in one."""
        self._connection = connection
        self.log = PostgresMoment(connection)
        self.pending = _NOTHING

    def builds(self) -> list[Build]:
        """Return every generation of every view."""
        return [Build(*row) for row in self._all("kept_builds")]

    def positions(self, build: Build) -> Mapping[Part, int]:
        """Return how far a generation has come in each part."""
        return {
            Part(shard, part): position
            for view, generation, shard, part, position in self._all("kept_positions")
            if (view, generation) == (build.view, build.number)
        }

    def parked(self, build: Build) -> Mapping[str, int]:
        """Return the conversations that wait in a generation, and from which version on."""
        rows = self._all("kept_parked", build.view, build.number)
        return {str(conversation): version for conversation, version in rows}

    def rows(self, build: Build, conversation: str, after: int, limit: int) -> list[Row]:
        """Return rows of a conversation in order of version, those behind a version."""
        place = (build.number, UUID(conversation), Int8(after), Int8(limit))
        return [row for (row,) in self._all(f"{build.view}_kept", *place)]

    def sums(self, build: Build) -> list[Row]:
        """Return all rows of a generation of `usage`."""
        return [row for (row,) in self._all("usage_kept", build.number)]

    def conversations(self, build: Build, after: str | None, limit: int) -> list[str]:
        """Return of which conversations there are rows, in order, those behind one."""
        place = (build.number, None if after is None else UUID(after), Int8(limit))
        return [str(found) for (found,) in self._all(f"{build.view}_conversations", *place)]

    def generations(self, view: str) -> set[int]:
        """Return of which generations of a view there are rows."""
        return {number for (number,) in self._all(f"{view}_generations")}

    def _all(self, name: str, *parameters: object) -> list[TupleRow]:
        return fetched(self._connection, name, parameters)
