"""What is to happen once, though several may begin it."""

from __future__ import annotations

import threading


class Latch:
    """Closes once; safe for threads."""

    def __init__(self) -> None:
        """Begin open."""
        self._lock = threading.Lock()
        self.is_closed = False

    def close(self) -> bool:
        """Close; tell one caller, of all that want to, that it was the first."""
        with self._lock:
            first, self.is_closed = not self.is_closed, True
        return first
