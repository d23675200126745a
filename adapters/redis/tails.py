"""The end of a log in Redis, a stream a shard, for many readers: one relay reads for all of them.

A reader takes from the stream what follows, position by position, on what it has; what is missing
there, for whatever reason, it takes from the log. So it never skips an event and never repeats one.
The relay marks how far it saw the log a moment ago. Who has all up to there may wait for the stream
alone, and looks into the log now and then, for a mark may say what is not so; once it has lapsed,
readers follow the log as if there were no Redis.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count, takewhile
from types import TracebackType
from typing import Final, Protocol, Self
from uuid import UUID

from onrecord.adapters.redis.connection import PATIENT_SECONDS, Connection
from onrecord.adapters.redis.tail_entries import AT_ONCE, Entry, entries_in, tail_key
from onrecord.adapters.storage.append import Proof
from onrecord.adapters.storage.subscription import PAGE, Wakeups, owned_by
from onrecord.domain.errors import StorageUnavailable
from onrecord.domain.log import Backend, Cursor, RecordedEvent

LOOK_SECONDS: Final = 5.0
"""How long a reader waits for the stream alone until it asks the log whether there is more."""

_WAIT: Final = ("BLOCK", round(PATIENT_SECONDS * 1000))


class Followed(Backend, Protocol):
    """A backend, what wakes up those who follow it in this process, and what proves its word."""

    wakeups: Wakeups

    def prover(self, tenant: UUID | None) -> Proof | None:
        """Return what proves a tenant's word, or the log's own; None where this role may not."""
        ...


def mark_key(incarnation: UUID) -> str:
    """Return the key of the relay's mark: by shard, the position that it saw last."""
    return f"onrecord:{incarnation}:relayed"


@dataclass(frozen=True, slots=True)
class Tail:
    """The tail of one shard, as a Redis has it; `prove` is the log's."""

    connection: Connection
    prove: Proof
    incarnation: UUID
    shard: int

    def after(self, position: int, *, waits: bool) -> list[Entry] | None:
        """Return the entries that follow on a position without a gap; None: only the log can tell.

        None of them where a relay saw no more; one that `waits` gives it a moment to.
        """
        key = tail_key(self.incarnation, self.shard)
        wait = _WAIT if waits else ()
        answers = self.connection.ask(
            ("HGET", mark_key(self.incarnation), self.shard),
            ("XREAD", "COUNT", AT_ONCE, *wait, "STREAMS", key, f"{position}-0"),
            is_patient=waits,
        )
        mark, came = answers or (None, None)
        # Without a relay nobody takes out what is erased by those who have no Redis.
        if mark is None:
            return None
        entries = entries_in(self.prove, key, self.shard, came)
        following = list(takewhile(_follow(position), entries))
        # A log that was set back is behind its readers, and has to tell them.
        has_all = mark == b"%d" % position and not came
        return following if following or has_all else None


def _follow(position: int) -> Callable[[Entry], bool]:
    """Return whether an entry is the next one, asked of each in its turn."""
    expected = count(position + 1)
    return lambda entry: entry.event.position == next(expected)


class TailSubscription:
    """The events of a shard after a cursor, those to come included, in order of position."""

    def __init__(self, tail: Tail, backend: Followed, after: Cursor, tenant: UUID | None) -> None:
        """Follow a tail, and the log where that does not go on; only a tenant's events, if given.

        The first read may raise StaleCursor.
        """
        self._tail = tail
        self._backend = backend
        self._tenant = tenant
        self._is_own = owned_by(tenant, backend.owner)
        self._after = after
        self._ready: deque[RecordedEvent] = deque()
        self._is_relayed = False
        self._is_behind = False
        self._looks_at = time.monotonic() + LOOK_SECONDS
        self._stopped = False

    def __iter__(self) -> Self:
        """Return itself."""
        return self

    def __next__(self) -> RecordedEvent:
        """Return the next event, waiting for it; end the iteration once stopped."""
        while not self._ended():
            if self._ready:
                return self._ready.popleft()
            if not self._follow_tail():
                self._follow_log()
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
        self._backend.wakeups.stir()

    def _ended(self) -> bool:
        return self._stopped or self._backend.wakeups.closed or self._tail.connection.closed

    def _follow_tail(self) -> bool:
        """Take what the tail has; False where the log is to be asked."""
        if self._is_behind:
            return False
        found = self._tail.after(self._after.position, waits=self._is_relayed)
        self._is_relayed = found is not None
        if found:
            self._ready.extend(
                entry.event for entry in found if self._tenant in (None, entry.tenant)
            )
            self._after = replace(self._after, position=found[-1].event.position)
            return True
        return self._is_relayed and time.monotonic() < self._looks_at

    def _follow_log(self) -> None:
        """Take what the log has; wait a moment where that is nothing."""
        seen = self._backend.wakeups.seen()
        try:
            found = self._backend.read_log(self._after, PAGE)
            own = [event for event in found if self._is_own(event.conversation_id)]
        except StorageUnavailable:
            if self._ended():  # The backend was closed while this thread was reading.
                return
            raise
        self._looks_at = time.monotonic() + LOOK_SECONDS
        self._is_behind = len(found) == PAGE
        if not found:
            if not self._is_relayed:
                self._backend.wakeups.wait(seen, lambda: self._stopped)
            return
        self._ready.extend(own)
        self._after = replace(self._after, position=found[-1].position)
