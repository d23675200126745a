"""Puts what the log records into the tails: one process for all readers, another if it is gone.

Ids of entries are positions, and a stream takes none that is not above its last: two relays at once
do no harm, nor does one that does a thing twice. What is relayed was read from the log, so it is
durable. The lease is not needed for that; it saves work.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from dataclasses import replace
from typing import Final
from uuid import UUID, uuid4

from onrecord.adapters.redis.connection import Command, Connection
from onrecord.adapters.redis.tails import (
    AT_ONCE,
    FIELD,
    Entry,
    Followed,
    mark_key,
    sealed_entry,
    tail_key,
)
from onrecord.domain.errors import CorruptRecord, StorageError
from onrecord.domain.log import Cursor, RecordedEvent

logger = logging.getLogger("onrecord")

LEASE_MILLISECONDS: Final = 2000
"""How long a relay that says nothing keeps others from it, and readers from following the log."""

LENGTH: Final = 4096
"""How many events of a shard are kept, about: readers that are further behind read the log."""

LARGEST: Final = 1 << 16
"""The most bytes of an event that is relayed; readers take larger ones from the log."""

KEPT_SECONDS: Final = 600
"""How long a tail stays that nobody relays to: the bound for what an erasure could not reach."""

_UNKNOWN: Final = -1


class Relay:
    """Relays the shards of a log while it holds the lease, by `name`; one thread uses it."""

    def __init__(self, connection: Connection, backend: Followed) -> None:
        """Relay what the backend records to a Redis: `run` does it."""
        self._connection = connection
        self._backend = backend
        self.name = uuid4().hex
        self._incarnation = UUID(int=0)
        self._erasures = 0
        self._relayed: dict[int, int] = {}

    def run(self, stop: threading.Event) -> None:
        """Relay until told to stop, which it sees within a tenth of a second, or the log is closed.

        It outlives failures of the log and of the Redis: readers follow the log meanwhile.
        """
        has_failed = False
        while not (stop.is_set() or self._backend.wakeups.closed):
            seen = self._backend.wakeups.seen()
            try:
                self.step()
                has_failed = False
            except StorageError as error:
                if not has_failed:
                    logger.warning("nothing is relayed to Redis now: %s", error)
                has_failed = True
            self._backend.wakeups.wait(seen, stop.is_set)
        self._let_go()

    def step(self) -> bool:
        """Relay what is new; False where another relay does, or the Redis is of no use now.

        Raises StorageError where the log cannot be read.
        """
        erasures, ends = self._backend.erasures(), self._backend.cursors()
        if not self._has_taken_back(erasures, ends):
            return False
        self._incarnation = ends[0].incarnation
        if not self._leads():
            self._relayed.clear()
            return False
        if not self._relayed:
            # What was erased while nobody relayed may be there still, and the log has what is new.
            self._erasures = erasures
            self._relayed = {end.shard: end.position for end in ends}
            return self._sent([*self._emptied(), *self._marks()])
        return all(map(self._relay, ends)) and self._sent(self._marks())

    def _has_taken_back(self, erasures: int, ends: list[Cursor]) -> bool:
        """Empty the tails where what was relayed may not be what the log says now; False if it fails.

        Also where another relay may have the lease by now: what this one added last goes.
        """
        is_another = ends[0].incarnation != self._incarnation
        went_back = any(end.position < self._relayed.get(end.shard, 0) for end in ends)
        if is_another or went_back or erasures != self._erasures:
            if self._relayed and not self._sent(self._emptied()):
                return False
            self._relayed.clear()
        return True

    def _leads(self) -> bool:
        lease = self._lease()
        taken, holder = self._connection.ask(
            ("SET", lease, self.name, "NX", "PX", LEASE_MILLISECONDS), ("GET", lease)
        ) or (None, None)
        if taken:
            # It was free: another relay may have come and gone, or the Redis, with what it had saved.
            self._relayed.clear()
        return holder == self.name.encode()

    def _relay(self, end: Cursor) -> bool:
        """Relay a shard up to where it ended; False if the Redis is of no use."""
        position = max(self._relayed.get(end.shard, 0), end.position - LENGTH)
        while position < end.position:
            page = self._backend.read_log(replace(end, position=position), AT_ONCE)
            if not page:
                return True
            position = page[-1].position
            self._relayed[end.shard] = position
            # One that is refused is there already, or another relay is ahead: readers see to it.
            if not self._sent([*self._added(page), *self._marks()]):
                return False
        return True

    def _added(self, page: list[RecordedEvent]) -> Iterable[Command]:
        key = tail_key(self._incarnation, page[0].shard)
        trim = ("MAXLEN", "~", LENGTH)
        for event in page:
            place = f"{event.position}-0"
            yield ("XADD", key, *trim, place, FIELD, self._sealed(key, event))
        yield ("EXPIRE", key, KEPT_SECONDS)

    def _sealed(self, key: str, event: RecordedEvent) -> bytes:
        """Return the entry of an event; nothing, which sends readers to the log, where that is best."""
        try:
            entry = Entry(event.client_header().tenant, event)
        except CorruptRecord:
            return b""
        prove = self._backend.prover(None)
        if prove is None:  # A role that is bound to a tenant relays nothing that others believe.
            return b""
        sealed = sealed_entry(prove, key, entry)
        return sealed if len(sealed) <= LARGEST else b""

    def _emptied(self) -> Iterable[Command]:
        """Yield what empties the tails; not deleted, they still take no id below their last."""
        for shard in self._relayed:
            yield ("XTRIM", tail_key(self._incarnation, shard), "MAXLEN", 0)

    def _marks(self) -> Iterable[Command]:
        """Yield what keeps the lease, and what tells readers how far the relay came."""
        mark = mark_key(self._incarnation)
        numbers = [number for place in self._relayed.items() for number in place]
        yield ("HSET", mark, *numbers)
        yield ("PEXPIRE", mark, LEASE_MILLISECONDS)
        yield ("PEXPIRE", self._lease(), LEASE_MILLISECONDS)

    def _sent(self, commands: Iterable[Command]) -> bool:
        """Send commands; where nobody knows what became of them, the next step takes them back."""
        if self._connection.ask(*commands, may_be_refused=True) is not None:
            return True
        self._erasures = _UNKNOWN
        return False

    def _let_go(self) -> None:
        """Let another relay begin at once, and readers know."""
        if self._relayed:
            self._connection.ask(("DEL", self._lease(), mark_key(self._incarnation)))
            self._relayed.clear()

    def _lease(self) -> str:
        return f"onrecord:{self._incarnation}:relay"
