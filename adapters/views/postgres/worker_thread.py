"""A thread of a worker: it looks what is new in its parts, folds it, and looks again."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from onrecord.adapters.views.postgres.advance import (
    Folded,
    LeaseLost,
    PostgresAdvance,
    StrictViewStopped,
)
from onrecord.adapters.views.postgres.builds import LEASE_SECONDS, Lease, PostgresBuilds
from onrecord.adapters.views.postgres.tables import TransactionEnded
from onrecord.domain.errors import StorageError
from onrecord.projections.views.own_views import is_own
from onrecord.projections.views.planning import Batch, Part, Room, foremost, trailing
from onrecord.projections.views.step import (
    SECOND,
    STRICT_ATTEMPTS,
    Failure,
    retry_after,
    stands_still,
    why_it_stands_still,
)
from onrecord.projections.views.view import Feed


@dataclass(slots=True)
class Tally:
    """Counts since the worker began. Safe for threads.

    `events` counts an event once however many views folded it, `seconds` is the time that batches
    took. `behind` says for each view and shard how many positions were still to be folded when a
    thread last looked, in the part that is furthest behind.
    """

    events: int = 0
    batches: int = 0
    seconds: float = 0.0
    batches_lost: int = 0
    folded: Counter[str] = field(default_factory=Counter[str])
    parked: Counter[str] = field(default_factory=Counter[str])
    _behind: dict[object, dict[Part, dict[Feed, int]]] = field(
        default_factory=dict[object, dict[Part, dict[Feed, int]]]
    )
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def took(self, batch: Batch, came_to: Folded, seconds: float) -> None:
        """Count a batch."""
        with self._lock:
            self.events += came_to.events
            self.batches += 1
            self.seconds += seconds
            self.folded.update({feed.view.name: came_to.events for feed in batch.feeds})
            self.parked.update(feed.view.name for feed, _ in came_to.parked)

    def lost_batch(self) -> None:
        """Count a batch that came to nothing, for another worker was there."""
        with self._lock:
            self.batches_lost += 1

    def stands(self, thread: object, behind: dict[Part, dict[Feed, int]]) -> None:
        """Keep how far behind the parts of a thread are, in the place of what it told before."""
        with self._lock:
            self._behind[thread] = behind

    def behind(self) -> dict[tuple[str, int], int]:
        """Return by view and shard how many positions are still to be folded."""
        furthest: dict[tuple[str, int], int] = {}
        with self._lock:
            parts = [part for behind in self._behind.values() for part in behind.items()]
        for place, feeds in parts:
            for feed, missing in feeds.items():
                key = (feed.view.name, place.shard)
                furthest[key] = max(furthest.get(key, 0), missing)
        return furthest


_LOG: Final = logging.getLogger("onrecord.worker")

CHORES_SECONDS: Final = 0.5
"""How often a thread looks for parked events that are due, where there were none."""


_OVERRAN: Final = (
    f"it takes longer than {LEASE_SECONDS} seconds for one event. Make it quicker, then resume it"
)


@dataclass(frozen=True, slots=True)
class _Trouble:
    """How often a view that stands still has failed, and when it is tried again."""

    attempts: int
    due: float


class WorkerThread:
    """One thread's work. Nothing of it is shared but what it is given."""

    def __init__(
        self,
        advance: PostgresAdvance,
        builds: PostgresBuilds,
        tally: Tally,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin with nothing known."""
        self._advance, self._builds, self._tally, self._clock = advance, builds, tally, clock
        self._room = Room()
        self._known: tuple[object, object] | None = None
        self._positions: dict[Part, dict[Feed, int]] = {}
        self._troubles: dict[Feed, _Trouble] = {}
        self._chores_at = 0.0
        self._overruns = 0

    def turn(self, lease: Lease, feeds: frozenset[Feed]) -> bool:
        """Fold what is new under a lease, at most a batch or two; return whether there was any.

        Raises StorageError where the database fails: nothing is lost, the next turn looks again.
        """
        if not lease.epochs or not feeds:
            self._tally.stands(self, {})
            return False
        self._look_again_if_changed(lease, feeds)
        ends = self._builds.ends()
        behind = {
            place: {feed: max(0, ends[place.shard] - at) for feed, at in feeds.items()}
            for place, feeds in self._positions.items()
        }
        self._tally.stands(self, behind)
        room = self._room.positions
        busy = self._fold(foremost(self._ready(), ends, room), lease)
        busy |= self._fold(trailing(self._ready(), room), lease)
        if self._clock() >= self._chores_at:
            has_tried = self._retry(lease, feeds)
            self._chores_at = self._clock() + (0 if has_tried else CHORES_SECONDS)
            busy |= has_tried
        return busy

    def forget_positions(self) -> None:
        """Ask the database again how far everything is."""
        self._known = None

    def _look_again_if_changed(self, lease: Lease, feeds: frozenset[Feed]) -> None:
        known = (lease.epochs, feeds)
        if self._known != known:
            positions = self._builds.positions(feeds)
            self._positions = {place: positions.get(place, {}) for place in lease.epochs}
            self._troubles = {feed: at for feed, at in self._troubles.items() if feed in feeds}
            self._known = known

    def _ready(self) -> Mapping[Part, Mapping[Feed, int]]:
        """Return the positions of what may be folded now."""
        now = self._clock()
        waiting = {feed for feed, trouble in self._troubles.items() if trouble.due > now}
        if not waiting:
            return self._positions
        return {
            place: {feed: at for feed, at in feeds.items() if feed not in waiting}
            for place, feeds in self._positions.items()
        }

    def _fold(self, batch: Batch | None, lease: Lease) -> bool:
        if batch is None:
            return False
        began = self._clock()
        try:
            came_to = self._advance.advance(batch, lease)
        except LeaseLost:
            self._tally.lost_batch()
            self.forget_positions()
            return False
        except StrictViewStopped as error:
            self._stand_still(error.feed, error.failure)
            return True
        except TransactionEnded as error:
            self._stop(batch.feeds, str(error))
            return True
        except StorageError:
            self._failed(batch, self._clock() - began)
            raise
        self._overruns = 0
        for at in batch.segments:
            self._positions[at.place].update(dict.fromkeys(batch.feeds, at.until))
        self._count(batch, came_to, self._clock() - began)
        return True

    def _failed(self, batch: Batch, seconds: float) -> None:
        """Take less next time; a projection of one's own that is too slow for one event is stopped."""
        is_least, own = self._room.positions == 1, [at for at in batch.feeds if is_own(at.view)]
        self._room.failed()
        if own and is_least and seconds >= LEASE_SECONDS:
            self._overruns += 1
            if self._overruns >= STRICT_ATTEMPTS:
                self._builds.stop(own[0], _OVERRAN)
                _tell_stopped(own[0], _OVERRAN)

    def _count(self, batch: Batch, came_to: Folded, seconds: float) -> None:
        spans = {(at.place.shard, at.after, at.until) for at in batch.segments}
        positions = sum(until - after for _, after, until in spans)
        self._room.took(positions, came_to.size, seconds)
        self._tally.took(batch, came_to, seconds)
        for feed in batch.feeds:
            self._troubles.pop(feed, None)
        for feed, failure in came_to.parked:
            _tell_parked(feed, failure)
        for feed in came_to.stopped:
            _tell_stopped(feed, "too many of its events fail alike")

    def _stand_still(self, feed: Feed, failure: Failure) -> None:
        before = self._troubles.get(feed)
        attempts = before.attempts + 1 if before else 1
        if stands_still(feed.view, attempts):
            why = why_it_stands_still(failure)
            self._builds.stop(feed, why)
            _tell_stopped(feed, why)
        wait = (retry_after(attempts) or SECOND) / SECOND
        self._troubles[feed] = _Trouble(attempts, self._clock() + wait)

    def _stop(self, feeds: Iterable[Feed], why: str) -> None:
        """Stop the builds of a projection of one's own."""
        self.forget_positions()
        for feed in feeds:
            self._builds.stop(feed, why)
            _tell_stopped(feed, why)
            # Until it is known here that it is stopped.
            self._troubles[feed] = _Trouble(1, self._clock() + LEASE_SECONDS)

    def _retry(self, lease: Lease, feeds: frozenset[Feed]) -> bool:
        """Try some of what is due; whether there was any, and so may be more."""
        has_tried = False
        for feed, place, conversation in self._builds.due(feeds, list(lease.epochs)):
            at = self._positions.get(place, {}).get(feed)
            if at is None:
                continue
            try:
                came_to = self._advance.retry(feed, place, at, conversation, lease)
            except LeaseLost:
                self.forget_positions()
                return False
            except TransactionEnded as error:
                self._stop((feed,), str(error))
                return True
            has_tried = True
            for _, failure in came_to.parked:
                _tell_parked(feed, failure)
        return has_tried


def _tell_stopped(feed: Feed, why: str) -> None:
    _LOG.error("generation %d of %s is stopped: %s", feed.generation, feed.view.name, why)


def _tell_parked(feed: Feed, failure: Failure) -> None:
    _LOG.warning(
        "%s: parked event %d (%s) of conversation %s: %s",
        *(feed.view.name, failure.event.version, failure.event.type),
        *(failure.event.conversation_id, failure.error),
    )
