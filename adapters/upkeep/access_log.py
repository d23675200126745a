"""The access log: who read what and when, recorded in the operators' stream of the tenant.

A person's read is an event, recorded before anything is shown. Programs are counted in memory, and
told of once a minute: what builds requests waits for nothing.
"""

from __future__ import annotations

import logging
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Final
from uuid import UUID

from uuid_utils.compat import uuid7

from onrecord.adapters.recording.actor_names import ActorNames
from onrecord.adapters.storage.append import let_log_know
from onrecord.domain.errors import CorruptRecord, OnrecordError, StorageReadOnly, counted
from onrecord.domain.header import SALT_SIZE
from onrecord.domain.log import Append, Backend, Recorded, RecordedEvent
from onrecord.domain.marks.marked_ids import access_id, day_of, operators_of
from onrecord.domain.new_events import Stamp, draft_fact
from onrecord.domain.operators import AccessCounted, AccessFact
from onrecord.projections.access.access_records import AccessEntry, access_entry

logger = logging.getLogger("onrecord")

MINUTE: Final = 60_000_000
DAY: Final = 24 * 60 * MINUTE
"""In microseconds, as MINUTE is; for so long is kept what cannot be recorded."""

_DAYS: Final = 366
"""Of how many days it is asked at once whether anything was read."""

_PAGE: Final = 500
"""How many entries are read at once."""


def now() -> int:
    """Return the time by this machine's clock, in microseconds since 1970-01-01 UTC."""
    return time.time_ns() // 1000


class AccessLog:
    """Records what of a tenant was read, and reads that back. Safe to share between threads."""

    def __init__(self, backend: Backend, tenant: UUID, names: ActorNames) -> None:
        """Record it in a log; `names` keeps the names of those who read."""
        self._backend = backend
        self._tenant = tenant
        self._operators = operators_of(tenant)
        self._names = names
        self._is_known = False

    def record(self, fact: AccessFact, actor: str | None) -> None:
        """Record what somebody read, durably; `actor` is who, by name."""
        self._make_tenant_known()
        who = self._names.attribution(actor=actor)
        self._names.keep(who)
        stream = access_id(self._tenant, day_of(fact.at))
        stamp = Stamp(
            uuid7(), fact.at, secrets.token_bytes(SALT_SIZE), self._operators, stream, who.actor
        )
        request = Append(self._operators, stream, (draft_fact(fact, stamp),))
        (verdict,) = self._backend.append([request])
        if not isinstance(verdict, Recorded):
            raise CorruptRecord(
                "the operators of another tenant took the stream of what was read today: run "
                "`onrecord verify`"
            )

    def entries(self, since: int, until: int) -> Iterator[AccessEntry]:
        """Yield what was read from a time on and before another: the last day first, and in it the last recorded.

        Times are in microseconds since 1970-01-01 UTC. What cannot be read is left out, with a
        warning; `verify` names it too.
        """
        for stream in self._streams(day_of(since), day_of(until - 1)):
            for event in self._backwards(stream):
                entry = self._entry(event)
                if entry is not None and since <= entry.at < until:
                    yield entry

    def _streams(self, first: int, last: int) -> Iterator[UUID]:
        """Yield the streams that there are of some days, the last first."""
        for end in range(last, first - 1, -_DAYS):
            days = range(end, max(first, end - _DAYS + 1) - 1, -1)
            streams = [access_id(self._tenant, day) for day in days]
            begun = {event.conversation_id for event in self._backend.first_events(streams)}
            yield from (stream for stream in streams if stream in begun)

    def _backwards(self, stream: UUID) -> Iterator[RecordedEvent]:
        """Yield the events of a stream, the last first, a page of them in memory."""
        last = self._backend.head(stream).version
        for until in range(last, 0, -_PAGE):
            page = self._backend.read(stream, after=max(0, until - _PAGE), until=until)
            yield from reversed(list(page))

    def _entry(self, event: RecordedEvent) -> AccessEntry | None:
        try:
            return access_entry(event, self._operators)
        except CorruptRecord as error:
            logger.warning("an entry of the access log cannot be read: %s", error)
            return None

    def _make_tenant_known(self) -> None:
        """Let the log know the tenant before its operators' stream, once; some roles may not."""
        if not self._is_known:
            with suppress(StorageReadOnly):
                let_log_know(self._backend, self._tenant)
            self._is_known = True


class ReadCounts:
    """How often programs read, told of once a minute and in the end. Safe to share between threads.

    What cannot be recorded is kept for the minute that it was read in, and tried again once a minute.
    A process that is killed, or that ends without closing its store, loses the counts of its last minute.
    """

    def __init__(
        self,
        record: Callable[[AccessFact], None],
        tenant: UUID,
        *,
        key_id: UUID | None = None,
        clock: Callable[[], int] = now,
        timer: Callable[[float, Callable[[], None]], threading.Timer] = threading.Timer,
    ) -> None:
        """Tell of the reads of a tenant by `record`; `timer` makes what calls after so many seconds."""
        self._record = record
        self._tenant = tenant
        self._key_id = key_id
        self._clock = clock
        self._timer = timer
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._lock, self._telling = threading.Lock(), threading.Lock()
        self._counts = dict[int, dict[str, int]]()
        self._waiting: threading.Timer | None = None

    def add(self, verb: str) -> None:
        """Count a read."""
        if self._process != os.getpid():
            self._begin()  # The parent tells of what was counted before the fork.
        with self._lock:
            moment = self._clock()
            self._count(moment - moment % MINUTE, verb, 1)
            self._wait(moment)

    def flush(self) -> None:
        """Tell of what was counted; what cannot be recorded is warned of, and kept."""
        with self._telling:  # A store that is closed waits for the timer's.
            self._tell()

    def _minute_is_over(self) -> None:
        with self._telling:
            if not self._tell():
                with self._lock:
                    self._wait(self._clock())

    def _tell(self) -> bool:
        """Tell of what was counted, minute by minute; return False where something is still to be told."""
        with self._lock:
            counts, self._counts = self._counts, {}
            if self._waiting is not None:
                self._waiting.cancel()
                self._waiting = None
        if self._process != os.getpid():
            return True
        try:
            for at in sorted(counts):
                self._record(self._fact(at, counts[at]))
                del counts[at]
        except OnrecordError as error:
            logger.warning("how often programs read could not be recorded: %s", error)
            self._take_back(counts)
        return not counts

    def _fact(self, at: int, reads: Mapping[str, int]) -> AccessCounted:
        return AccessCounted(tenant=self._tenant, reads=dict(reads), key_id=self._key_id, at=at)

    def _wait(self, moment: int) -> None:
        """Tell of it when this minute is over, unless that is due; the lock is held."""
        if self._waiting is not None:
            return
        self._waiting = self._timer((MINUTE - moment % MINUTE) / 1_000_000, self._minute_is_over)
        self._waiting.daemon = True
        self._waiting.start()

    def _take_back(self, untold: Mapping[int, Mapping[str, int]]) -> None:
        oldest = self._clock() - DAY
        with self._lock:
            for at, reads in untold.items():
                if at < oldest:  # PostgreSQL refuses it for ever.
                    logger.warning("%s by programs given up", counted(sum(reads.values()), "read"))
                    continue
                for verb, times in reads.items():
                    self._count(at, verb, times)

    def _count(self, at: int, verb: str, times: int) -> None:
        """Add to a minute; the lock is held."""
        counts = self._counts.setdefault(at, {})
        counts[verb] = counts.get(verb, 0) + times
