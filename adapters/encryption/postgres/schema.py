"""The schema of a key store on PostgreSQL: whether it is there, whose it is, and making it."""

from __future__ import annotations

from typing import Any, Final, NamedTuple, cast
from uuid import UUID

import psycopg
from psycopg import errors

from onrecord.adapters.encryption.postgres.connections import (
    DIALECT,
    KeyConnection,
    KeyPlace,
    explained,
    fetched,
    of_another_log,
)
from onrecord.adapters.storage.queries import Migration, load_migrations, statements
from onrecord.domain.errors import (
    ForeignDatabase,
    InvalidInput,
    SchemaNewer,
    SchemaUnreleased,
    StorageReadOnly,
    StorageUnavailable,
)

_OURS: Final = frozenset({"migration", "meta", "generation", "subject_key"})
_OF_A_LOG: Final = frozenset({"migration", "event", "conversation_head"})


class DatabasePlace(NamedTuple):
    """The database that something is in: the identifier of the server's cluster, and the oid in it."""

    server: int
    database: int


def bring_up(
    connection: KeyConnection,
    place: KeyPlace,
    log_id: UUID,
    log_place: DatabasePlace | None,
    *,
    may_make: bool,
) -> None:
    """Return once the schema is the key store of a log, made if there is none and it may be made.

    `log_place` is the database of the log, which is refused with InvalidInput, and so is a word of SQL as
    a schema. ForeignDatabase for any other schema, SchemaNewer or SchemaUnreleased for another release's, CorruptRecord for the keys of
    another log, StorageUnavailable where there is none.
    """
    try:
        if fetched(connection, place, "schema_is_a_word")[0][0]:
            raise InvalidInput(
                f"`{place.address.schema}` is a word of SQL and cannot be a key store's name: name another schema"
            )
        _must_be_apart(connection, place, log_place)
        try:
            _bring_up(connection, place, log_id, may_make=may_make)
        except (errors.UniqueViolation, errors.DuplicateTable, errors.DuplicateSchema):
            # Another one made it in the same moment: there was nothing yet to lock.
            _bring_up(connection, place, log_id, may_make=may_make)
    except psycopg.Error as error:
        raise explained(error, place) from None


def _must_be_apart(
    connection: KeyConnection, place: KeyPlace, log_place: DatabasePlace | None
) -> None:
    if log_place is None:
        return
    [found] = fetched(connection, place, "place")
    if DatabasePlace._make(found) == log_place:
        raise InvalidInput(
            f"{place.shown} is the database of the log: keep the keys in another one, at best on "
            "another server"
        )


def _bring_up(connection: KeyConnection, place: KeyPlace, log_id: UUID, *, may_make: bool) -> None:
    with connection.transaction():
        if not _is_there(connection, place):
            if not may_make:
                raise StorageUnavailable(
                    f"there is no key store at {place.shown}, and one is made for a new log alone, by a role "
                    "that may write to it: name the one of this log, or restore it from a backup"
                )
            _make(connection, place, log_id)
        if fetched(connection, place, "select_log") != [(log_id,)]:
            raise of_another_log(place)


def _is_there(connection: KeyConnection, place: KeyPlace) -> bool:
    tables = {name for (name,) in fetched(connection, place, "tables")}
    if not tables:
        return False
    if tables >= _OF_A_LOG:
        raise InvalidInput(
            f"{place.shown} is a log: keep the keys in another database, at best on another server"
        )
    if not tables >= _OURS:
        raise ForeignDatabase(
            f"{place.shown} has a schema `{place.address.schema}` that is not a key store of Onrecord, "
            "and nothing was changed in it: name another schema"
        )
    _must_be_this_release_s(fetched(connection, place, "made_of"), place)
    return True


def _must_be_this_release_s(steps: list[tuple[Any, ...]], place: KeyPlace) -> None:
    release = _release(place)
    if len(steps) > len(release):
        raise SchemaNewer(
            f"{place.shown} has schema {len(steps)}, this Onrecord knows {len(release)}: upgrade it"
        )
    if steps != [(step.version, step.digest) for step in release]:
        raise SchemaUnreleased(f"{place.shown} was made by no release of Onrecord: name another")


def _make(connection: KeyConnection, place: KeyPlace, log_id: UUID) -> None:
    try:
        if not fetched(connection, place, "schema_exists")[0][0]:
            fetched(connection, place, "create_schema")
        for step in _release(place):
            for statement in statements(step.sql):
                # Without parameters, so that the driver takes it as it is.
                connection.execute(cast("Any", statement))
            fetched(connection, place, "note_migration", (step.version, step.digest))
    except errors.InsufficientPrivilege:
        schema = place.address.schema
        raise StorageReadOnly(
            f"the role may not make the key store {place.shown}: connect once as a role that may, then "
            f"SELECT {schema}.admit('role') for this one"
        ) from None
    fetched(connection, place, "insert_meta", [log_id])


def _release(place: KeyPlace) -> tuple[Migration, ...]:
    return load_migrations(DIALECT, place.address.schema)
