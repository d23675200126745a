"""Hints between processes that something was appended; whoever misses one finds it by polling.

A hint says neither what was appended nor where: who hears it reads on from its own cursor. So hints
may be lost, come twice or come for nothing, and no reader depends on them for more than being quick.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Final, Protocol

from onrecord.adapters.storage.bells import Bell

HEARD_PACE: Final = 0.05
"""Seconds between two hints of a process to which somebody listens."""

UNHEARD_PACE: Final = 1.0
"""Seconds until a process looks again whether anybody listens, once nobody did."""

_IDLE: Final = 5.0
_IN_TIME: Final = 1.0


class Hints(Protocol):
    """How one process lets others know that it appended. Safe for threads; made anew in a fork."""

    def tell(self) -> None:
        """Let others know, soon, that this process appended; never blocks, never raises.

        The first hint goes at once; those that come quickly after it go together, HEARD_PACE later.
        The last one always goes. Where nobody listens it is enough to look every UNHEARD_PACE.
        """
        ...

    def listen(self, heard: Callable[[], None]) -> AbstractContextManager[None]:
        """Return a scope in which `heard` is called, in another thread, for each hint of others.

        Also when it begins to listen, and when it does so again after a lost connection: hints may
        have been missed. It connects in its own time, and again by itself; leaving the scope is
        quick and waits for a `heard` that runs. `heard` must be quick and must not raise.
        """
        ...

    def close(self) -> None:
        """Tell what is still to be told, and end the threads; telling afterwards does nothing."""
        ...


class NoHints:
    """For stores that live in one process, or whose readers poll."""

    def tell(self) -> None:
        """Do nothing."""

    def listen(self, heard: Callable[[], None]) -> AbstractContextManager[None]:
        """Return a scope in which nothing is heard."""
        del heard
        return nullcontext()

    def close(self) -> None:
        """Do nothing."""


class Telling:
    """Sends the hints of a process at their pace, in a thread that lives while there are any."""

    def __init__(self, send: Callable[[], bool]) -> None:
        """Tell by `send`, which returns whether anybody listens; False too where it failed."""
        self._send = send
        self._bell = Bell()
        self._lock = threading.RLock()
        self._pending = False
        self._closed = False
        self._thread: threading.Thread | None = None

    def tell(self) -> None:
        """Have a hint sent: at once, or with the next one that is due."""
        # What is pending is sent after this moment: nothing has to be added to it.
        if self._closed or (self._pending and self._thread is not None):
            return
        self._pending = True
        with self._lock:
            if self._thread is None:
                self._begin()
        self._bell.ring()

    def close(self) -> None:
        """Send what is pending and end."""
        self._closed = True
        self._bell.ring()
        with self._lock:
            thread = self._thread
        if thread is not None:
            # A store that is away must not hold up who closes.
            thread.join(_IN_TIME)

    def _begin(self) -> None:
        thread = threading.Thread(target=self._run, name="onrecord-hints", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            # At the interpreter's end nobody needs a hint; among too many threads the next may go.
            self._pending = False
        else:
            self._thread = thread

    def _run(self) -> None:
        while self._takes_one():
            pace = HEARD_PACE if self._send() else UNHEARD_PACE
            self._bell.wait_for(lambda: self._closed, pace)

    def _takes_one(self) -> bool:
        self._bell.wait_for(lambda: self._pending or self._closed, _IDLE)
        with self._lock:
            if self._pending:
                self._pending = False
                return True
            self._thread = None
            return False
