"""Following a log: read, wait, read again, and never skip a position.

Waking up is a hint that makes it quick in one process; reading after the last position is what
makes it correct, whoever appends from wherever.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import replace
from functools import lru_cache
from typing import Final, Protocol, Self, cast
from uuid import UUID
from weakref import WeakSet

from onrecord.adapters.storage.interrupts import Bell, begin_anew_in_children
from onrecord.adapters.storage.steps import is_driven, wait_for
from onrecord.domain.errors import StaleCursor, StorageUnavailable
from onrecord.domain.log import Backend, Cursor, RecordedEvent

# Hints between processes that something was appended; whoever misses one finds it by polling.
#
# A hint says neither what was appended nor where: who hears it reads on from its own cursor. So
# hints may be lost, come twice or come for nothing, and no reader depends on them for more than
# being quick.

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


class HintSender:
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


PAGE: Final = 500
"""How many events one read brings at most."""

_REMEMBERED: Final = 4096

POLL_SECONDS: Final = 0.1
"""How long an idle subscription waits before it looks for other processes' events."""


class Wakeups:
    """Tells the subscriptions of one process that something was appended, in it or in others.

    `closed` says whether the backend was closed.
    """

    def __init__(self, hints: Hints | None = None, shared_seconds: float = POLL_SECONDS) -> None:
        """Begin with no append seen; `hints` go to other processes, and come from them.

        `shared_seconds` is how often one reader looks that reads for many.
        """
        self.shared_seconds: Final = shared_seconds
        self._bell = Bell()
        self._opening = threading.RLock()
        self._appends = 0
        self.closed = False
        self._hints = hints or NoHints()
        self._listening: ExitStack | None = None
        _all.add(self)

    def appended(self) -> None:
        """Wake up every waiting subscription, here and in other processes."""
        self._heard()
        self._hints.tell()

    def close(self) -> None:
        """End every subscription, and tell others what they were not told yet."""
        self.closed = True
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

        def is_over() -> bool:
            return self._appends != seen or self.closed or stopped()

        self._listen()
        if is_driven():
            wait_for(self._bell.awaited(is_over, seconds))
        else:
            self._bell.wait_for(is_over, seconds)

    async def awaited(self, seen: int, seconds: float = POLL_SECONDS) -> None:
        """Return after another append, or when closed, or after some seconds: `wait` of a coroutine."""
        self._listen()
        await self._bell.awaited(lambda: self._appends != seen or self.closed, seconds)

    def stir(self) -> None:
        """Let waiting subscriptions look whether they were stopped."""
        self._bell.ring()

    def begin_anew(self) -> None:
        """Forget the parent's threads, one of which may have held the lock."""
        self._bell = Bell()
        self._opening = threading.RLock()

    def _heard(self) -> None:
        # Two at once may count as one: both are in the log before, for who looks afterwards.
        self._appends += 1
        self._bell.ring()

    def _listen(self) -> None:
        # Not before somebody waits: a process that only appends spends nothing on it.
        if self._listening is not None or self.closed:
            return
        with self._opening:
            if self._listening is None and not self.closed:
                with ExitStack() as listening:
                    listening.enter_context(self._hints.listen(self._heard))
                    self._listening = listening.pop_all()


class _Woken(Protocol):
    """What each kind of store has beside the verbs of its port."""

    @property
    def wakeups(self) -> Wakeups: ...


def wakeups_of(backend: Backend) -> Wakeups:
    """Return what tells that something was appended to a log."""
    return cast("_Woken", backend).wakeups


_all: Final[WeakSet[Wakeups]] = WeakSet()
begin_anew_in_children(_all)


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
        while not self.is_over:
            if (event := self.poll()) is not None:
                return event
        raise StopIteration

    @property
    def is_over(self) -> bool:
        """Whether it was stopped, or the store was closed."""
        return self._ended()

    def poll(self) -> RecordedEvent | None:
        """Return the next event; None where a moment's wait brought none, or it is over."""
        if not self._ready and not self._ended():
            self._fetch()
        return self._ready.popleft() if self._ready and not self._ended() else None

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self.stop()

    def stop(self) -> None:
        """End the iteration, from any thread."""
        self._stopped = True
        self._wakeups.stir()

    def _ended(self) -> bool:
        return self._stopped or self._wakeups.closed

    def _fetch(self) -> None:
        # What is appended between the reading and the waiting ends the waiting: it is not what was seen.
        seen = self._wakeups.seen()
        if self._read_page() == 0:
            self._wakeups.wait(seen, lambda: self._stopped)

    def _look(self) -> tuple[list[RecordedEvent], Cursor]:
        """Return the next events of the log, and how far they were looked for."""
        page = self._read_log(self._after, PAGE)
        return page, replace(self._after, position=page[-1].position) if page else self._after

    def _read_page(self) -> int | None:
        """Take the next events of the log; return how many it had, None where it was closed meanwhile."""
        try:
            page, end = self._look()
            wanted = [event for event in page if self._is_wanted(event.conversation_id)]
        except StorageUnavailable:
            if self._ended():  # The backend was closed while this thread was reading.
                return None
            raise
        self._ready.extend(wanted)
        self._after = end
        return len(page)


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
    if cursor.incarnation != last.incarnation:
        raise StaleCursor(
            "the cursor belongs to another incarnation of the log: start again from its beginning"
        )
    if cursor.shard != last.shard:
        raise StaleCursor("the log has no such shard: take a cursor of store.cursors()")
    if cursor.position > last.position:
        raise StaleCursor(
            "the cursor lies behind the end of the log, which was set back or is another one: start "
            "again from its beginning"
        )
