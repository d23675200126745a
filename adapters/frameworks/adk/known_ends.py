"""The ends of sessions as a process last saw them: what the next event is compared with, without a read."""

from __future__ import annotations

import threading
from typing import Generic, TypeVar

from onrecord.adapters.caches.newest import Newest

K = TypeVar("K")
V = TypeVar("V")


class KnownEnds(Generic[K, V]):
    """What is known of the sessions that were used last; safe to share between threads.

    Each may be over by now: the log says so to whoever appends behind one.
    """

    def __init__(self, most: int) -> None:
        """Know nothing yet, and at most so many."""
        self._known: Newest[K, V] = Newest(most)
        self._lock = threading.Lock()

    def take(self, key: K) -> V | None:
        """Return what is known of a session, and know it no more: it is about to move."""
        with self._lock:
            return self._known.pop(key, None)

    def put(self, key: K, known: V) -> None:
        """Know where a session ends."""
        with self._lock:
            self._known[key] = known
