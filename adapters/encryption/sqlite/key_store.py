"""The wrapped keys of subjects in a SQLite file of their own, readable by its owner alone.

`keys.db` has its write-ahead log and the lock file of its writers beside it. It is never the file of a
log, nor of its views: whoever has a copy of the log has no keys then.
"""

from __future__ import annotations

import json
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from uuid import UUID

from onrecord.adapters.encryption.key_store import GenerationClosed, known_key, live_key
from onrecord.adapters.storage.interrupts import releasing
from onrecord.adapters.storage.queries import load_migrations
from onrecord.adapters.storage.sqlite.connection import Connections, Session
from onrecord.adapters.storage.sqlite.header import (
    KEYS_FILE,
    LOG_FILE,
    VIEWS_FILE,
    application_id,
    run_steps,
)
from onrecord.adapters.storage.sqlite.held_files import make, must_be_the_only_user
from onrecord.adapters.storage.sqlite.lock import LockFile, lock_file, refuse_network_filesystem
from onrecord.domain.encryption.wrapped import (
    DestroyedKey,
    Generation,
    Rewrapping,
    WrappedKey,
)
from onrecord.domain.errors import (
    CorruptRecord,
    ForeignDatabase,
    InvalidInput,
    SchemaNewer,
    StorageBusy,
    StorageUnavailable,
)

_DIALECT: Final = "sqlite_keys"
_SCHEMA: Final = len(load_migrations(_DIALECT))
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


@releasing
def open_key_store(path: Path, log_id: UUID, wait: float = 30.0) -> SqliteKeyStore:
    """Return the key store in a file, made if there is none; `log_id` is the log whose keys it has.

    A writer waits `wait` seconds for its turn. InvalidInput for the file of a log and for one that others
    may read, ForeignDatabase for any other file, CorruptRecord for the keys of another log.
    """
    path = path.resolve()
    must_be_usable(path)
    try:
        lock = lock_file(path.with_name(f"{path.name}-lock"))
        with lock.turn(wait):
            make(path, beside=path)
            _must_be_its_owners(path)
            must_be_the_only_user(path, wait)
            connections = _prepared(path, log_id, wait, lock)
    except OSError as exc:
        raise StorageUnavailable(f"{path} cannot be made: check its folder") from exc
    return SqliteKeyStore(path, connections, lock, wait)


class SqliteKeyStore:
    """A key store in a file; get it by `open_key_store`. See `KeyStore` for what each verb does."""

    def __init__(self, path: Path, connections: Connections, lock: LockFile, wait: float) -> None:
        """Use connections to a file that was prepared."""
        self._path = path
        self._connections = connections
        self._lock = lock
        self._wait = wait

    def __repr__(self) -> str:
        """Say where it is."""
        return f"{self._path}"

    def find(self, subject: bytes) -> WrappedKey | None:
        """Return the key of a subject."""
        with self._connections.borrowed() as session:
            return live_key(session.one("find", subject))

    def get(self, key_id: str) -> WrappedKey | DestroyedKey | None:
        """Return the key of an id, or when it was destroyed."""
        with self._connections.borrowed() as session:
            return known_key(session.one("get", key_id))

    def add(self, key: WrappedKey) -> WrappedKey:
        """Keep a key, unless its subject has one."""
        generation, data = key.wrapped
        with self._writing() as session:
            if (there := live_key(session.one("find", key.subject))) is not None:
                return there
            _must_be_open(session, generation)
            session.run("insert_key", key.key_id, key.subject, generation, data, key.created_at)
        return key

    def destroy(self, key_id: str, at: int) -> DestroyedKey | None:
        """Destroy a key."""
        with self._writing() as session:
            session.run("destroy", at, key_id)
            session.run("mark_residue")
            known = known_key(session.one("get", key_id))
        return known if isinstance(known, DestroyedKey) else None

    def replace(self, rewrappings: Sequence[Rewrapping]) -> int:
        """Have keys wrapped under other generations."""
        replaced = 0
        with self._writing() as session:
            for generation in {each.new.generation for each in rewrappings}:
                _must_be_open(session, generation)
            for key_id, old, new in rewrappings:
                session.run("replace", *new, key_id, *old)
                known = known_key(session.one("get", key_id))
                replaced += isinstance(known, WrappedKey) and known.wrapped == new
            session.run("mark_residue")
        return replaced

    def under(self, generations: Sequence[str], limit: int) -> list[WrappedKey]:
        """Return keys that are wrapped under some generations."""
        with self._connections.borrowed() as session:
            rows = session.all("under", json.dumps(list(generations)), limit)
        return [key for row in rows if (key := live_key(row)) is not None]

    def generations(self) -> list[Generation]:
        """Return the generations that keys were ever wrapped under."""
        with self._connections.borrowed() as session:
            rows = session.all("generations")
        return [
            Generation(name, keys, destroyed, bool(is_closed), bool(is_retired), until)
            for name, keys, destroyed, is_closed, is_retired, until in rows
        ]

    def close_generation(self, name: str) -> None:
        """Take no more keys under a generation."""
        with self._writing() as session:
            session.run("know_generation", name)
            session.run("close_generation", name)

    def note_retired(self, name: str, at: int, undoable_until: int | None) -> None:
        """Note that a closed generation is gone."""
        with self._writing() as session:
            session.run("note_retired", at, undoable_until, name)

    def scrub(self) -> None:
        """Write file and write-ahead log anew, if they may hold what was destroyed or replaced."""
        with self._turn():
            with self._connections.borrowed() as session:
                if session.one("has_residue") == (0,):
                    return
                session.run("write_anew")
                (busy, *_) = session.one("empty_wal") or (1,)
            if busy:
                raise StorageBusy(
                    f"a program reads from {self._path}, whose write-ahead log may still hold keys "
                    "that were destroyed: end it, then do this again"
                )
            with self._connections.transaction() as session:
                session.run("unmark_residue")

    def close(self) -> None:
        """Close every connection."""
        self._connections.close()

    @contextmanager
    def _writing(self) -> Generator[Session]:
        with self._turn(), self._connections.transaction() as session:
            yield session

    @contextmanager
    def _turn(self) -> Generator[None]:
        """Have the turn to write to the files that others will find."""
        with self._lock.turn(self._wait):
            self._connections.must_be_in_place()
            yield
            self._connections.must_be_in_place()


