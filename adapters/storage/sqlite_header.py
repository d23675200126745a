"""The first bytes of a SQLite file, which say whose database it is.

Closing a file frees all locks that the process has on it, those of its connections too (fcntl(2),
sqlite.org/howtocorrupt.html §2.2), and another program may then take the write-ahead log away. So
the file is opened by way of SQLite, which puts off the closing while it holds locks.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import apsw

from onrecord.adapters.storage.sqlite_errors import storage_error

# sqlite.org/fileformat.html §1.3
_MAGIC: Final = b"SQLite format 3\0"
_APPLICATION_ID: Final = slice(68, 72)
LOG_FILE: Final = int.from_bytes(b"ONRC", "big")
VIEWS_FILE: Final = int.from_bytes(b"ONRV", "big")
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
