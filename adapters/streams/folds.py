"""The folds that a process keeps, so that the next request folds only what is new.

They are bounded by their bytes, and hold text that any process may forget. So whoever uses one asks the
log first how often something was erased, and where that is not what it was, all go. Those that nobody
used for a minute go by themselves, for a process may be idle while another one forgets.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple
from uuid import UUID

from onrecord.adapters.storage.interrupts import begin_anew_in_children

if TYPE_CHECKING:
    from onrecord.adapters.streams.folding import Fold
    from onrecord.domain.log import NewSince
    from onrecord.projections.history.history import Missing
    from onrecord.projections.history.windows import Window

IDLE_SECONDS: Final = 60.0
"""How long a fold is kept that nobody uses."""
_PATIENCE: Final = 1.0
"""How many seconds a fork waits for the thread that drops what is idle."""


class FoldKey(NamedTuple):
    """What a fold is of: a conversation, the exchanges that are kept, and open calls or not."""

    conversation_id: UUID
    window: Window | None
    missing: Missing


class _Entry(NamedTuple):
    fold: Fold
    size: int
    used_at: float


class FoldCache:
    """Folds of a store's conversations, of at most `max_bytes` bytes. Safe to share between threads.

    Whoever uses a fold takes it out, and puts it back when all went well: so no fold is used by two, no
    lock is held while the log is read, and none is kept that an error came amid. Who finds none, since
    another thread has it, folds anew.
    """

    _lock: threading.RLock
    _entries: OrderedDict[FoldKey, _Entry]
    _size: int
    _drops: int
    _erasure_state: tuple[UUID, int] | None
    _timer: threading.Timer | None

    def __init__(self, max_bytes: int, drop_others: Callable[[], None] = lambda: None) -> None:
        """Keep none yet; `max_bytes` 0 keeps none ever.

        `drop_others` drops what else holds text of the conversations: it is called where another
        process erased something, and once no fold was used for a while.
        """
        self.max_bytes: Final = max_bytes
        self._drop_others = drop_others
        self._begin()
        _OPEN.add(self)

    @property
    def size(self) -> int:
        """How many bytes all of them take, about."""
        return self._size

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._entries)

    @property
    def drops(self) -> int:
        """How often all were dropped: what was read before the last time is not to be kept."""
        return self._drops

    def take(self, key: FoldKey) -> Fold | None:
        """Return a fold, which is nobody else's until it is put back; None if there is none."""
        with self._lock:
            entry = self._entries.pop(key, None)
            if entry is None:
                return None
            self._size -= entry.size
        return entry.fold

    def put(self, key: FoldKey, fold: Fold, drops: int) -> None:
        """Keep a fold, unless all were dropped since `drops` was asked for.

        Those that were used longest ago go where there is no room; one that needs all of it is not kept.
        """
        with self._lock:
            if drops != self._drops or fold.size > self.max_bytes:
                return
            # First: what is kept is dropped in time, though an interrupt comes amid what follows.
            if self._timer is None and not self._set_timer(IDLE_SECONDS):
                return
            before = self._entries.pop(key, None)
            self._size += fold.size - (before.size if before else 0)
            self._entries[key] = _Entry(fold, fold.size, time.monotonic())
            if self._size > self.max_bytes:
                # An interrupt may have left it too large, and then nothing would ever be kept.
                self._size = sum(entry.size for entry in self._entries.values())
            while self._size > self.max_bytes:
                _, oldest = self._entries.popitem(last=False)
                self._size -= oldest.size

    def observe(self, latest: NewSince, drops: int) -> int:
        """Drop all where a read found another log, or something erased since the last one.

        Return what takes the place of `drops` for a fold that is made from what was found.
        """
        with self._lock:
            is_first = drops == self._drops
            before, self._erasure_state = self._erasure_state, latest.erasure_state
            is_erased = before not in (None, latest.erasure_state)
            if is_erased:
                self.drop()
            after = self._drops if is_first else drops
        if is_erased:
            self._drop_others()
        return after

    def drop(self) -> None:
        """Drop all at once, those that are in use too: they are not kept when they are put back."""
        self._drop()

    def before_fork(self) -> None:
        """Drop all, and wait for the thread to end: a child gets no text that it would have to drop."""
        if (timer := self._drop()) is not None:
            # Not for ever: where the handler of a signal forks, its thread may have the lock that
            # the timer waits for.
            timer.join(_PATIENCE)

    def begin_anew(self) -> None:
        """Begin with none in a forked child: another thread may have held the lock."""
        self._begin()

    def drop_idle(self) -> None:
        """Drop those that nobody used for a while; see to it that this is done again."""
        with self._lock:
            self._timer = None
            now = time.monotonic()
            for key, entry in list(self._entries.items()):
                if now - entry.used_at < IDLE_SECONDS:
                    # They stand in the order in which they were used.
                    if not self._set_timer(IDLE_SECONDS - (now - entry.used_at)):
                        self.drop()
                    return
                del self._entries[key]
                self._size -= entry.size
        self._drop_others()

    def _drop(self) -> threading.Timer | None:
        """Drop all, and tell the timer to end; return it."""
        with self._lock:
            self._drops += 1
            self._entries.clear()
            self._size = 0
            timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
        return timer

    def _begin(self) -> None:
        # The handler of a signal may ask for a request, or fork, while its thread has the lock.
        self._lock = threading.RLock()
        self._entries = OrderedDict()
        self._size = 0
        self._drops = 0
        self._erasure_state = None
        self._timer = None

    def _set_timer(self, seconds: float) -> bool:
        """Have the idle ones dropped later; False where the process can have no more threads."""
        # It keeps neither the process alive nor the store.
        timer = threading.Timer(seconds, _drop_idle, (weakref.ref(self),))
        timer.daemon = True
        try:
            timer.start()
        except RuntimeError:
            return False
        self._timer = timer
        return True


def _drop_idle(folds: weakref.ref[FoldCache]) -> None:
    if (cache := folds()) is not None:
        cache.drop_idle()


_OPEN: Final[weakref.WeakSet[FoldCache]] = weakref.WeakSet()


def _before_fork() -> None:
    for folds in list(_OPEN):
        folds.before_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork)
begin_anew_in_children(_OPEN)
