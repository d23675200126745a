"""Writers of one SQLite file take turns, by a lock file beside it.

SQLite's own lock is not fair: who releases it takes it again before a waiting process has looked.
Here a writer passes two locks: the queue, then the turn, and leaves the queue once it has the
turn. Whoever had the turn queues up behind the one that waits for it, so nobody starves.
Threads of a process take turns in the same way before their process does.

The locks are those of fcntl(2): the kernel frees them when a process dies, and a forked child
does not have its parent's. They belong to the process, so all users of a lock file in a process
share one object, and with it one descriptor: closing any other would free the locks.

The file also holds what a copy of the database does not have: a random number, and the mark of how
far the log went, by which a restored older file is known.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import threading
import time
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import Final
from weakref import WeakValueDictionary, finalize

from onrecord.adapters.storage.interrupts import Hold, release_left
from onrecord.adapters.storage.sqlite.errors import NO_ROOM
from onrecord.adapters.storage.sqlite.held_files import SIZE, Mark, set_mode, unpacked
from onrecord.domain.errors import (
    StorageBusy,
    StorageError,
    StorageFull,
    StorageUnavailable,
    UnsupportedFilesystem,
)

_NONCE_SIZE: Final = 16
# Where in the file the mark stands, and those that were lost behind it.
_MARK: Final = 16
_LOST: Final = 256
_MOST_LOST: Final = 16
_QUEUE: Final = 64
_TURN: Final = 65
# Seconds between two looks at a lock that is taken: at first, and at most.
_FIRST_IN_QUEUE: Final = (0.000_05, 0.000_5)
_FURTHER_BEHIND: Final = (0.001, 0.01)
_LOOK: Final = 0.1
"""After how many seconds a thread looks whether the one that has the turn is still there."""


class LockFile:
    """The turns of one database file, for all threads of this process; get it by `lock_file`."""

    def __init__(self, descriptor: int, path: Path) -> None:
        """Use an open descriptor of the lock file at a path."""
        self._descriptor = descriptor
        self._path = path
        self.reset()

    def reset(self) -> None:
        """Begin with no thread waiting: a forked child has none of its parent's threads."""
        # Whoever is at the head may have the locks; each step on it is one call of C.
        self._line: deque[Turn] = deque()

    def turn(self, wait: float) -> Turn:
        """Return a scope that has the turn to write; StorageBusy if it does not come in `wait` seconds."""
        return Turn(self, wait)

    def enter(self, turn: Turn, wait: float) -> None:
        """Have a thread wait in line, then this process; `leave` is to follow in any case."""
        deadline = time.monotonic() + wait
        self._line.append(turn)
        while (head := self._line[0]) is not turn:
            left = deadline - time.monotonic()
            if left <= 0:
                raise _busy()
            if not turn.wait(min(left, _LOOK)) and head.is_left():
                release_left(everywhere=True)
        self._pass_queue(deadline)

    def leave(self, turn: Turn) -> None:
        """Let the next have the turn; nothing changes if that was done already."""
        line = self._line
        if line and line[0] is turn:
            # Both places at once: whichever of them this process has.
            fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 2, _QUEUE)
        with suppress(ValueError):
            line.remove(turn)
        with suppress(IndexError):
            line[0].wake()

    def identity(self) -> tuple[int, int]:
        """Return device and inode of the file, wherever its path may lead by now."""
        return _identity(os.fstat(self._descriptor))

    def nonce(self) -> bytes:
        """Return the file's random number, made now if it has none; only while having the turn.

        StorageFull or StorageUnavailable if the disk does not keep it.
        """
        nonce = self._read(_NONCE_SIZE, 0)
        if len(nonce) < _NONCE_SIZE:
            nonce = secrets.token_bytes(_NONCE_SIZE)
            try:
                os.pwrite(self._descriptor, nonce, 0)
            except OSError as exc:
                raise _disk_error(self._path, exc) from exc
        return nonce

    def mark(self) -> Mark | None:
        """Return how far the log went; None where nothing says so."""
        return self._mark_at(_MARK)

    def set_mark(self, mark: Mark) -> None:
        """Say how far the log went; a mark that cannot be set costs nothing but the mark."""
        with suppress(OSError):
            os.pwrite(self._descriptor, mark.packed(), _MARK)

    def lost(self) -> list[Mark]:
        """Return the marks of what the log did not go on from; a torn one tells nothing."""
        return [mark for mark in self._lost_marks() if mark is not None]

    def lose(self, mark: Mark) -> None:
        """Keep a mark that the log did not go on from, unless too many are kept by now."""
        marks = self._lost_marks()
        if mark in marks or None not in marks:
            return
        with suppress(OSError):
            os.pwrite(self._descriptor, mark.packed(), _LOST + marks.index(None) * SIZE)

    def _lost_marks(self) -> list[Mark | None]:
        """Return the mark in each place for one; None where there is none that can be read."""
        return [self._mark_at(_LOST + place * SIZE) for place in range(_MOST_LOST)]

    def _mark_at(self, place: int) -> Mark | None:
        return unpacked(self._read(SIZE, place))

    def _read(self, size: int, place: int) -> bytes:
        try:
            return os.pread(self._descriptor, size, place)
        except OSError as exc:
            raise _disk_error(self._path, exc) from exc

    def _pass_queue(self, deadline: float) -> None:
        # Where it ends by an exception, `leave` frees what is locked by then.
        self._lock(_QUEUE, deadline, _FURTHER_BEHIND)
        self._lock(_TURN, deadline, _FIRST_IN_QUEUE)
        fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, _QUEUE)

    def _lock(self, place: int, deadline: float, pauses: tuple[float, float]) -> None:
        pause, longest = pauses
        while not self._try_lock(place):
            if time.monotonic() >= deadline:
                raise _busy()
            time.sleep(pause)
            pause = min(2 * pause, longest)

    def _try_lock(self, place: int) -> bool:
        try:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        except (BlockingIOError, PermissionError):
            return False
        except OSError as exc:
            raise StorageUnavailable(
                f"{self._path} cannot be locked: check that its file system has locks to give"
            ) from exc
        return True


