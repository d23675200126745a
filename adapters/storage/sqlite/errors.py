"""SQLite's errors in the words of this project, each with what to do."""

from __future__ import annotations

import errno
from typing import Final

import apsw

from onrecord.domain.errors import (
    CorruptRecord,
    ForeignDatabase,
    StorageBusy,
    StorageError,
    StorageFull,
    StorageReadOnly,
    StorageUnavailable,
)

NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""What the system says where a disk, or a share of it, is full."""

_MEANINGS: Final[tuple[tuple[tuple[type[apsw.Error], ...], type[StorageError], str], ...]] = (
    (
        (apsw.BusyError, apsw.LockedError),
        StorageBusy,
        "{path} is locked by another program for too long: retry, or stop that program",
    ),
    ((apsw.FullError,), StorageFull, "no room to write to {path}: free some, then retry"),
    (
        (apsw.ReadOnlyError, apsw.PermissionsError),
        StorageReadOnly,
        "{path} takes no writes: check the permissions of the file and of its folder",
    ),
    ((apsw.NotADBError,), ForeignDatabase, "{path} is not an Onrecord log: choose another file"),
    (
        (apsw.CorruptError, apsw.ConstraintError, apsw.FormatError),
        CorruptRecord,
        "{path} is damaged: restore it from a backup",
    ),
    (
        (apsw.IOError, apsw.CantOpenError, apsw.AuthError, apsw.NoLFSError),
        StorageUnavailable,
        "{path} cannot be read or written: check the disk and its permissions",
    ),
    (
        (apsw.NoMemError,),
        StorageUnavailable,
        "no memory is left to use {path}: free some, then retry",
    ),
    ((apsw.TooBigError,), StorageFull, "{path} cannot hold a value so large: make it smaller"),
    (
        (apsw.InterruptError, apsw.AbortError),
        StorageUnavailable,
        "a statement on {path} was interrupted, nothing of it was kept: do it again",
    ),
    (
        (apsw.ConnectionClosedError, apsw.CursorClosedError),
        StorageUnavailable,
        "the connection to {path} was closed amid its use: retry",
    ),
    ((apsw.ProtocolError,), StorageBusy, "other programs begin to use {path} all the time: retry"),
    (
        (apsw.SQLError, apsw.SchemaChangeError),
        StorageUnavailable,
        (
            "SQLite refuses a statement on {path}: another program has changed its tables, "
            "or this is a bug of Onrecord, then report it"
        ),
    ),
)


def storage_error(error: apsw.Error, path: str, system_errno: int) -> StorageError:
    """Return what an error of SQLite means; `system_errno` is what the system said last."""
    if isinstance(error, apsw.IOError) and system_errno in NO_ROOM:
        return StorageFull(f"no room to write to {path}: free some, then retry")
    for kinds, meaning, text in _MEANINGS:
        if isinstance(error, kinds):
            return meaning(text.format(path=path))
    # Only what it is called is told: the text of an error may quote what was to be stored.
    return StorageUnavailable(
        f"SQLite was used on {path} in a way that it refuses ({type(error).__name__}): "
        "this is a bug of Onrecord, report it; what was stored before is safe"
    )
