"""Views on PostgreSQL, read as the workers have left them: pages, and what is kept for `onrecord verify --views`."""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final
from uuid import UUID

from psycopg import Rollback
from psycopg.rows import TupleRow
from psycopg.types.numeric import Int8

from onrecord.adapters.storage.interrupts import releasing
from onrecord.adapters.storage.postgres.connections import Connections, LogConnection, fetched, sent
from onrecord.adapters.storage.postgres.inventory import PostgresMoment
from onrecord.adapters.storage.postgres.postgres import Postgres
from onrecord.adapters.views.late_redactions import conversations_quoted, versions_redacted
from onrecord.adapters.views.ports import PageQuery, PageRows, Reading, standstill
from onrecord.adapters.views.postgres.tables import PostgresTransaction
from onrecord.domain.errors import StorageUnavailable
from onrecord.domain.log import RecordedEvent
from onrecord.projections.views.planning import Build, Part
from onrecord.projections.views.registry import VIEWS
from onrecord.projections.views.view import Row, View

_NOTHING: Final[Collection[str]] = ()


class PostgresKept:
    """The views in a log's schema."""

    def __init__(
        self,
        connections: Connections,
        views: Mapping[str, View] = VIEWS,
        *,
        reading: Reading = list,
    ) -> None:
        """Read by these connections; `views` are the maintained ones, `reading` decrypts events."""
        self._connections, self.views, self._reading = connections, views, reading

    def readable(self, events: Sequence[RecordedEvent]) -> list[RecordedEvent]:
        """Return events of the log with their bodies as text."""
        return self._reading(events)

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


_NO_GENERATION: Final = 0


class PostgresPages:
    """Reads pages with the connections of a log; workers keep the views up to date."""

    def __init__(
        self, log: Postgres, views: Mapping[str, View] = VIEWS, *, reading: Reading = list
    ) -> None:
        """Use the connections of a log, which whoever opened it closes; the rest is for what is `kept`."""
        self._log, self._views, self._reading_of = log, views, reading
        self._generations: dict[str, int] = {}

    def page(self, query: PageQuery) -> PageRows:
        """Return a page of a view as it stands."""
        try:
            return self._page(query)
        except StorageUnavailable:
            # Reading changes nothing, so it is done again: this question looks for a connection.
            self._log.connections.ask("erasures")
            return self._page(query)

    @contextmanager
    def reading(self, view: View) -> Generator[PostgresTransaction]:
        """Lend a transaction that reads the tables of a projection of one's own, as workers left them."""
        failure: Exception | None = None
        with self._log.connections.transaction() as connection:
            fetched(connection, "begin_snapshot")
            generations = fetched(connection, "generation_read", (view.name,))
            try:
                yield PostgresTransaction(connection, generations[0][0] if generations else 0)
            except Exception as error:  # noqa: BLE001 - the reader's own: it is no error of the store
                failure = error
            raise Rollback  # With it goes what the reader set, which would stay after a commit.
        if failure is not None:
            raise failure

    def erase(self) -> None:
        """Do nothing: onrecord.forget takes it out of the views in its own transaction."""

    def residue(self) -> tuple[str, ...]:
        """Return nothing: the log tells of all tables of its schema."""
        return ()

    def rewrite(self) -> tuple[str, ...]:
        """Do nothing: the log writes all tables of its schema anew."""
        return ()

    def kept(self) -> PostgresKept:
        """Return what is kept, row by row."""
        return PostgresKept(self._log.connections, self._views, reading=self._reading_of)

    def close(self) -> None:
        """Do nothing: the connections are the log's."""

    @releasing
    def _page(self, query: PageQuery) -> PageRows:
        name = query.view.name
        guessed = self._generations.get(name, _NO_GENERATION)
        with self._log.connections.transaction() as connection:
            with connection.pipeline():
                sent(connection, "begin_snapshot")
                status = sent(connection, "view_read", name, query.tenant)
                page = sent(connection, query.name, guessed, query.tenant, *query.parameters())
                [(generation, stopped, paused, position, last, parked)] = status.fetchall()
                rows = page.fetchall()
            if generation not in (None, guessed):
                self._generations[name] = generation
                place = (generation, query.tenant, *query.parameters())
                rows = fetched(connection, query.name, place)
            found = tuple(row for (row,) in rows)
            late = conversations_quoted(query.view, found) if position < last or parked else []
            place = (name, generation, late, Int8(position))
            redactions = fetched(connection, "redactions_behind", place) if late else []
        why = standstill(name, stopped, paused=bool(paused))
        redacted = versions_redacted(self._reading_of(list(map(RecordedEvent._make, redactions))))
        return PageRows(found, position, max(0, last - position), parked, why, redacted)