class Turn(Hold):
    """A thread's place in the line, and the turn once it is at the head; get it by `LockFile.turn`."""

    __slots__ = ("_file", "_wait", "_woken")

    def __init__(self, file: LockFile, wait: float) -> None:
        """Wait for nothing yet."""
        self._file = file
        self._wait = wait
        self._woken: threading.Lock | None = None

    def __enter__(self) -> None:
        """Wait for the turn."""
        self.note()
        try:
            self._file.enter(self, self._wait)
        except BaseException:
            self.give_back()
            raise

    def __exit__(self, *_: object) -> None:
        """Let the next have it."""
        self.give_back()

    def give_back(self) -> None:
        """Leave the line, wherever in it this is."""
        self._file.leave(self)
        self.drop()

    def wait(self, seconds: float) -> bool:
        """Wait to be woken, so long; the first time it returns at once, to look once more."""
        if self._woken is None:
            # Who leaves before there was a lock to release is seen by looking again.
            self._woken = threading.Lock()
            self._woken.acquire()
            return True
        return self._woken.acquire(timeout=seconds)

    def wake(self) -> None:
        """Let it look whether it is at the head."""
        if self._woken is not None:
            # It was woken already, and has not looked yet.
            with suppress(RuntimeError):
                self._woken.release()


# Re-entered where the garbage collector ends a lock file amid the opening of another.
_opening = threading.RLock()
_open: Final[WeakValueDictionary[tuple[int, int], LockFile]] = WeakValueDictionary()
_descriptors: Final[dict[tuple[int, int], int]] = {}
"""The descriptors that are open. Each is taken out by one step, by whoever uses it again or closes it."""


