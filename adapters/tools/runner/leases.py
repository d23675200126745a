"""The lease on a call: the right of one runner to make it, renewed as long as its tool runs.

Each step of it is an event with a number that the conversation takes once. So a runner that was
overtaken learns it from the log, whatever the clocks say.
"""

from __future__ import annotations

import logging
import threading
import time
import weakref
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from onrecord.adapters.conversation.open_calls import OpenCall, appended_once
from onrecord.adapters.storage.interrupts import begin_anew_in_children
from onrecord.adapters.streams.stream import Stream
from onrecord.domain.errors import ConversationClosed, ConversationForgotten, InvalidContent
from onrecord.domain.log import Backend, NewEvent
from onrecord.domain.tools import ToolCallBegun

logger = logging.getLogger("onrecord")

LEASE: Final = 60.0
"""After how many seconds others learn that the process died that made a call."""

_SHORTEST: Final = 1.0
_PART: Final = 3
"""A lease is renewed once this part of it is over, so that it outlasts a short outage of the store."""
_RETRY: Final = 1.0
"""After how many seconds a renewal is tried again that the store did not take."""


def lease_given(value: object) -> float | None:
    """Return a lease in seconds, None where there is to be none; InvalidContent for what is no lease."""
    if value is None:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= _SHORTEST:
        return min(value, threading.TIMEOUT_MAX)
    raise InvalidContent("a lease is a number of seconds, at least 1, or None")


class CallLease:
    """The right to make a call, which no other runner has before it runs out.

    It is renewed as long as somebody holds it: the runner until the result is recorded, and the thread
    of the tool, which goes on though nobody waits for it any more. Then it ends at once. It is lost where
    another runner began the call, for it could not be renewed in time.
    """

    def __init__(
        self, stream: Stream, opened: OpenCall, seconds: float, renewals: LeaseRenewals
    ) -> None:
        """Hold what to begin; nothing is recorded yet."""
        self._stream = stream
        self._opened = opened
        self._seconds = seconds
        self._renewals = renewals
        self._number = opened.state.begun
        self._until = 0
        self._holders = 1
        self._by = stream.attribution()  # The thread that renews it knows nothing of scopes.
        self._unsure: NewEvent | None = None
        self._lock = threading.RLock()
        self.is_lost = False

    def begin(self) -> bool:
        """Record that the call is about to be made, durably; False where another runner began it."""
        if not self._holders or not self._takes(self._seconds, renews=False):
            return False
        while self._stream.backend.clock() >= self._until:
            # It waited for its turn to write until its time was over: another may have begun the call.
            if not self._takes(self._seconds, renews=True):
                return False
        self._renewals.add(self, self._seconds / _PART)
        if not self._holders:  # The task was cancelled meanwhile.
            self._end()
            return False
        return True

    def hold(self) -> None:
        """Hold it once more."""
        with self._lock:
            self._holders += 1

    def drop(self) -> None:
        """Hold it once less; the last one ends it, unless there is a result."""
        with self._lock:
            self._holders -= 1
            if not self._holders:
                self._end()

    @contextmanager
    def dropping(self) -> Generator[None]:
        """Drop it at the end."""
        try:
            yield
        finally:
            self.drop()

    def settle(self) -> None:
        """Renew it no more: the call has its result."""
        self._renewals.discard(self)

    def renew(self) -> float | None:
        """Renew it; return after how many seconds to do so again, None where it is over."""
        if not self._lock.acquire(blocking=False):
            return _RETRY  # It is about to end, and other leases do not wait for it.
        try:
            if self._has_result():
                return None
            if self._takes(self._seconds, renews=True):
                return self._seconds / _PART
        except (ConversationForgotten, ConversationClosed):
            return None
        except Exception as exc:  # noqa: BLE001 - there is time to try again
            logger.warning("a lease on a call was not renewed: %s", type(exc).__name__)
            return min(_RETRY, self._seconds / _PART)
        finally:
            self._lock.release()
        self.is_lost = True
        logger.warning("another runner began the call %s", self._opened.call.id)
        return None

    def _has_result(self) -> bool:
        """Whether the call awaits no result any more; that of a call from before a fork is not seen."""
        version = self._opened.version
        return version > 0 and self._opened.call.id not in self._stream.head().open_calls

    def _end(self) -> None:
        """Say that nobody makes the call any more, so that nobody waits for the end of the lease."""
        if not self._renewals.discard(self):
            return
        try:
            self._takes(0, renews=True)
        except Exception as exc:  # noqa: BLE001 - it runs out by itself
            logger.warning("a lease on a call was not ended: %s", type(exc).__name__)

    def _takes(self, seconds: float, *, renews: bool) -> bool:
        """Record that the call is made for so many seconds; False where another runner has it."""
        if self._unsure is not None:
            # It may be recorded: nobody knows before the log is asked again.
            if not appended_once(self._stream, self._unsure):
                return False
            self._unsure = None
            self._number += 1
        now = self._stream.backend.clock()
        self._until = now + int(seconds * 1_000_000)
        step = ToolCallBegun(
            call_id=self._opened.call.id,
            call=self._opened.version,
            number=self._number,
            at=now,
            until=self._until,
            renews=renews,
        )
        self._unsure = self._stream.draft(step, by=self._by)
        is_taken = appended_once(self._stream, self._unsure) is not None
        self._unsure = None
        self._number += is_taken
        return is_taken


