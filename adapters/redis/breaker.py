"""Whether a Redis that failed is to be asked again: not by everyone, and not at once."""

from __future__ import annotations

import logging
import os
import threading
import time
from typing import Final
from weakref import WeakSet

logger = logging.getLogger("hansard")

BACK_OFF: Final = 5.0
"""Seconds for which a Redis that failed is left alone: what asking it may cost is then rare."""


class Breaker:
    """Lets nobody ask a Redis that failed, but one caller every BACK_OFF seconds, to see.

    Safe to share between threads. Says so in the log once when it fails, once when it is back.
    """

    def __init__(self, shown: str) -> None:
        """Guard the Redis of that URL, which is shown."""
        self._shown = shown
        self._lock = threading.Lock()
        self._has_failed = False
        self._rests_until = 0.0
        _all.add(self)

    def lets_ask(self) -> bool:
        """Whether the caller may ask; then it is to say what became of it."""
        if not self._has_failed:
            return True
        with self._lock:
            now = time.monotonic()
            if now < self._rests_until:
                return False
            self._rests_until = now + BACK_OFF
            return True

    def answered(self) -> None:
        """Take note that it answered."""
        if self._has_failed and self._turned(has_failed=False):
            logger.warning("Redis at %s answers again", self._shown)

    def failed(self, error: Exception) -> None:
        """Take note that it did not do what it was asked."""
        if self._turned(has_failed=True):
            why = type(error).__name__
            logger.warning(
                "Redis at %s is of no use now (%s: %s): going on without it",
                self._shown,
                why,
                error,
            )

    def after_fork_in_child(self) -> None:
        """Forget the parent's threads, one of which may have held the lock."""
        self._lock = threading.Lock()

    def _turned(self, *, has_failed: bool) -> bool:
        with self._lock:
            turned, self._has_failed = self._has_failed is not has_failed, has_failed
            self._rests_until = time.monotonic() + BACK_OFF
            return turned


_all: Final[WeakSet[Breaker]] = WeakSet()


def _after_fork_in_child() -> None:
    for breaker in list(_all):
        breaker.after_fork_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
