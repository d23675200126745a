"""A lock that threads get in the order in which they asked for it.

One of `threading` goes to whoever is quickest. That is the thread which released it: it asks again before a waiting
one has woken up.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager


class FairLock:
    """A lock for one thread at a time, first come, first served."""

    def __init__(self) -> None:
        """Make a lock that nobody holds."""
        self._changed = threading.Condition()
        # The first one holds the lock.
        self._queue: deque[object] = deque()

    @property
    def waiting(self) -> int:
        """Return how many threads wait for the lock."""
        return max(len(self._queue) - 1, 0)

    @contextmanager
    def held(self) -> Generator[None]:
        """Hold the lock, when all who asked before have released it."""
        ticket = object()
        with self._changed:
            self._queue.append(ticket)
        try:
            with self._changed:
                self._changed.wait_for(lambda: self._queue[0] is ticket)
            yield
        finally:
            # Who is interrupted while waiting leaves the queue, too.
            with self._changed:
                self._queue.remove(ticket)
                self._changed.notify_all()