def lock_file(path: Path, beside: Path | None = None) -> LockFile:
    """Return the lock file at a path; OSError if it cannot be.

    It is made if it is not there: for its owner, or for those who may use the database `beside` it.
    """
    with _opening:
        with suppress(FileNotFoundError):
            identity = _identity(path.stat())
            if (lock := _open.get(identity)) is not None:
                return lock
            # Its last user has gone, and it is about to be closed: that would free our locks too.
            if (descriptor := _descriptors.pop(identity, None)) is not None:
                return _registered(identity, descriptor, path)
        descriptor = _opened(path, beside)
        return _registered(_identity(os.fstat(descriptor)), descriptor, path)


def _registered(identity: tuple[int, int], descriptor: int, path: Path) -> LockFile:
    if (lock := _open.get(identity)) is not None:
        # A signal's handler has opened it too, amid this. To close ours would free the locks of both.
        return lock
    file = _open[identity] = LockFile(descriptor, path)
    _descriptors[identity] = descriptor
    finalize(file, _close_unused, identity).atexit = False
    return file


def _close_unused(identity: tuple[int, int]) -> None:
    """Close the descriptor of a lock file that nobody has, unless somebody uses it again."""
    with _opening:
        if identity in _open:
            return
        if (descriptor := _descriptors.pop(identity, None)) is not None:
            os.close(descriptor)


def _opened(path: Path, beside: Path | None) -> int:
    flags = os.O_RDWR | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return os.open(path, flags)
    if beside is not None:
        set_mode(descriptor, beside)
    return descriptor


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _busy() -> StorageBusy:
    return StorageBusy(
        "other writers hold the database for too long: retry, or find the process that hangs"
    )


def _disk_error(path: Path, error: OSError) -> StorageError:
    if error.errno in NO_ROOM:
        return StorageFull(f"no room to write to {path}: free some, then retry")
    return StorageUnavailable(f"{path} cannot be read or written: check the disk")


def _reset_in_child() -> None:
    global _opening
    _opening = threading.RLock()
    for lock in list(_open.values()):
        lock.reset()


os.register_at_fork(after_in_child=_reset_in_child)


# Which file system a path lies on, and whether its locks can be trusted.

NETWORK: Final = frozenset(
    {
        *("afs", "beegfs", "ceph", "cifs", "coda", "glusterfs", "gpfs", "lustre", "ncpfs"),
        *("nfs", "nfs4", "ocfs2", "smb3", "smbfs"),
        *("fuse.ceph", "fuse.davfs", "fuse.gcsfuse", "fuse.glusterfs", "fuse.juicefs"),
        *("fuse.rclone", "fuse.s3fs", "fuse.sshfs"),
    }
)
"""File systems, by their names in Linux, where a lock or a shared map may not reach everyone."""

_MOUNTS: Final = Path("/proc/self/mountinfo")


def refuse_network_filesystem(path: Path) -> None:
    """Raise UnsupportedFilesystem where a path lies on the network; without Linux, trust it."""
    if not _MOUNTS.exists():
        return
    kind = filesystem_of(path.resolve(), _MOUNTS.read_text("utf-8", "surrogateescape"))
    if kind in NETWORK:
        raise UnsupportedFilesystem(
            f"{path} lies on a network file system ({kind}), whose locks cannot be trusted: "
            "use a local disk, or PostgreSQL"
        )


def filesystem_of(path: Path, mountinfo: str) -> str:
    """Return the kind of file system that holds an absolute path, by proc_pid_mountinfo(5)."""
    kind, depth = "", -1
    for line in mountinfo.splitlines():
        mount, _, rest = line.partition(" - ")
        point = Path(_unescaped(mount.split(" ")[4]))
        # Of two mounts on one point, the later one is seen.
        if path.is_relative_to(point) and len(point.parts) >= depth:
            kind, depth = rest.split(" ")[0], len(point.parts)
    return kind


def _unescaped(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), text)
