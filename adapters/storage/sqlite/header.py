"""The first bytes of a SQLite file, which say whose database it is.

Closing a file frees all locks that the process has on it, those of its connections too (fcntl(2),
sqlite.org/howtocorrupt.html §2.2), and another program may then take the write-ahead log away. So
the file is opened by way of SQLite, which puts off the closing while it holds locks.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import apsw

from onrecord.adapters.storage.queries import Migration, load_migrations
from onrecord.adapters.storage.sqlite.connection import Session
from onrecord.adapters.storage.sqlite.errors import storage_error

# sqlite.org/fileformat.html §1.3
_MAGIC: Final = b"SQLite format 3\0"
_APPLICATION_ID: Final = slice(68, 72)
LOG_FILE: Final = int.from_bytes(b"ONRC", "big")
VIEWS_FILE: Final = int.from_bytes(b"ONRV", "big")
KEYS_FILE: Final = int.from_bytes(b"ONRK", "big")
_FLAGS: Final = [apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_MAIN_DB, 0]


def application_id(path: Path) -> int | None:
    """Return the number of the program whose database a file is; None where it is no database.

    0 where it does not say; the write-ahead log may. A file that cannot be read is a StorageError.
    """
    try:
        file = apsw.VFSFile("", str(path), _FLAGS)
        try:
            first = file.xRead(_APPLICATION_ID.stop, 0)
        finally:
            file.xClose()
    except apsw.Error as exc:
        raise storage_error(exc, str(path), 0) from exc
    return int.from_bytes(first[_APPLICATION_ID], "big") if first.startswith(_MAGIC) else None


# What a SQLite file was made of: its steps, and that they are those of a release.


def run_steps(session: Session, steps: Iterable[Migration]) -> None:
    """Run steps, and write down what each of them was."""
    for step in steps:
        session.migrate(step.sql)
        session.run("note_migration", step.version, step.digest)


def is_of_a_release(session: Session, dialect: str) -> bool:
    """Whether each step of a file that this release knows too is the same one."""
    (keeps_them,) = session.one("keeps_migrations") or (0,)
    if not keeps_them:
        return False
    made_of: dict[object, object] = dict(session.all("select_migrations"))
    known = load_migrations(dialect)[: len(made_of)]
    return bool(made_of) and all(made_of.get(step.version) == step.digest for step in known)
