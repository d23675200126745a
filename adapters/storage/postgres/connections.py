"""Connections to PostgreSQL: a pool, one statement a round trip, and a second try if one is lost."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache, partial
from typing import Any, Final, NamedTuple, cast
from urllib.parse import unquote
from uuid import UUID

import psycopg
from psycopg import Connection, Cursor, IsolationLevel, RawCursor
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool

from onrecord.adapters.storage.append import Proof, proof_of, prover_of
from onrecord.adapters.storage.interrupts import releasing
from onrecord.adapters.storage.postgres.batch import Requests, RequestsDumper
from onrecord.adapters.storage.postgres.errors import is_lost, translated, translated_again
from onrecord.adapters.storage.postgres.pool import Pool, leave_to_parent
from onrecord.adapters.storage.postgres.url import is_ambiguous
from onrecord.adapters.storage.queries import DEFAULT_SCHEMA, load_queries
from onrecord.adapters.storage.steps import is_driven, wait_for
from onrecord.domain.errors import InvalidInput, StorageReadOnly

# Where a log is on PostgreSQL: a database, and a schema of its own in it.

_SCHEMA: Final = re.compile(r"(?<=[?&])schema=([^&#]*)&?")
_PLAIN: Final = re.compile(r"(?!pg_|public$|information_schema$)[a-z][a-z0-9_]{0,62}")

_NOT_UNDERSTOOD: Final = (
    "the URL is not understood: write postgresql://user:password@host:5432/database, "
    "with %40 for an @ in the password, %2F for a / and %3F for a ?"
)
_DEFAULTS: Final = {"connect_timeout": "10", "application_name": "onrecord"}


class Address(NamedTuple):
    """What libpq needs to connect, and the schema that is the log: several fit into a database."""

    conninfo: str
    schema: str = DEFAULT_SCHEMA


def address_of(url: str, default: str = DEFAULT_SCHEMA) -> Address:
    """Return where the log of a URL is; its parameter `schema` names the schema.

    postgresql://user@host/database?schema=support, else the default. InvalidInput where it is no URL of PostgreSQL, or
    the name is not one that SQL takes without quotes.
    """
    named = _SCHEMA.search(url)
    if named is None:
        return Address(_conninfo(url), default)
    schema = unquote(named.group(1))
    if _PLAIN.fullmatch(schema) is None:
        raise InvalidInput(
            "the schema in the URL is no name for a log: write up to 63 small letters, digits and _, "
            "a letter first; not public, nor one that begins with pg_"
        )
    return Address(_conninfo(_SCHEMA.sub("", url).rstrip("?&")), schema)


def direct(address: Address, listen: str | None) -> Address:
    """Return where the server itself is, by a URL that leads past the pooler of an address."""
    return Address(address_of(listen).conninfo, address.schema) if listen else address


def _conninfo(url: str) -> str:
    if is_ambiguous(url):
        raise InvalidInput(_NOT_UNDERSTOOD)
    try:
        parameters = conninfo_to_dict(url)
    except (psycopg.ProgrammingError, UnicodeDecodeError):
        # Not chained: the driver repeats the part that it did not understand.
        raise InvalidInput(_NOT_UNDERSTOOD) from None
    return make_conninfo(**(_DEFAULTS | {name: str(value) for name, value in parameters.items()}))


class Identity(NamedTuple):
    """What a connection is told of its log, each role what it may know.

    `seal` is the log's, or one that is good for the tenant alone to which the role is bound. A sealer
    has no keys.
    """

    incarnation: UUID
    name_key: bytes | None
    seal: bytes | None
    tenant: UUID | None

    @property
    def digest_key(self) -> bytes:
        """The key of names; StorageReadOnly for a role that may not look any up."""
        if self.name_key is None:
            raise StorageReadOnly("a sealer looks no names up: connect as another role")
        return self.name_key

    def prover(self, tenant: UUID | None) -> Proof | None:
        """Return what proves a tenant's word, or the log's own; None where this role may not."""
        if self.seal is None:
            return None
        if self.tenant is None:
            return prover_of(self.seal, tenant)
        return partial(proof_of, self.seal) if self.tenant == tenant else None


class LogConnection(Connection[TupleRow]):
    """A connection to the database of a log, which is the schema named so.

    While it is handed over, to a projection of one's own, it is not to be closed.
    """

    schema: str
    is_handed_over = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """As the driver does, and leave it to this process."""
        super().__init__(*args, **kwargs)
        leave_to_parent(self)

    def close(self) -> None:
        """Close it; InvalidInput from whom it was handed over to."""
        if self.is_handed_over:
            raise InvalidInput("the connection is not yours to close: the store goes on with it")
        super().close()

    @property
    def queries(self) -> Mapping[str, bytes]:
        """Return the named queries for the log's schema."""
        return queries_of(self.schema)


