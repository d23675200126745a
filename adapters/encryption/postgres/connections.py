"""Connections to a key store on PostgreSQL, and what its errors mean, in the words of the store.

No message holds a password, a key or a name. The driver's error is not chained: what a server says of a
row holds its bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

import psycopg
from psycopg import Connection, IsolationLevel, RawCursor
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool

from onrecord.adapters.encryption.key_store import GenerationClosed
from onrecord.adapters.storage.interrupts import releasing
from onrecord.adapters.storage.postgres.connections import Address, address_of
from onrecord.adapters.storage.postgres.errors import is_lost, translated
from onrecord.adapters.storage.postgres.pool import Pool, leave_to_parent
from onrecord.adapters.storage.postgres.url import without_secrets
from onrecord.adapters.storage.queries import load_queries
from onrecord.domain.errors import CorruptRecord, StorageReadOnly, StorageUnavailable

DIALECT: Final = "postgres_keys"

_DEFAULT_SCHEMA: Final = "onrecord_keys"
_MOST: Final = 4
_CONNECTING: Final = 10.0
"""Seconds for which a verb waits for a connection at most."""

_CLOSED: Final = "ZH010"
_OF_ANOTHER_LOG: Final = "ZH011"
_NO_RIGHT: Final = "42501"


class KeyPlace(NamedTuple):
    """Where a key store is: what libpq needs, and its schema; `shown` holds no secret."""

    address: Address
    shown: str

    @property
    def queries(self) -> Mapping[str, bytes]:
        """Return the named queries for its schema."""
        return _queries_of(self.address.schema)


class KeyConnection(Connection[TupleRow]):
    """A connection to the database of a key store, which a forked child leaves to its parent."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """As the driver does, and leave it to this process."""
        super().__init__(*args, **kwargs)
        leave_to_parent(self)


def key_place_of(url: str) -> KeyPlace:
    """Return where the key store of a URL is; the parameter `schema` names its schema.

    InvalidInput where it is no URL of PostgreSQL, or the schema is no name.
    """
    return KeyPlace(address_of(url, _DEFAULT_SCHEMA), without_secrets(url))


def connected(place: KeyPlace) -> KeyConnection:
    """Return one connection of its own; a typed error says why there is none."""
    try:
        connection = KeyConnection.connect(place.address.conninfo, **_KEYWORDS)
    except psycopg.Error as error:
        raise explained(error, place) from None
    _configure(connection)
    return connection


def fetched(
    connection: KeyConnection, place: KeyPlace, name: str, parameters: Sequence[object] = ()
) -> list[TupleRow]:
    """Return the rows of a named query on a connection."""
    cursor = connection.execute(place.queries[name], parameters, binary=True)
    return [] if cursor.description is None else cursor.fetchall()


def explained(error: psycopg.Error, place: KeyPlace) -> Exception:
    """Return the store's error for a driver's."""
    if error.sqlstate == _CLOSED:
        return GenerationClosed()
    if error.sqlstate == _OF_ANOTHER_LOG:
        return of_another_log(place)
    if error.sqlstate == _NO_RIGHT:
        schema = place.address.schema
        return StorageReadOnly(
            f"the role may not use the key store {place.shown}: its owner lets it in with SELECT "
            f"{schema}.admit('role')"
        )
    meaning = translated(error)
    return type(meaning)(f"the key store {place.shown}: {meaning}")


def of_another_log(place: KeyPlace) -> CorruptRecord:
    """Return the error for a key store of another log."""
    return CorruptRecord(f"{place.shown} has the keys of another log: name this log's own")


class KeyConnections:
    """The connections of one process to a key store. Threads may share it; a forked child opens anew."""

    def __init__(self, place: KeyPlace, wait: float) -> None:
        """Open as they are needed. A writer waits `wait` seconds for its turn."""
        self._place, self._wait = place, wait
        self._pool = Pool(self._new_pool, min(wait, _CONNECTING))

    def read(self, name: str, *parameters: object) -> list[TupleRow]:
        """Return the rows of a named query."""
        return self._ask(name, parameters, is_writing=False)

    def write(self, name: str, *parameters: object) -> list[TupleRow]:
        """Return the rows of a named query that writes; they are durable."""
        return self._ask(name, parameters, is_writing=True)

    def close(self) -> None:
        """Close them all."""
        self._pool.close()

    @releasing
    def _ask(self, name: str, parameters: Sequence[object], *, is_writing: bool) -> list[TupleRow]:
        """Ask, and once more on another connection if one was lost: each verb may be done twice."""
        try:
            return self._once(name, parameters, is_writing=is_writing)
        except psycopg.Error as error:
            if not is_lost(error):
                raise explained(error, self._place) from None
        try:
            self._pool.check()
            return self._once(name, parameters, is_writing=is_writing)
        except psycopg.Error as error:
            if not is_lost(error):
                raise explained(error, self._place) from None
        raise StorageUnavailable(
            f"the key store {self._place.shown} cannot be reached: check that its server is up, then "
            "do this again"
        )

    def _once(self, name: str, parameters: Sequence[object], *, is_writing: bool) -> list[TupleRow]:
        place = self._place
        try:
            with self._pool.loan() as connection:
                if not is_writing:
                    return fetched(connection, place, name, parameters)
                with connection.transaction():
                    fetched(connection, place, "patience", [f"{int(self._wait * 1000)}ms"])
                    return fetched(connection, place, name, parameters)
        except psycopg.Rollback:
            # The driver lets it out only where the connection was lost before it rolled back.
            raise psycopg.OperationalError from None

    def _new_pool(self) -> ConnectionPool[KeyConnection]:
        return ConnectionPool(
            self._place.address.conninfo,
            connection_class=KeyConnection,
            kwargs=_KEYWORDS,
            configure=_configure,
            min_size=0,
            max_size=_MOST,
            timeout=_CONNECTING,
            reconnect_timeout=0,
            open=False,
            name="onrecord-keys",
        )


_KEYWORDS: Final[dict[str, Any]] = {"autocommit": True, "cursor_factory": RawCursor}


def _configure(connection: KeyConnection) -> None:
    # Nothing is prepared, so that a pooler of transactions serves too.
    connection.prepare_threshold = None
    # A snapshot from before the turn would show what is destroyed by then.
    connection.isolation_level = IsolationLevel.READ_COMMITTED


@cache
def _queries_of(schema: str) -> dict[str, bytes]:
    return {name: sql.encode() for name, sql in load_queries(DIALECT, schema).items()}
