"""The wrapped keys of subjects in a schema of a PostgreSQL database, for programs on several machines."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from psycopg.rows import TupleRow

from onrecord.adapters.encryption.key_store import known_key, live_key, wrapped_key
from onrecord.adapters.encryption.postgres.connections import (
    KeyConnections,
    KeyPlace,
    connected,
    key_place_of,
)
from onrecord.adapters.encryption.postgres.schema import DatabasePlace, bring_up
from onrecord.adapters.storage.postgres.postgres import Postgres
from onrecord.domain.encryption.wrapped import (
    DestroyedKey,
    Generation,
    Rewrapping,
    WrappedKey,
)
from onrecord.domain.log import Backend


def open_postgres_keys(
    url: str,
    log_id: UUID,
    log_place: DatabasePlace | None = None,
    wait: float = 30.0,
    *,
    may_make: bool = True,
) -> PostgresKeyStore:
    """Return the key store in a schema, made if there is none and it may be; `log_id` is its log.

    `url` is postgresql://user@host/database; its parameter `schema` names the schema where that is not
    `onrecord_keys`. A writer waits `wait` seconds for its turn. `log_place` is the database of the log,
    which is refused. `schema.bring_up` says which errors there are.
    """
    place = key_place_of(url)
    with connected(place) as connection:
        bring_up(connection, place, log_id, log_place, may_make=may_make)
    return PostgresKeyStore(place, log_id, wait)


def database_of(log: Backend) -> DatabasePlace | None:
    """Return the database that a log is in, as it is stored; None where it is in none of PostgreSQL."""
    if not isinstance(log, Postgres):
        return None
    [place] = log.connections.ask("place")
    return DatabasePlace._make(place)


class PostgresKeyStore:
    """A key store on PostgreSQL; get it by `open_postgres_keys`. See `KeyStore` for what each verb does."""

    def __init__(self, place: KeyPlace, log_id: UUID, wait: float) -> None:
        """Use a schema that is ready."""
        self._shown, self._log_id = place.shown, log_id
        self._connections = KeyConnections(place, wait)

    def __repr__(self) -> str:
        """Say where it is, without what is secret in its URL."""
        return self._shown

    def find(self, subject: bytes) -> WrappedKey | None:
        """Return the key of a subject."""
        return live_key(_first(self._connections.read("find", subject)))

    def get(self, key_id: str) -> WrappedKey | DestroyedKey | None:
        """Return the key of an id, or when it was destroyed."""
        return known_key(_first(self._connections.read("get", key_id)))

    def add(self, key: WrappedKey) -> WrappedKey:
        """Keep a key, unless its subject has one."""
        generation, data = key.wrapped
        [row] = self._write("add", key.key_id, key.subject, generation, data, key.created_at)
        return wrapped_key(row)

    def destroy(self, key_id: str, at: int) -> DestroyedKey | None:
        """Destroy a key."""
        known = known_key(_first(self._write("destroy", key_id, at)))
        return known if isinstance(known, DestroyedKey) else None

    def replace(self, rewrappings: Sequence[Rewrapping]) -> int:
        """Have keys wrapped under other generations."""
        columns = (
            [each.key_id for each in rewrappings],
            [each.old.generation for each in rewrappings],
            [each.old.data for each in rewrappings],
            [each.new.generation for each in rewrappings],
            [each.new.data for each in rewrappings],
        )
        [(changed,)] = self._write("replace", *columns)
        return int(changed)

    def under(self, generations: Sequence[str], limit: int) -> list[WrappedKey]:
        """Return keys that are wrapped under some generations."""
        rows = self._connections.read("under", list(generations), limit)
        return [key for row in rows if (key := live_key(row)) is not None]

    def generations(self) -> list[Generation]:
        """Return the generations that keys were ever wrapped under."""
        return [Generation._make(row) for row in self._connections.read("generations")]

    def close_generation(self, name: str) -> None:
        """Take no more keys under a generation."""
        self._write("close_generation", name)

    def note_retired(self, name: str, at: int, undoable_until: int | None) -> None:
        """Note that a closed generation is gone."""
        self._write("note_retired", name, at, undoable_until)

    def scrub(self) -> None:
        """Write the table anew, if its files may hold what was destroyed or replaced."""
        self._write("scrub")

    def close(self) -> None:
        """Close every connection."""
        self._connections.close()

    def _write(self, name: str, *parameters: object) -> list[TupleRow]:
        return self._connections.write(name, self._log_id, *parameters)


def _first(rows: Sequence[TupleRow]) -> TupleRow | None:
    return next(iter(rows), None)
