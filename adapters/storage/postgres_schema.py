"""The log's schema on a PostgreSQL database: whether it is there, and making it."""

from __future__ import annotations

from typing import Any, Final, cast

import psycopg
from psycopg import Connection, errors
from psycopg.rows import TupleRow

from onrecord.adapters.storage.postgres_connections import fetched
from onrecord.adapters.storage.postgres_errors import translated
from onrecord.adapters.storage.queries import load_migrations
from onrecord.domain.errors import (
    ForeignDatabase,
    SchemaNewer,
    SchemaOlder,
    StorageReadOnly,
)

_NONE: Final = 0
_FOREIGN: Final = -1


def migrate(connection: Connection[TupleRow]) -> int:
    """Bring the schema to this release's and return how many steps that took; it only adds.

    Many processes may do so at once: one works, the others wait for it; so do writers, for moments.
    StorageBusy, and nothing was done, where another session holds what it needs for two seconds.
    """
    try:
        with connection.transaction():
            fetched(connection, "migration_lock")
            fetched(connection, "migration_patience")
            version = _version(connection)
            if version == 0 and not fetched(connection, "schema_exists")[0][0]:
                fetched(connection, "create_schema")
            steps = [step for step in load_migrations("postgres") if step.version > version]
            for step in steps:
                # Without parameters, so that it may be many statements.
                connection.execute(cast("Any", step.sql))
                fetched(connection, "migrated", (step.version,))
            return len(steps)
    except errors.InsufficientPrivilege as error:
        raise StorageReadOnly(
            "the role may not make or change the schema `onrecord`: run `onrecord migrate` as a "
            "role that may, then SELECT onrecord.admit('role') for this one"
        ) from error
    except psycopg.Error as error:
        raise translated(error) from error


def is_there(connection: Connection[TupleRow]) -> bool:
    """Return whether the database holds a log; ForeignDatabase or SchemaNewer as `ready` has it."""
    try:
        return _version(connection) > 0
    except psycopg.Error as error:
        raise translated(error) from error


def ready(connection: Connection[TupleRow]) -> None:
    """Return once the schema is this release's: made in an empty database, else as it should be."""
    try:
        version = _version(connection)
        if version == 0:
            migrate(connection)
        elif version < load_migrations("postgres")[-1].version:
            raise SchemaOlder("the log was made by an older Onrecord: run `onrecord migrate`")
        # Asked here too, for what the pool's own threads run into takes its time to be seen.
        fetched(connection, "identity")
    except psycopg.Error as error:
        raise translated(error) from error


def _version(connection: Connection[TupleRow]) -> int:
    installed = fetched(connection, "installed")[0][0]
    if installed == _FOREIGN:
        raise ForeignDatabase(
            "the database has a schema `onrecord` that is not a Onrecord log, and nothing was "
            "changed in it: use another database"
        )
    version = 0 if installed == _NONE else int(fetched(connection, "schema_version")[0][0])
    newest = load_migrations("postgres")[-1].version
    if version > newest:
        raise SchemaNewer("the log was made by a newer Onrecord: upgrade this one")
    return version