def must_be_usable(path: Path) -> None:
    """Refuse a file that can be no key store; errors as `open_key_store`. One that is not there can be made."""
    if not path.parent.is_dir():
        raise StorageUnavailable(f"the folder {path.parent} does not exist: make it first")
    if not path.exists():
        refuse_network_filesystem(path)
        return
    if not path.is_file():
        raise ForeignDatabase(f"{path} is not a file: choose another name")
    refuse_network_filesystem(path)
    if path.stat().st_size == 0:
        return
    found = application_id(path)
    if found in (LOG_FILE, VIEWS_FILE):
        raise InvalidInput(
            f"{path} is a log, or its views: keep the keys in another file, at best on another disk"
        )
    if found != KEYS_FILE:
        raise ForeignDatabase(f"{path} is not a key store of Onrecord: choose another file")


def _must_be_its_owners(path: Path) -> None:
    if path.stat().st_mode & _OTHERS:
        raise InvalidInput(f"others than its owner may use {path}, which holds keys: chmod 600 it")


def _prepared(path: Path, log_id: UUID, wait: float, lock: LockFile) -> Connections:
    """Return connections to the file, made if it is new. The caller has the turn."""
    connections = Connections(str(path), wait, _DIALECT)
    try:
        _bring_up(path, connections, log_id)
        connections.hold_files(lock.identity())
        connections.must_be_in_place()
    except BaseException:
        connections.close()
        raise
    return connections


def _bring_up(path: Path, connections: Connections, log_id: UUID) -> None:
    with connections.borrowed() as session:
        (version,) = session.one("schema_version") or (0,)
    if version > _SCHEMA:
        raise SchemaNewer(f"{path} has schema {version}, this Onrecord knows {_SCHEMA}: upgrade it")
    if version == 0:
        # Without a write-ahead log, so that the first page says whose file it is.
        with connections.transaction() as session:
            run_steps(session, load_migrations(_DIALECT))
            session.run("insert_meta", log_id.bytes)
    with connections.borrowed() as session:
        session.run("enter_wal")
        if session.one("select_log") != (log_id.bytes,):
            raise CorruptRecord(f"{path} has the keys of another log: name this log's own")


def _must_be_open(session: Session, generation: str) -> None:
    session.run("know_generation", generation)
    if session.one("is_closed", generation) != (0,):
        raise GenerationClosed
