"""The files that an open SQLite database holds, told by device and inode.

SQLite opens a database by its path and never looks at the path again. Whoever removes or replaces
the write-ahead log, its index (`-shm`) or the file itself makes this process go on in files that
nobody else can find, while another process begins in new ones (sqlite.org/howtocorrupt.html §4).
Whoever removes the lock file gives the turn to write to two. So the paths are compared with what was opened, before a connection is lent and before a commit is
acknowledged.

A process that opens the database after that sees no index, as if it were the first. Whether it is
the first shows by an exclusive lock on the file itself, which SQLite gives only to a sole user.
"""

from __future__ import annotations

import os
import stat
import struct
import time
import zlib
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

import apsw

from onrecord.adapters.storage.queries import load_queries
from onrecord.adapters.storage.sqlite.errors import storage_error
from onrecord.domain.errors import StorageUnavailable

_LONGEST_LOOK: Final = 5.0
"""Seconds for which the last user of a file may be seen amid closing it."""

_PAUSE: Final = 0.01

_MOMENT: Final = 0.05
"""Seconds for which readers take it that the files are there."""

_TICK: Final = 0.1
"""Seconds after which a change of a folder has another time than the one before: file systems count
by ticks of the kernel, of 1 to 10 ms."""

Identity = tuple[int, int] | None
"""Device and inode of a file; None where there is none."""


class HeldFiles:
    """What the connections of one process have open, for a database in a file.

    Whoever removes or renames a file changes the time of its folder. So as long as that time stays,
    one look at the folder tells as much as one at each file.
    """

    _folder_time: int
    _seen_at: float
    _is_settled: bool
    _next_glance: float

    def __init__(self, path: str, lock: Identity) -> None:
        """Take note of the database's file, which a connection has open, and of its lock file."""
        self._path, self._wal = path, f"{path}-wal"
        # What stays open while no connection is.
        self._lasting = {path: _identity(path), f"{path}-lock": lock}
        self._folder = os.path.dirname(path)  # noqa: PTH120 - as `os.stat` below
        self._open_files: dict[str, Identity] | None = None
        self._trust_nothing()

    def take_note(self) -> None:
        """Take note of what the first of a process's connections has opened."""
        beside = (self._wal, f"{self._path}-shm")
        self._open_files = self._lasting | {path: _identity(path) for path in beside}
        self._trust_nothing()

    def glance(self, is_open: Callable[[], bool]) -> None:
        """Check, unless that was done a moment ago: for readers, to whom a moment does no harm."""
        now = time.monotonic()
        if now >= self._next_glance:
            self.check(is_open)
            self._next_glance = now + _MOMENT

    def check(self, is_open: Callable[[], bool]) -> None:
        """Raise StorageUnavailable unless the paths lead to what is open.

        `is_open` tells whether a connection is open. Where none is, others may have begun another
        write-ahead log, but in this file.
        """
        if self._open_files is None:
            return
        now, folder_time = time.monotonic(), _time_of(self._folder)
        if folder_time != self._folder_time:
            self._folder_time, self._seen_at, self._is_settled = folder_time, now, False
        elif self._is_settled:
            return
        opened = is_open()
        for path, identity in (self._open_files if opened else self._lasting).items():
            if (identity_now := _identity(path)) != identity:
                self._trust_nothing()
                raise _lost(path, self._path, is_there=identity_now is not None)
        # What is removed within a tick of the kernel leaves the folder the time that it has.
        self._is_settled = opened and now - self._seen_at > _TICK

    def _trust_nothing(self) -> None:
        """Look at each file the next time, whatever the time of the folder."""
        self._folder_time, self._seen_at, self._is_settled = 0, 0.0, False
        self._next_glance = 0.0

    def may_be_copied_back(self) -> bool:
        """Whether closing the last connection may write the write-ahead log into the file.

        Not where another file has the name of either: SQLite would delete that write-ahead log.
        """
        if self._open_files is None:
            return True
        is_main = _identity(self._path) == self._open_files[self._path]
        return is_main and _identity(self._wal) in (None, self._open_files[self._wal])


