"""The parts of the log that a worker holds on PostgreSQL: leases by the server's clock, with epochs.

A lease says who should work; what makes two workers on one part harmless is that a batch names the
epoch of its lease and the position it begins at, and changes nothing where either has changed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from psycopg.rows import TupleRow

from onrecord.adapters.storage.postgres_connections import Connections, LogConnection, fetched
from onrecord.projections.views.planning import Part, fair_share, surplus, thread_of

LEASE_SECONDS: Final = 5
"""How long a worker that says nothing keeps its parts."""

BEAT_SECONDS: Final = 1.5
"""How often a worker renews its leases: two renewals may fail before they run out."""

LEASE: Final = LEASE_SECONDS * 1_000_000
"""The same in microseconds."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right of a worker to some parts: the epoch of each fences it once another took over."""

    owner: str
    epochs: Mapping[Part, int] = field(default_factory=dict[Part, int])


class Parts:
    """What one worker holds. Safe for threads: one beats, others ask what is theirs."""

    def __init__(
        self, connections: Connections, owner: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Hold nothing yet. `owner` is the worker's name, one that no other worker ever had."""
        self._connections, self._owner, self._clock = connections, owner, clock
        self._lock = threading.Lock()
        self._held: dict[Part, int] = {}
        self._surplus: set[Part] = set()
        self._renewed_at = clock()
        self._losses = 0

    def beat(self) -> bool:
        """Renew the leases, and claim what is free up to the fair share; whether that is reached.

        Raises StorageError; what was held stays held until the lease runs out.
        """
        began = self._clock()
        with self._connections.transaction() as connection:
            fetched(connection, "worker_seen", (self._owner,))
            fetched(connection, "workers_gone", (LEASE,))
            held = _epochs(fetched(connection, "parts_renewed", (self._owner, LEASE)))
            [(parts, workers)] = fetched(connection, "parts_shared", (LEASE,))
            share = fair_share(parts, workers)
            held |= self._claimed(connection, share - len(held))
        self._take_over(held, share, began)
        return len(held) >= share

    def lease(self, thread: int = 0, threads: int = 1) -> Lease:
        """Return what a thread works on now; nothing once the leases were not renewed in time."""
        with self._lock:
            if self._clock() - self._renewed_at > LEASE_SECONDS:
                return Lease(self._owner)
            mine = self._held.items()
            return Lease(
                self._owner,
                {at: epoch for at, epoch in mine if thread_of(at, threads) == thread},
            )

    def give_up_surplus(self, thread: int, threads: int) -> None:
        """Release what is above the fair share; called by the thread that worked on it."""
        with self._lock:
            mine = {place for place in self._surplus if thread_of(place, threads) == thread}
            self._surplus -= mine
        if mine:
            self._release(mine)

    def leave(self) -> None:
        """Release everything and sign off, so that others take over at once."""
        with self._lock:
            held, self._held, self._surplus = set(self._held) | self._surplus, {}, set()
        self._release(held)
        self._connections.ask("worker_left", (self._owner,))

    @property
    def held(self) -> int:
        """How many parts are held."""
        return len(self._held)

    @property
    def losses(self) -> int:
        """How often a part was lost to another worker."""
        return self._losses

    def _claimed(self, connection: LogConnection, missing: int) -> dict[Part, int]:
        if missing <= 0:
            return {}
        return _epochs(fetched(connection, "parts_claimed", (self._owner, LEASE, missing)))

    def _take_over(self, held: dict[Part, int], share: int, began: float) -> None:
        given_up = set(surplus(held, share))
        with self._lock:
            self._losses += sum(held.get(place) != epoch for place, epoch in self._held.items())
            self._held = {place: held[place] for place in held if place not in given_up}
            self._surplus = given_up
            self._renewed_at = began

    def _release(self, places: set[Part]) -> None:
        shards, parts = [at.shard for at in places], [at.part for at in places]
        self._connections.ask("parts_released", (self._owner, shards, parts))


def _epochs(rows: list[TupleRow]) -> dict[Part, int]:
    return {Part(shard, part): epoch for shard, part, epoch in rows}
