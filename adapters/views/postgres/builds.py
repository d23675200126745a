"""The builds of views on PostgreSQL: begun, switched once they have caught up, and swept."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from psycopg import errors
from psycopg.rows import TupleRow

from onrecord.adapters.storage.interrupts import releasing
from onrecord.adapters.storage.postgres.connections import Connections, LogConnection, fetched
from onrecord.adapters.views.postgres.tables import STALLED, loan
from onrecord.domain.errors import StorageReadOnly
from onrecord.projections.views.own_views import OwnRows, OwnSink, OwnTables, method_errors
from onrecord.projections.views.planning import (
    Build,
    Feeding,
    Part,
    Status,
    fair_share,
    feeding,
    surplus,
    thread_of,
)
from onrecord.projections.views.view import Feed, View

_NOT_ADMITTED: Final = (
    "this role may not keep views: connect as another one, which the log's owner has let in as a worker "
    "(SELECT onrecord.admit_worker('role')) or, to pause, resume, retry and rebuild views, as an operator "
    "(SELECT onrecord.admit_operator('role'))"
)

_DUE: Final = 16
"""How many parked conversations are tried in one go."""

_NO_GENERATION: Final = 0
"""What is told where tables are made: no rows are written."""

_SWEPT: Final = 5_000
"""How many rows go in one transaction, so that no lock is held for long."""


class PostgresBuilds:
    """The builds of those views that a worker knows. Safe for threads."""

    def __init__(self, connections: Connections, views: Mapping[str, View]) -> None:
        """Know these views only; others are left to other releases."""
        self._connections, self._views = connections, views

    @releasing
    def begin(self) -> None:
        """Give each view its first build where it has none.

        Raises StorageReadOnly for a role that may not keep views, or that sees one tenant only: it
        would pass over the events of all others.
        """
        try:
            if self._connections.ask("bound_tenant") != [(None,)]:
                raise StorageReadOnly(_NOT_ADMITTED)
            self._begin()
        except StorageReadOnly as exc:
            if not isinstance(exc.__cause__, errors.InsufficientPrivilege):
                raise
            raise StorageReadOnly(_NOT_ADMITTED) from exc.__cause__

    def _begin(self) -> None:
        names = list(self._views)
        with _brief(self._connections) as connection:
            fetched(connection, "views_named", (names,))
            revisions = [view.revision for view in self._views.values()]
            fetched(connection, "views_begun", (names, revisions))
            fetched(connection, "checkpoints_begun", (names,))

    def tableless(self) -> list[OwnTables]:
        """Return the projections that make tables, and of which no event was written yet.

        Empty tables in the place of those that somebody dropped would lack what these had.
        """
        reached = self._connections.ask("checkpoints")
        begun = {view for view, _, _, _, position in reached if position > 0}
        views = (view for view in self._views.values() if isinstance(view, OwnTables))
        return [view for view in views if view.name not in begun]

    @releasing
    def make_tables(self, view: OwnTables) -> None:
        """Have a projection make its tables: one process does so after the other.

        InvalidInput where it raises.
        """
        with method_errors(view, "create_tables"), self._connections.transaction() as connection:
            fetched(connection, "view_held", (view.name,))
            with loan(connection, _NO_GENERATION) as transaction:
                view.begin(transaction)

    @releasing
    def begin_building(self, view: View) -> int:
        """Begin the next build of a view beside the live one, and return its number.

        The one that is being made already is gone on with.
        """
        with _brief(self._connections) as connection:
            fetched(connection, "building_begun", (view.name, view.revision))
            fetched(connection, "checkpoints_begun", ([view.name],))
        return max(build.number for build in self.all() if build.view == view.name)

    def all(self) -> list[Build]:
        """Return every build of every view."""
        return [Build(*row) for row in self._connections.ask("generations")]

    def feeding(self) -> Feeding:
        """Return what is fed now."""
        return feeding(self.all(), self._views)

    def positions(self, feeds: frozenset[Feed]) -> dict[Part, dict[Feed, int]]:
        """Return how far builds have come in each part."""
        by_name = {(feed.view.name, feed.generation): feed for feed in feeds}
        reached: dict[Part, dict[Feed, int]] = {}
        for view, generation, shard, part, position in self._connections.ask("checkpoints"):
            feed = by_name.get((view, generation))
            if feed is not None:
                reached.setdefault(Part(shard, part), {})[feed] = position
        return reached

    def ends(self) -> dict[int, int]:
        """Return the last position of each shard."""
        return dict(self._connections.ask("last_positions"))

    @releasing
    def switch(self, view: str, building: int, live: int) -> bool:
        """Make a build the live one if it has come as far; return whether it is."""
        both = (view, building, live)
        if self._connections.ask("generations_caught_up", both) != [(True,)]:
            return False  # Without a lock, for this is asked again and again.
        with _brief(self._connections) as connection:
            if len(fetched(connection, "generations_held", both)) < len((building, live)):
                return False
            fetched(connection, "checkpoints_held", both)
            if fetched(connection, "generations_caught_up", both) != [(True,)]:
                return False
            _retire(connection, view, live, "live")
            fetched(connection, "view_switched", (view,))
            return bool(fetched(connection, "generation_live", (view, building)))

    @releasing
    def abandon(self, view: str, building: int) -> bool:
        """Give up a build; return whether it was still being made, for a live one stays."""
        with _brief(self._connections) as connection:
            return _retire(connection, view, building, "building")

    @releasing
    def sweep(self, view: str, retired: int) -> bool:
        """Delete some rows of a retired build; return whether all are gone, and the build too.

        InvalidInput where a projection of one's own raises.
        """
        own = self._views.get(view)
        with _brief(self._connections) as connection:
            if isinstance(own, OwnTables):
                with (
                    method_errors(own, "delete_generation"),
                    loan(connection, retired) as transaction,
                ):
                    own.sweep(transaction)
            elif not isinstance(own, OwnSink):
                is_row = isinstance(own, OwnRows)
                query = connection.queries["own_sweep" if is_row else f"{view}_sweep"]
                which = (retired, _SWEPT, view) if is_row else (retired, _SWEPT)
                if connection.execute(query, which, binary=True).rowcount > 0:
                    return False
            fetched(connection, "generation_swept", (view, retired))
            return True

    def due(self, feeds: frozenset[Feed], places: list[Part]) -> list[tuple[Feed, Part, UUID]]:
        """Return the parked conversations that are to be tried again now, some at a time."""
        by_name = {(feed.view.name, feed.generation): feed for feed in feeds}
        views, generations = [name for name, _ in by_name], [number for _, number in by_name]
        shards, parts = [at.shard for at in places], [at.part for at in places]
        parameters = (views, generations, shards, parts, _DUE)
        return [
            (by_name[view, generation], Part(shard, part), conversation)
            for view, generation, shard, part, conversation in self._connections.ask(
                "parked_due", parameters
            )
        ]

    def parked(self, view: str, number: int) -> int:
        """Return how many conversations wait behind a parked event of a build."""
        return int(self._connections.ask("parked_count", (view, number))[0][0])

    def stop(self, feed: Feed, why: str) -> None:
        """Let a build stand still until somebody resumes its view."""
        self._connections.ask("view_stopped", (feed.view.name, feed.generation, why))


@contextmanager
def _brief(connections: Connections) -> Generator[LogConnection]:
    """Lend a transaction that the server ends if the worker stalls: its locks would hold up all others."""
    with connections.transaction() as connection:
        fetched(connection, "stalls_limited", (STALLED,))
        yield connection


def _retire(connection: LogConnection, view: str, number: int, status: Status) -> bool:
    if not fetched(connection, "generation_retired", (view, number, status)):
        return False
    fetched(connection, "checkpoints_ended", (view, number))
    return True


# The parts of the log that a worker holds on PostgreSQL: leases by the server's clock, with
# epochs.
#
# A lease says who should work; what makes two workers on one part harmless is that a batch names
# the epoch of its lease and the position it begins at, and changes nothing where either has
# changed.

LEASE_SECONDS: Final = 5
"""How long a worker that says nothing keeps its parts."""

BEAT_SECONDS: Final = 1.5
"""How often a worker renews its leases: two renewals may fail before they run out."""

LEASE: Final = LEASE_SECONDS * 1_000_000
"""The same in microseconds."""

MAINTAINED: Final = ""
"""Whose parts those are in which the maintained views are folded, all of them at once."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right of a worker to some parts: the epoch of each fences it once another took over.

    `view` is the projection of one's own whose parts they are.
    """

    owner: str
    epochs: Mapping[Part, int] = field(default_factory=dict[Part, int])
    view: str = MAINTAINED


class Parts:
    """What one worker holds. Safe for threads: one beats, others ask what is theirs.

    `losses` counts how often a part was lost to another worker.
    """

    def __init__(self, connections: Connections, owner: str, view: str = MAINTAINED) -> None:
        """Hold nothing yet. `owner` is the worker's name, one that no other worker ever had.

        `view` is a projection of one's own: only workers that know it share its parts.
        """
        self._connections, self._owner, self._view = connections, owner, view
        self._lock = threading.Lock()
        self._held: dict[Part, int] = {}
        self._surplus: set[Part] = set()
        self._renewed_at = time.monotonic()
        self.losses = 0

    def begin(self) -> None:
        """Make the parts of a projection of one's own, where nobody has."""
        if self._view != MAINTAINED:
            self._connections.ask("parts_begun", ([self._view],))

    def beat(self) -> bool:
        """Renew the leases, and claim what is free up to the fair share; whether that is reached.

        Raises StorageError; what was held stays held until the lease runs out.
        """
        began = time.monotonic()
        with _brief(self._connections) as connection:
            fetched(connection, "worker_seen", (self._owner, self._view))
            fetched(connection, "workers_gone", (LEASE,))
            leased = _epochs(fetched(connection, "parts_renewed", (self._owner, LEASE, self._view)))
            [(parts, workers)] = fetched(connection, "parts_shared", (LEASE, self._view))
            share = fair_share(parts, workers)
            leased |= self._claimed(connection, share - len(leased))
        self._take_over(leased, share, began)
        return len(leased) >= share

    def lease(self, thread: int = 0, threads: int = 1) -> Lease:
        """Return what a thread works on now; nothing once the leases were not renewed in time."""
        with self._lock:
            if time.monotonic() - self._renewed_at > LEASE_SECONDS:
                return Lease(self._owner, view=self._view)
            mine = self._held.items()
            epochs = {at: epoch for at, epoch in mine if thread_of(at, threads) == thread}
            return Lease(self._owner, epochs, self._view)

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
        self._connections.ask("worker_left", (self._owner, self._view))

    @property
    def held(self) -> frozenset[Part]:
        """The parts that are held."""
        with self._lock:
            return frozenset(self._held)

    def _claimed(self, connection: LogConnection, missing: int) -> dict[Part, int]:
        if missing <= 0:
            return {}
        wanted = (self._owner, LEASE, missing, self._view)
        return _epochs(fetched(connection, "parts_claimed", wanted))

    def _take_over(self, held: dict[Part, int], share: int, began: float) -> None:
        given_up = set(surplus(held, share))
        with self._lock:
            self.losses += sum(held.get(place) != epoch for place, epoch in self._held.items())
            self._held = {place: held[place] for place in held if place not in given_up}
            self._surplus = given_up
            self._renewed_at = began

    def _release(self, places: set[Part]) -> None:
        shards, parts = [at.shard for at in places], [at.part for at in places]
        self._connections.ask("parts_released", (self._owner, shards, parts, self._view))


def _epochs(rows: list[TupleRow]) -> dict[Part, int]:
    return {Part(shard, part): epoch for shard, part, epoch in rows}
