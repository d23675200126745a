"""A worker: it keeps views up to date on PostgreSQL, beside as many others as there are.

One thread renews the leases and looks which builds are fed; the others fold: the maintained views together,
and each projection of one's own by itself, in parts that only workers lease that know it. Whoever holds the
first part also keeps house: it switches builds that have caught up and sweeps those that are retired.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Final, TypeVar
from uuid import uuid4

from onrecord.adapters.storage.interrupts import Bell
from onrecord.adapters.storage.postgres.connections import Connections, address_of
from onrecord.adapters.storage.subscription import Wakeups
from onrecord.adapters.views.ports import Reading
from onrecord.adapters.views.postgres.advance import PostgresAdvance
from onrecord.adapters.views.postgres.builds import (
    BEAT_SECONDS,
    LEASE_SECONDS,
    MAINTAINED,
    Parts,
    PostgresBuilds,
)
from onrecord.adapters.views.postgres.worker_thread import Tally, WorkerThread
from onrecord.domain.errors import InvalidInput, StorageError
from onrecord.projections.views.own_views import is_own
from onrecord.projections.views.planning import Feeding, Part, wait_after
from onrecord.projections.views.registry import VIEWS
from onrecord.projections.views.view import Feed, View

AnswerT = TypeVar("AnswerT")

_LOG: Final = logging.getLogger("onrecord.worker")

_LOOK_SECONDS: Final = 0.5
"""How often the builds are looked at, and leases renewed where others have more than their share."""

_RECONNECT_SECONDS: Final = 0.5


class Worker:
    """Keeps views of one database up to date until it is stopped."""

    def __init__(
        self,
        url: str,
        views: Mapping[str, View] = VIEWS,
        *,
        threads: int = 1,
        wakeups: Wakeups | None = None,
        reading: Reading = list,
    ) -> None:
        """Work for these views; all workers of a database should work for the same maintained ones.

        `wakeups` are those of the log, which hear what other processes append. `reading` decrypts events.
        """
        self.name = f"{socket.gethostname()}/{os.getpid()}/{uuid4()}"
        self.tally = Tally()
        # A projection of one's own may block: it has a thread of its own, and holds up no view.
        self._own = tuple(name for name, view in views.items() if is_own(view))
        most = threads + 2 + len(self._own)
        self._connections = Connections(address_of(url), most=most, wait=10.0, prepared=True)
        self._threads, self._wakeups, self._views = threads, wakeups or Wakeups(), views
        self._advance = PostgresAdvance(self._connections, reading)
        self._builds = PostgresBuilds(self._connections, views)
        # Who knows projections of one's own alone takes no part from those who keep the maintained views.
        shared = [MAINTAINED] if len(self._own) < len(views) else []
        self._parts = {
            view: Parts(self._connections, self.name, view) for view in (*shared, *self._own)
        }
        self._feeding = Feeding()
        self._tableless = set[str]()
        self._bell = Bell()
        self._begun = self._stopped = self._ended = False
        self._error: BaseException | None = None

    def run(self) -> None:
        """Work until `stop` is called, then give back what is held.

        An exception that ends this call, as Ctrl-C does, ends the work too.
        """
        # What must be given back is given back by a thread in which no signal's handler raises.
        keeper = threading.Thread(target=self._keep_at_work, name="onrecord-worker")
        try:
            keeper.start()
            self._bell.wait_for(lambda: self._ended)
        except BaseException:
            self.stop()
            if keeper.ident is not None:
                self._bell.wait_for(lambda: self._ended)
            raise
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """Let `run` return once the batches at hand are done; from any thread, or a signal's handler."""
        self._stopped = True
        self._bell.ring()
        self._wakeups.stir()

    @property
    def held(self) -> int:
        """How many parts of the log it holds, for any of its views."""
        return len(frozenset[Part]().union(*(parts.held for parts in self._parts.values())))

    @property
    def losses(self) -> int:
        """How often a part was lost to another worker."""
        return sum(parts.losses for parts in self._parts.values())

    def ends(self) -> dict[int, int]:
        """Return the last position of each shard; raises what ended the work, if anything did."""
        return self._asked(self._builds.ends)

    def has_come_to(self, ends: Mapping[int, int]) -> bool:
        """Whether every view that is fed has come to these positions, by whomever; errors as `ends`."""
        if not self._begun:
            return False
        positions = self._asked(lambda: self._builds.positions(self._feeding.feeds))
        return all(
            at >= ends[place.shard] for place, feeds in positions.items() for at in feeds.values()
        )

    def _asked(self, question: Callable[[], AnswerT]) -> AnswerT:
        try:
            return question()
        except StorageError:
            # The end of the work closes the connections under whoever asks: he is told why it ended.
            if self._error is not None:
                raise self._error from None
            raise

    def _keep_at_work(self) -> None:
        try:
            self._guarded(self._begin)
            if self._begun:
                self._guarded(self._work_in_threads)
                self._guarded(self._leave)
            self._connections.close()
        finally:
            self._ended = True
            self._bell.ring()

    def _begin(self) -> None:
        self._builds.begin()
        for parts in self._parts.values():
            parts.begin()
        self._look()
        failures = self._make_tables(self._own)
        if failures and len(failures) == len(self._views):
            raise next(iter(failures.values()))
        self._tableless.update(failures)
        for name, failure in failures.items():
            self._stop(name, failure)
        self._begun = True

    def _make_tables(self, names: Collection[str]) -> dict[str, InvalidInput]:
        """Have projections of one's own make their tables; return what is wrong with those that cannot."""
        failures: dict[str, InvalidInput] = {}
        for view in self._builds.tableless():
            if view.name in names:
                try:
                    self._builds.make_tables(view)
                except InvalidInput as error:
                    failures[view.name] = error
        return failures

    def _make_tables_again(self, name: str) -> None:
        """Have a projection make its tables that could not, and was resumed."""
        failures = self._make_tables((name,))
        if failures:
            self._stop(name, failures[name])
        else:
            self._tableless.discard(name)

    def _work_in_threads(self) -> None:
        numbers = range(self._threads if MAINTAINED in self._parts else 0)
        work = [self._beat, *(partial(self._work, number) for number in numbers)]
        threads = [threading.Thread(target=self._guarded, args=(task,)) for task in work]
        own = [
            threading.Thread(
                target=self._guarded, args=(partial(self._work_own, name),), daemon=True
            )
            for name in self._own
        ]
        for thread in (*threads, *own):
            thread.start()
        for thread in threads:
            thread.join()
        # Whoever blocks longer than a lease is fenced, and keeps nobody from ending.
        until = time.monotonic() + LEASE_SECONDS
        for thread in own:
            thread.join(max(0.0, until - time.monotonic()))

    def _guarded(self, work: Callable[[], None]) -> None:
        """Stop the whole worker where one thread fails for a reason that is not the database's."""
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised again by `run`
            self._error = error
            self.stop()

    def _beat(self) -> None:
        beats_at = 0.0
        while not self._stopped:
            try:
                if time.monotonic() >= beats_at:
                    have_shares = [parts.beat() for parts in self._parts.values()]
                    beats_at = time.monotonic() + (BEAT_SECONDS if all(have_shares) else 0)
                self._look()
            except StorageError as error:
                _LOG.warning("the leases were not renewed: %s", error)
            self._wait(_LOOK_SECONDS)

    def _look(self) -> None:
        feeding = self._builds.feeding()
        for warning in set(feeding.told) - set(self._feeding.told):
            _LOG.warning("%s", warning)
        if feeding != self._feeding:
            self._feeding = feeding

    def _work(self, number: int) -> None:
        self._work_at(MAINTAINED, number, self._threads)

    def _work_own(self, name: str) -> None:
        """Feed one projection of one's own, in all its parts that are held."""
        self._work_at(name)

    def _work_at(self, view: str, number: int = 0, threads: int = 1) -> None:
        """Feed the maintained views, or a projection of one's own, and keep house for them."""
        parts = self._parts[view]

        def turn(thread: WorkerThread) -> bool:
            parts.give_up_surplus(number, threads)
            lease = parts.lease(number, threads)
            feeds = {feed for feed in self._feeding.feeds if self._is_of(view, feed.view.name)}
            if feeds and view in self._tableless:
                self._make_tables_again(view)
                return True
            busy = thread.turn(lease, frozenset(feeds))
            return busy | (_HOUSEKEEPER in lease.epochs and self._keep_house(view))

        self._work_by(turn)

    def _is_of(self, view: str, name: str) -> bool:
        """Whether a view is this projection of one's own, or one of the maintained views."""
        return name == view or (view == MAINTAINED and name not in self._own)

    def _work_by(self, turn: Callable[[WorkerThread], bool]) -> None:
        """Take turns until the end, and wait where there was nothing to do."""
        thread = WorkerThread(self._advance, self._builds, self.tally)
        idle = 0
        while not self._stopped:
            seen = self._wakeups.seen()
            try:
                busy = turn(thread)
            except StorageError as error:
                _LOG.warning("nothing is lost, and it is tried again: %s", error)
                thread.forget_positions()
                self._wait(_RECONNECT_SECONDS)
                continue
            idle = 0 if busy else idle + 1
            if not busy:
                self._wakeups.wait(seen, lambda: self._stopped, wait_after(idle - 1))

    def _keep_house(self, of: str) -> bool:
        """Switch what has caught up, sweep some of what is retired; whether there was any."""
        feeding, done = self._feeding, False
        for view, building, live in feeding.building:
            if self._is_of(of, view) and self._builds.switch(view, building, live):
                parked = self._builds.parked(view, building)
                _LOG.info("%s: generation %d is live, %d parked", view, building, parked)
                done = True
        for view, retired in feeding.retired:
            if self._is_of(of, view):
                done |= self._sweep(view, retired)
        if done:
            self._look()
        return done

    def _sweep(self, view: str, retired: int) -> bool:
        """Delete some rows of what is retired; whether there was anything to do.

        A projection of one's own that raises is stopped, and not asked again until it is resumed.
        """
        if view in self._own and not self._feeds_of(view):
            return False
        try:
            self._builds.sweep(view, retired)
        except InvalidInput as error:
            self._stop(view, error)
        return True

    def _feeds_of(self, view: str) -> list[Feed]:
        """Return the builds of a view that are fed, the live one first."""
        feeds = (feed for feed in self._feeding.feeds if feed.view.name == view)
        return sorted(feeds, key=lambda feed: feed.generation)

    def _stop(self, view: str, error: InvalidInput) -> None:
        """Let a projection of one's own stand still that raised while no event was written."""
        for feed in self._feeds_of(view)[:1]:
            self._builds.stop(feed, f"{error}. Mend what fails, then resume the view")
        self._look()

    def _leave(self) -> None:
        try:
            for parts in self._parts.values():
                parts.leave()
        except StorageError as error:
            _LOG.warning("the leases run out by themselves: %s", error)

    def _wait(self, seconds: float) -> None:
        self._bell.wait_for(lambda: self._stopped, seconds)


_HOUSEKEEPER: Final = Part(0, 0)
