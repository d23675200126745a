"""Waiting for a change, without a lock that an exception could leave locked.

`threading.Condition` and `threading.Event` take their lock by functions of Python, amid which the
handler of a signal may raise: then every other thread would wait for the lock for ever.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

_LOOK: Final = 1.0
"""After how many seconds who waits looks by itself, for who was to ring may have been interrupted."""


class Bell:
    """Wakes up those who wait for something to change. Safe to ring in the handler of a signal."""

    def __init__(self) -> None:
        """Begin with nobody waiting."""
        self._asleep: set[threading.Lock] = set()

    def ring(self) -> None:
        """Let all who wait look again; what they wait for was changed before."""
        for sleeper in tuple(self._asleep):
            # It was woken by another one already.
            with suppress(RuntimeError):
                sleeper.release()

    def wait_for(self, condition: Callable[[], bool], seconds: float | None = None) -> bool:
        """Return whether the condition holds: as soon as it does, or after some seconds."""
        ends = None if seconds is None else time.monotonic() + seconds
        sleeper = threading.Lock()
        try:
            # Before the first look: who changes it afterwards rings.
            self._asleep.add(sleeper)
            while not condition():
                left = _LOOK if ends is None else min(_LOOK, ends - time.monotonic())
                if left <= 0:
                    return False
                # The first time it is free: what changed before it was among the sleepers is seen.
                sleeper.acquire(timeout=left)
            return True
        finally:
            self._asleep.discard(sleeper)
