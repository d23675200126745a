"""Following a log: read, wait, read again, and never skip a position.

Waking up is a hint that makes it quick in one process; reading after the last position is what
makes it correct, whoever appends from wherever.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from functools import lru_cache
from types import TracebackType
from typing import Final, Self
from uuid import UUID
from weakref import WeakSet

from onrecord.adapters.storage.bells import Bell
from onrecord.adapters.storage.hints import Hints, NoHints
from onrecord.domain.errors import StaleCursor, StorageUnavailable
from onrecord.domain.log import Cursor, RecordedEvent

PAGE: Final = 500
"""How many events one read brings at most."""

_REMEMBERED: Final = 4096

POLL_SECONDS: Final = 0.1
"""How long an idle subscription waits before it looks for other processes' events."""


class Wakeups:
    """Tells the subscriptions of one process that something was appended, in it or in others."""

    def __init__(self, hints: Hints | None = None) -> None:
        """Begin with no append seen; `hints` go to other processes, and come from them."""
        self._bell = Bell()
        self._opening = threading.RLock()
        self._appends = 0
        self._closed = False
        self._hints = hints or NoHints()
        self._listening: ExitStack | None = None
        _all.add(self)

    def appended(self) -> None:
        """Wake up every waiting subscription, here and in other processes."""
        self._heard()
        self._hints.tell()

    def close(self) -> None:
        """End every subscription, and tell others what they were not told yet."""
        self._closed = True
        self._bell.ring()
        with self._opening:
            listening, self._listening = self._listening, None
        if listening is not None:
            listening.close()
        self._hints.close()

    def seen(self) -> int:
        """Return how many appends there were: what to pass to `wait` after reading."""
        return self._appends

    def wait(self, seen: int, stopped: Callable[[], bool], seconds: float = POLL_SECONDS) -> None:
        """Return after another append, when stopped or closed, or after some seconds."""
        self._listen()
        self._bell.wait_for(lambda: self._appends != seen or self._closed or stopped(), seconds)

    def stir(self) -> None:
        """Let waiting subscriptions look whether they were stopped."""
        self._bell.ring()

    def after_fork_in_child(self) -> None:
        """Forget the parent's threads, one of which may have held the lock."""
        self._bell = Bell()
        self._opening = threading.RLock()

    @property
    def closed(self) -> bool:
        """Whether the backend was closed."""
        return self._closed

    def _heard(self) -> None:
        # Two at once may count as one: both are in the log before, for who looks afterwards.
        self._appends += 1
        self._bell.ring()

    def _listen(self) -> None:
        # Not before somebody waits: a process that only appends spends nothing on it.
        if self._listening is not None or self._closed:
            return
        with self._opening:
            if self._listening is None and not self._closed:
                with ExitStack() as listening:
                    listening.enter_context(self._hints.listen(self._heard))
                    self._listening = listening.pop_all()


_all: Final[WeakSet[Wakeups]] = WeakSet()


def _after_fork_in_child() -> None:
    for wakeups in list(_all):
        wakeups.after_fork_in_child()


os.register_at_fork(after_in_child=_after_fork_in_child)


class PollingSubscription:
    """The events of a shard after a cursor, those to come included, in order of position."""

    def __init__(
        self,
        read_log: Callable[[Cursor, int], list[RecordedEvent]],
        after: Cursor,
        wakeups: Wakeups,
        is_wanted: Callable[[UUID], bool],
    ) -> None:
        """Follow the log from a cursor, where the conversation is wanted.

        The first read may raise StaleCursor.
        """
        self._read_log = read_log
        self._is_wanted = is_wanted
        self._after = after
        self._wakeups = wakeups
        self._ready: deque[RecordedEvent] = deque()
        self._stopped = False

    def __iter__(self) -> Self:
        """Return itself."""
        return self

    def __next__(self) -> RecordedEvent:
        """Return the next event, waiting for it; end the iteration once stopped."""
        while not self._ended():
            if self._ready:
                return self._ready.popleft()
            self._fetch()
        raise StopIteration

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop."""
        self.stop()

    def stop(self) -> None:
        """End the iteration, from any thread."""
        self._stopped = True
        self._wakeups.stir()

    def _ended(self) -> bool:
        return self._stopped or self._wakeups.closed

    def _fetch(self) -> None:
        seen = self._wakeups.seen()
        try:
            found = self._read_log(self._after, PAGE)
            wanted = [event for event in found if self._is_wanted(event.conversation_id)]
        except StorageUnavailable:
            if self._ended():  # The backend was closed while this thread was reading.
                return
            raise
        if not found:
            self._wakeups.wait(seen, lambda: self._stopped)
            return
        self._ready.extend(wanted)
        self._after = Cursor(self._after.incarnation, self._after.shard, found[-1].position)


def owned_by(tenant: UUID | None, owner: Callable[[UUID], UUID | None]) -> Callable[[UUID], bool]:
    """Return whether a conversation is a tenant's, as a question; None stands for all tenants.

    Who owns a conversation never changes, so the answers are kept in mind.
    """
    if tenant is None:
        return lambda _: True

    @lru_cache(_REMEMBERED)
    def is_owned(conversation_id: UUID) -> bool:
        return owner(conversation_id) == tenant

    return is_owned


def must_be_current(cursor: Cursor, last: Cursor) -> None:
    """Raise StaleCursor unless the cursor lies in the history that ends at `last`."""
    same_history = (cursor.incarnation, cursor.shard) == (last.incarnation, last.shard)
    if not same_history or cursor.position > last.position:
        raise StaleCursor(
            "the cursor belongs to another incarnation of the log: start again from its beginning"
        )