def must_be_the_only_user(path: Path, wait: float) -> None:
    """Raise StorageUnavailable where others have a database open whose index is gone.

    Without an index nobody should have it open. The caller has the turn of the file.
    """
    index = Path(f"{path}-shm")
    until = time.monotonic() + min(wait, _LONGEST_LOOK)
    while path.exists() and path.stat().st_size and not index.exists():
        if _is_the_only_user(path):
            return
        # The last user deletes the index amid closing the file: soon the file is free.
        if time.monotonic() >= until:
            raise StorageUnavailable(
                f"other programs have {path} open, and its write-ahead log was removed under them: "
                "end them, which writes into the file what they recorded, then connect again"
            )
        time.sleep(_PAUSE)


def _is_the_only_user(path: Path) -> bool:
    queries = load_queries("sqlite")
    connection = apsw.Connection(str(path), apsw.SQLITE_OPEN_READWRITE)
    # Its type hints name collections.abc.Buffer, which Python 3.11 does not have.
    untyped = cast("Any", connection)
    with closing(connection):
        try:
            untyped.execute(queries["alone"])
            untyped.execute(queries["schema_version"]).fetchall()
        except (apsw.BusyError, apsw.LockedError):
            return False
        except apsw.Error as exc:
            raise storage_error(exc, str(path), connection.system_errno) from exc
        return True


def _identity(path: str) -> Identity:
    try:
        status = os.stat(path)  # noqa: PTH116 - on the path of every verb
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _time_of(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns  # noqa: PTH116 - on the path of every verb
    except OSError:
        return -1


def _lost(path: str, main: str, *, is_there: bool) -> StorageUnavailable:
    if path == main:
        became = "replaced by another file" if is_there else "taken away"
        return StorageUnavailable(f"{path} was {became}: connect again")
    became = "replaced" if is_there else "removed"
    return StorageUnavailable(
        f"{path} was {became} while {main} was open: end all programs that use it, which writes into "
        "the file what they recorded, then connect again"
    )


# How far a SQLite file went, by what is written beside it: the high-water mark of its log.
#
# The mark is written after each commit, without a flush of its own: it may lag behind the file,
# and is never ahead of it. So a file that is not as far as its mark, or holds another event
# there, was set back, replaced or cut. Such a mark is kept among those that were lost, for
# `onrecord verify`.

_BODY: Final = struct.Struct(">qq16s32s")
_SUM: Final = struct.Struct(">I")
SIZE: Final = _BODY.size + _SUM.size
"""How many bytes a mark takes."""

NO_LEAF: Final = bytes(32)
"""The leaf of no event: that of a log that is empty."""


@dataclass(slots=True)
class LogEnd:
    """Where a log ends, and which it is: its incarnation, and the position and leaf of its last event.

    `recorded_at` is the time of that event, or of the next one, `is_encrypted` what the log's mark says.
    """

    incarnation: bytes
    position: int
    recorded_at: int
    leaf: bytes
    is_encrypted: bool


class Mark(NamedTuple):
    """How far a log went: its last position, the leaf there, and its incarnation.

    `begun` is the position at which there was no mark yet: what was cut before that is not seen.
    """

    position: int
    begun: int
    incarnation: bytes
    leaf: bytes

    def packed(self) -> bytes:
        """Return its bytes, with their sum: a write may be torn when the power fails."""
        body = _BODY.pack(self.position, self.begun, self.incarnation, self.leaf)
        return body + _SUM.pack(zlib.crc32(body))

    def is_before(self, end: LogEnd, leaf_there: bytes | None) -> bool:
        """Return whether a log that ends so went on from here; `leaf_there` is the one at `position`."""
        return self.position <= end.position and (leaf_there or NO_LEAF) == self.leaf


def unpacked(data: bytes) -> Mark | None:
    """Return the mark that bytes hold; None where they hold none."""
    if len(data) != SIZE:
        return None
    body, written = data[: _BODY.size], data[_BODY.size :]
    if _SUM.pack(zlib.crc32(body)) != written:
        return None
    return Mark._make(_BODY.unpack(body))


# Who may read and write a store's files: their owner alone, until that lets others.
#
# SQLite gives its journals the mode of the database; what Onrecord keeps beside a database gets
# it too, so that one `chmod` of the database before it is shared is enough.

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
