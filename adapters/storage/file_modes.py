"""Who may read and write a store's files: their owner alone, until that lets others.

SQLite gives its journals the mode of the database; what Onrecord keeps beside a database gets it too,
so that one `chmod` of the database before it is shared is enough.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

_OWNERS_ALONE: Final = 0o600
_READ_AND_WRITE: Final = 0o666


def make(path: Path, beside: Path) -> None:
    """Make an empty file if there is none, with the mode of another; OSError where it cannot be.

    The caller has the turn of the file: where a thread of this process had it open already, closing
    it here would free that thread's locks (fcntl(2)).
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _OWNERS_ALONE)
    except FileExistsError:
        return
    try:
        set_mode(descriptor, beside)
    finally:
        os.close(descriptor)


def set_mode(descriptor: int, beside: Path) -> None:
    """Give a new file the mode of another one that is there; it has its owner's alone before."""
    try:
        shared = stat.S_IMODE(beside.stat().st_mode) & _READ_AND_WRITE
    except FileNotFoundError:
        return
    if shared != _OWNERS_ALONE:
        os.fchmod(descriptor, shared)
