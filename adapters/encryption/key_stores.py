"""Which key store a setting names: a file, or a schema of a PostgreSQL database."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import UUID

from onrecord.domain.errors import InvalidInput, NotInstalled, StorageUnavailable

if TYPE_CHECKING:
    from onrecord.adapters.encryption.key_store import KeyStore
    from onrecord.domain.log import Backend

_FILE: Final = "sqlite:"
_SERVER: Final = ("postgresql://", "postgres://")
_NO_PATH: Final = re.compile(r"\s*postgres(ql)?:|.*://|.*\bpassword\s*=", re.IGNORECASE | re.DOTALL)
"""What is meant for a server: taken for a path, it would show its password in messages."""


def key_store_at(keys: str, log_id: UUID, stored: Backend, *, may_make: bool) -> KeyStore:
    """Return the key store of a log, as it is stored: `keys` is a path, or a URL of SQLite or PostgreSQL.

    Made if there is none and it may be made. InvalidInput for another URL, and for the log's own database;
    StorageUnavailable where there is none.
    """
    if keys.startswith(_SERVER):
        return _on_server(keys, log_id, stored, may_make=may_make)
    from onrecord.adapters.encryption.sqlite.key_store import open_key_store

    file = _file(keys)
    if not may_make and not file.exists():
        raise StorageUnavailable(
            f"there is no key store at {file}, and one is made for a new log alone, by a role that may write to "
            "it: name the one of this log, or restore it from a backup"
        )
    return open_key_store(file, log_id)


def must_be_makeable(keys: str) -> None:
    """Refuse a file in which no key store can be made; errors as `key_store_at`. A server is not asked."""
    if keys.startswith(_SERVER):
        return
    from onrecord.adapters.encryption.sqlite.key_store import must_be_usable

    must_be_usable(_file(keys).resolve())


def _on_server(keys: str, log_id: UUID, stored: Backend, *, may_make: bool) -> KeyStore:
    try:
        from onrecord.adapters.encryption.postgres.key_store import database_of, open_postgres_keys
    except ModuleNotFoundError as exc:
        raise NotInstalled("a key store on PostgreSQL", exc.name or "psycopg", "postgres") from exc
    return open_postgres_keys(keys, log_id, database_of(stored), may_make=may_make)


def _file(keys: str) -> Path:
    from onrecord.adapters.storage.sqlite.url import path_of

    if keys.startswith(_FILE):
        return path_of(keys)
    if _NO_PATH.match(keys):
        raise InvalidInput(
            "a key store is a file or a PostgreSQL database: give ONRECORD_KEYS a path, or "
            "postgresql://user@host/database"
        )
    return Path(keys)
