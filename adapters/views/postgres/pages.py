"""Pages of views on PostgreSQL: read as the workers have left them."""

from __future__ import annotations

from typing import Final

from psycopg import Cursor
from psycopg.rows import TupleRow

from onrecord.adapters.storage.holds import releasing
from onrecord.adapters.storage.postgres.connections import LogConnection, fetched
from onrecord.adapters.storage.postgres.postgres import Postgres
from onrecord.adapters.views.pages import Asked, Found, standstill
from onrecord.adapters.views.postgres.kept import PostgresKept
from onrecord.domain.errors import StorageUnavailable

_NO_GENERATION: Final = 0


class PostgresPages:
    """Reads pages with the connections of a log; workers keep the views up to date."""

    def __init__(self, log: Postgres) -> None:
        """Use the connections of a log, which whoever opened it closes."""
        self._log = log
        self._generations: dict[str, int] = {}

    def page(self, asked: Asked) -> Found:
        """Return a page of a view as it stands."""
        try:
            return self._page(asked)
        except StorageUnavailable:
            # Reading changes nothing, so it is done again: this question looks for a connection.
            self._log.connections.ask("erasures")
            return self._page(asked)

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
        return PostgresKept(self._log.connections)

    def close(self) -> None:
        """Do nothing: the connections are the log's."""

    @releasing
    def _page(self, asked: Asked) -> Found:
        name = asked.view.name
        guessed = self._generations.get(name, _NO_GENERATION)
        with self._log.connections.transaction() as connection:
            with connection.pipeline():
                _sent(connection, "begin_snapshot")
                standing = _sent(connection, "view_read", name, asked.tenant)
                page = _sent(connection, asked.query, guessed, asked.tenant, *asked.parameters())
                [(generation, stopped, paused, position, last, parked)] = standing.fetchall()
                rows = page.fetchall()
            if generation not in (None, guessed):
                self._generations[name] = generation
                of = (generation, asked.tenant, *asked.parameters())
                rows = fetched(connection, asked.query, of)
        found = tuple(row for (row,) in rows)
        why = standstill(name, stopped, paused=bool(paused))
        return Found(found, position, max(0, last - position), parked, why)


def _sent(connection: LogConnection, name: str, *parameters: object) -> Cursor[TupleRow]:
    """Send a query, whose rows are asked for later."""
    return connection.execute(connection.queries[name], parameters, binary=True)
