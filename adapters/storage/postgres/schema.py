"""The log's schema on a PostgreSQL database: whether it is there and this release's, and making it."""

from __future__ import annotations

from typing import Any, Final, NamedTuple, cast

import psycopg
from psycopg import errors

from onrecord.adapters.storage.postgres.connections import LogConnection, fetched
from onrecord.adapters.storage.postgres.errors import translated
from onrecord.adapters.storage.queries import Migration, load_functions, load_migrations, statements
from onrecord.domain.errors import (
    ForeignDatabase,
    InvalidInput,
    SchemaNewer,
    SchemaOlder,
    SchemaUnreleased,
    StorageBusy,
    StorageReadOnly,
    WrongNode,
)

FUNCTIONS_REVISION: Final = 12
"""Of the files that are replaced as a whole: a release that changes one of them raises it."""

_NONE: Final = 0
_FOREIGN: Final = -1
_UNRELEASED: Final = -2


class _Installed(NamedTuple):
    """What a schema was made of: the digest of each step by its number, and the functions' last."""

    steps: dict[int, bytes]
    revision: int = 0
    functions: bytes = b""

    @property
    def version(self) -> int:
        return max(self.steps, default=0)


class _Release(NamedTuple):
    """What this release makes a schema of."""

    steps: tuple[Migration, ...]
    functions: Migration
    on_citus: bool


def migrate(connection: LogConnection) -> int:
    """Bring the schema to this release's and return how many steps that took; it only adds.

    Many processes may do so at once: one works, the others wait for it, half a minute each; so do
    writers, for moments. StorageBusy, and nothing was done, where that was not enough, or where another
    session holds what it needs for two seconds.
    """
    try:
        try:
            steps = _migrate(connection)
        except (errors.UniqueViolation, errors.DuplicateTable):
            # Another one made the schema in the same moment: there was nothing yet to lock.
            steps = _migrate(connection)
        _set_statistics_on_citus(connection)
        return steps
    except errors.InsufficientPrivilege as error:
        schema = connection.schema
        raise StorageReadOnly(
            f"the role may not make or change the schema `{schema}`: run `onrecord migrate` as a "
            f"role that may, then SELECT {schema}.admit('role') for this one"
        ) from error
    except psycopg.Error as error:
        raise translated(error) from error


def is_there(connection: LogConnection) -> bool:
    """Return whether the database holds a log; ForeignDatabase or SchemaNewer as `ready` has it."""
    try:
        return _installed(connection, _release(connection)).version > 0
    except psycopg.Error as error:
        raise translated(error) from error


def ready(connection: LogConnection) -> None:
    """Return once the schema is this release's: made in an empty database, else as it should be."""
    try:
        release = _release(connection)
        installed = _installed(connection, release)
        if installed.version == 0:
            migrate(connection)
        elif installed.version < release.steps[-1].version:
            raise SchemaOlder("the log was made by an older Onrecord: run `onrecord migrate`")
        elif installed.functions != release.functions.digest:
            raise SchemaOlder("the log's functions are not this release's: run `onrecord migrate`")
        # Asked here too, for what the pool's own threads run into takes its time to be seen.
        fetched(connection, "identity")
    except psycopg.Error as error:
        raise translated(error) from error


def _migrate(connection: LogConnection) -> int:
    """Do what is still to be done, in one transaction."""
    with connection.transaction():
        release = _release(connection)
        installed = _installed(connection, release)
        if installed.version > 0 and _to_do(installed, release):
            fetched(connection, "migration_turn")
            fetched(connection, "migration_lock")
            fetched(connection, "migration_patience")
            installed = _installed(connection, release)
        if not _to_do(installed, release):
            return 0
        return _brought(connection, installed, release)


def _to_do(installed: _Installed, release: _Release) -> bool:
    is_behind = installed.version < release.steps[-1].version
    return is_behind or installed.functions != release.functions.digest


