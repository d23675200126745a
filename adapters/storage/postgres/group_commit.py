"""Appends of one process that share a commit, so that many of them cost one call and one flush.

There is no thread for it. Who finds nobody committing leads: it commits at once, on its own thread.
Who comes meanwhile waits, and the first of them leads next, with all that wait by then: a batch. So
batches grow with the load, and a lone caller waits for nobody and is handed nothing.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from enum import Enum
from itertools import islice
from typing import Any, Final, TypeAlias

from onrecord.adapters.storage.interrupts import Hold, own_holds, release_left
from onrecord.domain.errors import OnrecordError, StorageBusy, StorageFull, StorageUnavailable

MOST_REQUESTS: Final = 64
"""How many requests a shared commit holds at most."""

MOST_BYTES: Final = 1 << 20
"""How many bytes the requests of a shared commit have at most; a larger one goes by itself."""

_LOOK: Final = 1.0
"""After how many seconds who waits looks whether the leader is still there."""

Row: TypeAlias = tuple[Any, ...]
"""What the log answers to one request."""

Ask: TypeAlias = Callable[[Sequence[bytes]], list[Row]]
"""Commits packed requests, in one call, and returns a row for each, in order."""

SHARED_FATE: Final = (StorageUnavailable, StorageBusy, StorageFull)
"""Errors that say nothing of the requests: whoever shares the commit shares them."""


class _Instruction(Enum):
    """What a caller is to do by itself."""

    LEAD = "commit the next batch"
    ALONE = "ask again, for this caller alone"


class _Caller(Hold):
    """A caller and what it is told: to do something, or its rows, or the error of its batch."""

    __slots__ = ("_woken", "answer", "batch", "group", "requests")

    def __init__(self, group: GroupCommit, requests: Sequence[bytes]) -> None:
        self.group = group
        self.requests = requests
        self.answer: _Instruction | list[Row] | OnrecordError | None = None
        self.batch: Sequence[_Caller] = ()
        self._woken = threading.Lock()
        self._woken.acquire()

    def give_back(self) -> None:
        """Let nobody wait for it."""
        self.group.leave(self)
        self.batch = ()
        self.drop()

    def tell(self, answer: _Instruction | list[Row] | OnrecordError) -> None:
        """Wake the caller up; the first that it is told holds."""
        if self.answer is None:
            self.answer = answer
        if self._woken.locked():
            self._woken.release()

    def wait(self) -> None:
        while not self._woken.acquire(timeout=_LOOK):
            # The leader may have been interrupted, and again as it left.
            release_left(everywhere=True)


class GroupCommit:
    """Commits the requests of many threads, a batch at a time, in the order in which they came."""

    def __init__(self, ask: Ask) -> None:
        """Commit by `ask`, which raises an OnrecordError where it cannot."""
        self._ask = ask
        self._lock = threading.Lock()
        # The leader is among those that wait until it takes its batch, itself at the head.
        self._waiting: deque[_Caller] = deque()
        self._leader: _Caller | None = None

    def commit(self, requests: Sequence[bytes]) -> list[Row]:
        """Return the rows of a caller's requests, once they are committed.

        A batch that fails for one of its requests is asked again, each caller's requests alone. Of
        what `ask` raises for all of them each caller gets an error of its own. A caller that is
        interrupted does not disturb the others; whether its requests are committed is not known.
        What a signal's handler commits, amid a commit of its own thread, goes by itself: it would
        wait for the thread that waits for it.
        """
        if is_large(requests) or self._is_inside():
            return self._ask(requests)
        caller = _Caller(self, requests)
        try:
            caller.note(0)
            if not self._leads_at_once(caller):
                caller.wait()
            rows = self._outcome(caller)
            # A leader is of its own batch: what was committed would stay until the cycle is found.
            caller.batch = ()
            caller.drop()
            return rows
        except BaseException:
            # Noted until it is done: cut short too, it is done by the next.
            caller.give_back()
            raise

    @property
    def waiting(self) -> int:
        """How many callers wait for a commit that has not begun."""
        return len(self._waiting)

    def _leads_at_once(self, caller: _Caller) -> bool:
        with self._lock:
            leads = self._leader is None
            # Set this first: if an interrupt came after the append, this caller would wait with no leader.
            if leads:
                self._leader = caller
                caller.answer = _Instruction.LEAD
            self._waiting.append(caller)
            return leads

    def _outcome(self, caller: _Caller) -> list[Row]:
        match caller.answer:
            case _Instruction.LEAD:
                return self._lead(caller)
            case _Instruction.ALONE | None:
                return self._ask(caller.requests)
            case OnrecordError() as error:
                raise own_error(error)
            case rows:
                return rows

    def _lead(self, leader: _Caller) -> list[Row]:
        self._take_batch(leader)
        try:
            rows = self._ask([request for caller in leader.batch for request in caller.requests])
        except SHARED_FATE as error:
            if isinstance(error, StorageUnavailable):
                self._take_all(leader)
            self._end(leader, error)
            raise
        except Exception:
            if len(leader.batch) == 1:
                raise
            self._end(leader, _Instruction.ALONE)
            return self._ask(leader.requests)
        # The next batch is on its way before this one is handed out.
        self._hand_on(leader)
        at = 0
        for caller in leader.batch:
            caller.tell(rows[at : at + len(caller.requests)])
            at += len(caller.requests)
        return rows[: len(leader.requests)]

    def _take_batch(self, leader: _Caller) -> None:
        with self._lock:
            count = fitting(caller.requests for caller in self._waiting)
            leader.batch = tuple(islice(self._waiting, count))
            for _ in leader.batch:
                self._waiting.popleft()

    def _take_all(self, leader: _Caller) -> None:
        # Each batch would look for the server for as long as this one did, one behind the other.
        with self._lock:
            leader.batch = (*leader.batch, *self._waiting)
            self._waiting.clear()

    def _end(self, leader: _Caller, answer: _Instruction | OnrecordError) -> None:
        self._hand_on(leader)
        for caller in leader.batch:
            caller.tell(answer)

    def _hand_on(self, leader: _Caller) -> None:
        with self._lock:
            if self._leader is leader:
                self._leader = self._waiting[0] if self._waiting else None
            if self._leader is not None:
                self._leader.tell(_Instruction.LEAD)

    def _is_inside(self) -> bool:
        """Whether this thread is amid a commit: then this is a signal's handler."""
        callers = (hold for hold in own_holds() if isinstance(hold, _Caller))
        return any(caller.group is self and not caller.is_left() for caller in callers)

    def leave(self, caller: _Caller) -> None:
        """See to it that nobody waits for a caller that is interrupted, wherever it was."""
        with self._lock:
            gone = {caller, *caller.batch}
            for one in [one for one in self._waiting if one in gone]:
                self._waiting.remove(one)
        self._end(caller, _Instruction.ALONE)


def is_large(requests: Sequence[bytes]) -> bool:
    """Whether requests fill a commit of their own."""
    return len(requests) > MOST_REQUESTS or sum(map(len, requests)) > MOST_BYTES


def own_error(error: OnrecordError) -> OnrecordError:
    """Return an error of the same kind for one more of those that it befell."""
    own = copy(error)
    own.__cause__ = error
    return own


def fitting(callers: Iterable[Sequence[bytes]]) -> int:
    """Return how many callers' requests fit a shared commit: those at the head, one at least."""
    fit = requests = size = 0
    for own in callers:
        requests += len(own)
        size += sum(map(len, own))
        if fit and (requests > MOST_REQUESTS or size > MOST_BYTES):
            break
        fit += 1
    return fit
