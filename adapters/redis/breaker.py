"""Whether a Redis that failed is to be asked again: not by everyone, and not at once."""

from __future__ import annotations

import logging
import os
import threading
import time
from typing import Final
from weakref import WeakSet

logger = logging.getLogger("onrecord")

BACK_OFF: Final = 5.0
"""Seconds for which a Redis that failed is left alone: what asking it may cost is then rare.

And for which it has to answer until it is said to be back: one that is full, or may only be read,
does some of what it is asked."""


class Breaker:
    """Lets nobody ask a Redis that failed, but one caller every BACK_OFF seconds, to see.

    Where that one is answered, the others may ask again. Safe to share between threads. Says so in
    the log once when it fails, once when it is back.
    """

    def __init__(self, shown: str) -> None:
        """Guard the Redis of that URL, which is shown."""
        self._shown = shown
        self._lock = threading.Lock()
        self._has_failed = False
        self._rests_until = 0.0
        self._answers_since: float | None = None
        _all.add(self)

    def lets_ask(self) -> bool:
        """Whether the caller may ask; then it is to say what became of it."""
        if not self._has_failed or self._answers_since is not None:
            return True
        with self._lock:
            now = time.monotonic()
            if now < self._rests_until:
                return False
            self._rests_until = now + BACK_OFF
            return True

    def answered(self) -> None:
        """Take note that it answered."""
        if self._has_failed and self._is_back():
            logger.warning("Redis at %s answers again", self._shown)

    def failed(self, error: Exception) -> None:
        """Take note that it did not do what it was asked."""
        if self._fails_first():
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

    def _is_back(self) -> bool:
        with self._lock:
            now = time.monotonic()
            since = self._answers_since = self._answers_since or now
            is_back = self._has_failed and now - since >= BACK_OFF
            self._has_failed = self._has_failed and not is_back
            return is_back

    def _fails_first(self) -> bool:
        with self._lock:
            was_well, self._has_failed = not self._has_failed, True
            self._answers_since = None
            self._rests_until = time.monotonic() + BACK_OFF
            return was_well


_all: Final[WeakSet[Breaker]] = WeakSet()


def _after_fork_in_child() -> None:
    for breaker in list(_all):
        breaker.after_fork_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