def _brought(connection: LogConnection, installed: _Installed, release: _Release) -> int:
    """Bring what is installed to the release, in the transaction at hand."""
    steps = [step for step in release.steps if step.version > installed.version]
    if release.on_citus:
        _must_be_the_coordinator(connection)
    if installed.version == 0 and not fetched(connection, "schema_exists")[0][0]:
        fetched(connection, "create_schema")
    for step in steps:
        _run(connection, "tables", step)
    if release.on_citus:
        _distribute(connection)
    if installed.functions == release.functions.digest:
        return len(steps)
    # What the functions of one file need may be in another.
    fetched(connection, "bodies_unchecked")
    _run(connection, "functions", release.functions)
    if release.on_citus:
        fetched(connection, "citus_appends")
        fetched(connection, "citus_nesting")
    return max(len(steps), 1)


def _set_statistics_on_citus(connection: LogConnection) -> None:
    """Let no shard keep statistics of what was said, each time: it is no part of the transaction."""
    if not fetched(connection, "is_citus")[0][0] or fetched(connection, "coordinator"):
        return
    if not fetched(connection, "citus_statistics")[0][0]:
        raise StorageBusy(
            "the log is made, but columns of its shards still keep statistics of what was said: run "
            "`onrecord migrate` again when nobody uses its tables"
        )


def _must_be_the_coordinator(connection: LogConnection) -> None:
    """Refuse to migrate on another node of a Citus cluster, which may not change the others."""
    elsewhere = fetched(connection, "coordinator")
    if elsewhere:
        raise WrongNode(
            f"a log on Citus is made and migrated at the coordinator, {elsewhere[0][0]}: run "
            "`onrecord migrate` with its URL, then use the URL of the log's own node"
        )


def _distribute(connection: LogConnection) -> None:
    """Make the log's schema one that lies as a whole on one node of a Citus cluster."""
    fetched(connection, "citus_settings")
    if not fetched(connection, "is_distributed")[0][0]:
        fetched(connection, "distribute")


def _run(connection: LogConnection, part: str, migration: Migration) -> None:
    for statement in statements(migration.sql):
        # Without parameters, so that the driver takes it as it is.
        connection.execute(cast("Any", statement))
    fetched(connection, "migrated", (part, migration.version, migration.digest))


def _release(connection: LogConnection) -> _Release:
    schema, on_citus = connection.schema, bool(fetched(connection, "is_citus")[0][0])
    return _Release(
        load_migrations("postgres", schema, on_citus=on_citus),
        load_functions("postgres", FUNCTIONS_REVISION, schema, on_citus=on_citus),
        on_citus,
    )


def _installed(connection: LogConnection, release: _Release) -> _Installed:
    """Return what the schema was made of; a typed error where it is no work of ours."""
    schema = connection.schema
    if fetched(connection, "schema_is_a_word")[0][0]:
        raise InvalidInput(
            f"`{schema}` is a word of SQL and cannot be a log's name: name another schema"
        )
    installed = fetched(connection, "installed")[0][0]
    if installed == _FOREIGN:
        raise ForeignDatabase(
            f"the database has a schema `{schema}` that is not an Onrecord log, and nothing was "
            "changed in it: use another database, or another schema"
        )
    if installed == _UNRELEASED:
        raise _unreleased(schema)
    if installed == _NONE:
        return _Installed({})
    rows = fetched(connection, "made_of")
    functions = [(number, digest) for part, number, digest in rows if part == "functions"]
    revision, digest = max(functions, default=(0, b""))
    steps = {number: digest for part, number, digest in rows if part == "tables"}
    installed = _Installed(steps, revision, digest)
    _must_be_ours(installed, release, schema)
    return installed


def _must_be_ours(installed: _Installed, release: _Release, schema: str) -> None:
    newest = release.steps[-1].version
    if installed.version > newest or installed.revision > release.functions.version:
        raise SchemaNewer("the log was made by a newer Onrecord: upgrade this one")
    for step in release.steps:
        if installed.steps.get(step.version, step.digest) != step.digest:
            raise _unreleased(schema)


def _unreleased(schema: str) -> SchemaUnreleased:
    return SchemaUnreleased(
        f"the log in the schema `{schema}` was made by no release of Onrecord and cannot be read by "
        "one: begin a new log in another schema"
    )