class LeaseRenewals:
    """The leases on calls of a store, renewed by one thread, which is there while there are any.

    A lease that nobody refers to any more is renewed no more: an interrupt may have come before it was
    dropped.
    """

    _lock: threading.RLock
    _due: weakref.WeakKeyDictionary[CallLease, float]
    _timer: threading.Timer | None
    _rings: float

    def __init__(self) -> None:
        """Begin with none."""
        self.begin_anew()
        _OPEN.add(self)

    def add(self, lease: CallLease, seconds: float) -> None:
        """Renew a lease after so many seconds, and again as it says."""
        with self._lock:
            self._due[lease] = due = time.monotonic() + seconds
            if self._timer is None or due < self._rings:
                self._set_timer(due)

    def discard(self, lease: CallLease) -> bool:
        """Renew a lease no more; return whether it was renewed up to now."""
        with self._lock:
            return self._due.pop(lease, None) is not None

    def begin_anew(self) -> None:
        """Begin with none in a forked child: the calls are its parent's."""
        # The handler of a signal may run tools, or fork, while its thread has the lock.
        self._lock = threading.RLock()
        self._due = weakref.WeakKeyDictionary()
        self._timer = None
        self._rings = 0.0

    def renew_due(self) -> None:
        """Renew what is due, and see to it that this is done again."""
        try:
            with self._lock:
                now = time.monotonic()
                due = [lease for lease, at in self._due.items() if at <= now]
            for lease in due:
                self._renew(lease)
        finally:
            with self._lock:
                self._timer = None
                if self._due:
                    self._set_timer(min(self._due.values()))

    def _renew(self, lease: CallLease) -> None:
        seconds = lease.renew()
        with self._lock:
            if lease not in self._due:
                return  # It was dropped meanwhile.
            if seconds is None:
                del self._due[lease]
            else:
                self._due[lease] = time.monotonic() + seconds

    def _set_timer(self, due: float) -> None:
        # It keeps neither the process alive nor the store.
        seconds = max(0.0, due - time.monotonic())
        timer = threading.Timer(seconds, _renew_due, (weakref.ref(self),))
        timer.daemon = True
        timer.name = "onrecord-leases"
        try:
            timer.start()
        except RuntimeError:  # The system gives no more threads.
            logger.warning("leases on calls cannot be renewed: there is no thread to be had")
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._rings = timer, due


def renewals_of(backend: Backend) -> LeaseRenewals:
    """Return what renews the leases on calls of a store."""
    return _OF_STORES.setdefault(backend, LeaseRenewals())


def _renew_due(renewals: weakref.ref[LeaseRenewals]) -> None:
    if (alive := renewals()) is not None:
        alive.renew_due()


_OF_STORES: Final[weakref.WeakKeyDictionary[Backend, LeaseRenewals]] = weakref.WeakKeyDictionary()
_OPEN: Final[weakref.WeakSet[LeaseRenewals]] = weakref.WeakSet()
begin_anew_in_children(_OPEN)
