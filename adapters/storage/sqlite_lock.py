"""Writers of one SQLite file take turns, by a lock file beside it.

SQLite's own lock is not fair: who releases it takes it again before a waiting process has looked.
Here a writer passes two locks: the queue, then the turn, and leaves the queue once it has the
turn. Whoever had the turn queues up behind the one that waits for it, so nobody starves.
Threads of a process take turns in the same way before their process does.

The locks are those of fcntl(2): the kernel frees them when a process dies, and a forked child
does not have its parent's. They belong to the process, so all users of a lock file in a process
share one object, and with it one descriptor: closing any other would free the locks.

The file also holds what a copy of the database does not have: a random number, and a mark of the
last position, by which a restored older file is known.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import struct
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final
from weakref import WeakValueDictionary

from onrecord.domain.errors import StorageBusy

_NONCE_SIZE: Final = 16
_MARK: Final = struct.Struct(">q")
_QUEUE: Final = 64
_TURN: Final = 65
# Seconds between two looks at a lock that is taken: at first, and at most.
_FIRST_IN_QUEUE: Final = (0.000_05, 0.000_5)
_FURTHER_BEHIND: Final = (0.001, 0.01)


class LockFile:
    """The turns of one database file, for all threads of this process; get it by `lock_file`."""

    def __init__(self, descriptor: int) -> None:
        """Use an open descriptor of the lock file, and close it at the end."""
        self._descriptor = descriptor
        self.reset()

    def __del__(self) -> None:
        """Close the descriptor."""
        os.close(self._descriptor)

    def reset(self) -> None:
        """Begin with no thread waiting: a forked child has none of its parent's threads."""
        self._queue = threading.Lock()
        self._turn = threading.Lock()

    @contextmanager
    def turn(self, wait: float) -> Generator[None]:
        """Hold the turn to write; StorageBusy if it does not come within `wait` seconds."""
        deadline = time.monotonic() + wait
        self._acquire(self._queue, deadline)
        try:
            self._acquire(self._turn, deadline)
        finally:
            self._queue.release()
        try:
            self._pass_queue(deadline)
            try:
                yield
            finally:
                self._unlock(_TURN)
        finally:
            self._turn.release()

    def nonce(self) -> bytes:
        """Return the file's random number, made now if it has none; only while having the turn."""
        nonce = os.pread(self._descriptor, _NONCE_SIZE, 0)
        if len(nonce) < _NONCE_SIZE:
            nonce = secrets.token_bytes(_NONCE_SIZE)
            os.pwrite(self._descriptor, nonce + _MARK.pack(0), 0)
        return nonce

    def mark(self) -> int:
        """Return the last position that was marked; 0 if none was."""
        data = os.pread(self._descriptor, _MARK.size, _NONCE_SIZE)
        return _MARK.unpack(data)[0] if len(data) == _MARK.size else 0

    def set_mark(self, position: int) -> None:
        """Mark the last position; a mark that cannot be set costs nothing but the mark."""
        with suppress(OSError):
            os.pwrite(self._descriptor, _MARK.pack(position), _NONCE_SIZE)

    def _pass_queue(self, deadline: float) -> None:
        self._lock(_QUEUE, deadline, _FURTHER_BEHIND)
        try:
            self._lock(_TURN, deadline, _FIRST_IN_QUEUE)
        finally:
            self._unlock(_QUEUE)

    def _acquire(self, lock: threading.Lock, deadline: float) -> None:
        if not lock.acquire(timeout=max(0.0, deadline - time.monotonic())):
            raise _busy()

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
        return True

    def _unlock(self, place: int) -> None:
        fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, place)


_opening: threading.Lock = threading.Lock()
_open: Final[WeakValueDictionary[tuple[int, int], LockFile]] = WeakValueDictionary()


def lock_file(path: Path) -> LockFile:
    """Return the lock file at a path, made if it is not there; OSError if it cannot be."""
    with _opening:
        with suppress(FileNotFoundError):
            if (found := _open.get(_identity(path.stat()))) is not None:
                return found
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        return _open.setdefault(_identity(os.fstat(descriptor)), LockFile(descriptor))


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _busy() -> StorageBusy:
    return StorageBusy(
        "other writers hold the database for too long: retry, or find the process that hangs"
    )


def _reset_in_child() -> None:
    global _opening
    _opening = threading.Lock()
    for lock in list(_open.values()):
        lock.reset()


os.register_at_fork(after_in_child=_reset_in_child)