@cache
def queries_of(schema: str) -> dict[str, bytes]:
    """Return the named queries for the log in a schema."""
    return {name: sql.encode() for name, sql in load_queries("postgres", schema).items()}


def connected(address: Address) -> LogConnection:
    """Return one connection of its own; a typed error says why there is none."""
    try:
        connection = LogConnection.connect(
            address.conninfo, autocommit=True, cursor_factory=RawCursor
        )
    except psycopg.Error as error:
        raise translated(error) from error
    connection.schema = address.schema
    connection.isolation_level = IsolationLevel.READ_COMMITTED
    return connection


class Connections:
    """The connections of one process to one log. Safe to share between threads.

    `in_loops` asks with the connections that event loops have.
    """

    in_loops: Callable[[str, Sequence[object]], Awaitable[list[TupleRow]]]

    def __init__(self, address: Address, *, most: int, wait: float, prepared: bool) -> None:
        """Open as they are needed, `most` at once; wait for one that long (seconds)."""
        self._identity: Identity | None = None
        self._threshold = 0 if prepared else None
        self._address, self._most, self._wait = address, most, wait
        self._pool = Pool(self._new_pool, wait)

    @releasing
    def ask(self, name: str, parameters: Sequence[object] = ()) -> list[TupleRow]:
        """Return the rows of a named query, committed.

        If the connection is lost, it is asked once more on another one: each query of ours may be
        repeated, for event ids tell an append that was recorded already. A step that an event loop
        drives waits for the loop's own connections.
        """
        if is_driven():
            return wait_for(self.in_loops(name, parameters))
        try:
            return self._ask(name, parameters)
        except psycopg.Error as error:
            if not is_lost(error):
                raise translated(error) from error
        try:
            self._pool.check()
            return self._ask(name, parameters)
        except psycopg.Error as error:
            raise translated_again(error) from error

    @contextmanager
    def transaction(self, *, is_piped: bool = False) -> Generator[LogConnection]:
        """Yield a connection in a transaction: committed at the end, rolled back at an error.

        If it is piped, a statement waits for no answer but its own, and the end for all of them.
        """
        try:
            with (
                self._pool.loan() as connection,
                connection.pipeline() if is_piped else nullcontext(),
                connection.transaction(),
            ):
                yield connection
        except psycopg.Error as error:
            raise translated(error) from error
        except psycopg.Rollback as error:
            # The driver lets it out only where the connection was lost before it rolled back.
            raise translated(psycopg.OperationalError()) from error

    def incarnation(self) -> UUID:
        """Return the incarnation of the log that the newest connection found."""
        return self.identity().incarnation

    def identity(self) -> Identity:
        """Return what the newest connection was told of the log."""
        if self._identity is None:
            self.ask("identity")
        return cast("Identity", self._identity)

    def introduced(self, identity: Identity) -> None:
        """Take note of what a new connection was told of the log."""
        self._identity = identity

    def close(self) -> None:
        """Close them all; asking afterwards is an error."""
        self._pool.close()

    def _ask(self, name: str, parameters: Sequence[object]) -> list[TupleRow]:
        # There is no transaction to end, and looking for one takes time.
        with self._pool.loan() as connection:
            return fetched(connection, name, parameters)

    def _new_pool(self) -> ConnectionPool[LogConnection]:
        return ConnectionPool(
            self._address.conninfo,
            connection_class=LogConnection,
            kwargs={"autocommit": True, "cursor_factory": RawCursor},
            configure=self._introduce,
            min_size=0,
            max_size=self._most,
            timeout=self._wait,
            reconnect_timeout=0,
            open=False,
            name="onrecord",
        )

    def _introduce(self, connection: LogConnection) -> None:
        connection.schema = self._address.schema
        connection.prepare_threshold = self._threshold
        # A snapshot from before a lock was waited for would show what is erased by then.
        connection.isolation_level = IsolationLevel.READ_COMMITTED
        connection.adapters.register_dumper(Requests, RequestsDumper)
        [row] = fetched(connection, "identity")
        self.introduced(Identity._make(row))


def sent(connection: LogConnection, name: str, *parameters: object) -> Cursor[TupleRow]:
    """Send a named query, whose rows are asked for later."""
    return connection.execute(connection.queries[name], parameters, binary=True)


def fetched(
    connection: LogConnection, name: str, parameters: Sequence[object] = ()
) -> list[TupleRow]:
    """Return the rows of a named query on a connection, values in their binary form."""
    cursor = sent(connection, name, *parameters)
    # Its `description` would say the same, but makes a list of the columns for it.
    return [] if cursor.rownumber is None else cursor.fetchall()
