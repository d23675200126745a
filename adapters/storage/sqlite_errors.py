"""SQLite's errors in the words of this project, each with what to do."""

from __future__ import annotations

import errno
from collections.abc import Callable
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

_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})

_MEANINGS: Final[tuple[tuple[tuple[type[apsw.Error], ...], Callable[[str], StorageError]], ...]] = (
    (
        (apsw.BusyError, apsw.LockedError),
        lambda path: StorageBusy(
            f"{path} is locked by another program for too long: retry, or stop that program"
        ),
    ),
    (
        (apsw.FullError,),
        lambda path: StorageFull(f"no room to write to {path}: free some, then retry"),
    ),
    (
        (apsw.ReadOnlyError, apsw.PermissionsError),
        lambda path: StorageReadOnly(
            f"{path} takes no writes: check the permissions of the file and of its folder"
        ),
    ),
    (
        (apsw.NotADBError,),
        lambda path: ForeignDatabase(f"{path} is not a Onrecord log: choose another file"),
    ),
    (
        (apsw.CorruptError, apsw.ConstraintError, apsw.FormatError),
        lambda path: CorruptRecord(f"{path} is damaged: restore it from a backup"),
    ),
)


def storage_error(error: apsw.Error, path: str, system_errno: int) -> StorageError:
    """Return what an error of SQLite means; `system_errno` is what the system said last."""
    if isinstance(error, apsw.IOError) and system_errno in _NO_ROOM:
        return StorageFull(f"no room to write to {path}: free some, then retry")
    for kinds, meaning in _MEANINGS:
        if isinstance(error, kinds):
            return meaning(path)
    return StorageUnavailable(
        f"{path} cannot be used ({type(error).__name__}): check the disk and its permissions"
    )
