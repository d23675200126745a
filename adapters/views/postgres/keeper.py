"""What a person does to the views of a database: look, pause, resume, retry, rebuild."""

from __future__ import annotations

import time
from collections.abc import Mapping
from random import Random
from typing import Final
from uuid import UUID

from onrecord.adapters.inputs.arguments import id_given
from onrecord.adapters.storage.postgres.connections import Connections
from onrecord.adapters.views.ports import (
    Naming,
    Parked,
    Progress,
    Reading,
    ViewStatus,
    Workforce,
    view_of,
)
from onrecord.adapters.views.postgres.advance import LeaseLost, PostgresAdvance, StrictViewStopped
from onrecord.adapters.views.postgres.builds import LEASE, PostgresBuilds
from onrecord.adapters.views.postgres.tables import TransactionEnded
from onrecord.domain.errors import InvalidInput, ViewStopped
from onrecord.projections.views.own_views import OwnTables
from onrecord.projections.views.planning import Batch, Build, Part, Room, foremost
from onrecord.projections.views.registry import VIEWS
from onrecord.projections.views.step import why_it_stands_still
from onrecord.projections.views.view import Feed, View

_PAUSE: Final = 0.02
"""Seconds until a rebuild looks again where workers do what is left."""


class PostgresKeeper:
    """Keeps the views of a database; what it changes, workers see within a second."""

    def __init__(
        self,
        connections: Connections,
        views: Mapping[str, View] = VIEWS,
        *,
        naming: Naming = list,
        reading: Reading = list,
    ) -> None:
        """Use the connections of a log; `naming` gives parked events their keys, `reading` decrypts events."""
        self._with_keys, self._reading = naming, reading
        self._connections, self._views = connections, views
        self._builds = PostgresBuilds(connections, views)

    def status(self) -> list[ViewStatus]:
        """Return how each view stands, by name."""
        events = sum(self._builds.ends().values())
        begun = {
            view: ViewStatus(view, number, revision, position, events, parked, *rest)
            for view, number, revision, position, parked, *rest in self._connections.ask(
                "standings"
            )
        }
        nothing = {name: ViewStatus(name, None, None, 0, events, 0) for name in self._views}
        return [status for _, status in sorted((nothing | begun).items())]

    def at_work(self) -> Workforce:
        """Return who works at the views now, by the server's clock."""
        [(workers, held, parts)] = self._connections.ask("workers_at_work", (LEASE,))
        own = dict(self._connections.ask("own_workers_at_work", (LEASE,)))
        return Workforce(workers, held, parts, own)

    def parked(self, view: str | None = None) -> list[Parked]:
        """Return the parked events of a view, or of all, by view and position."""
        if view is not None:
            self._must_be_there(view)
        rows = self._connections.ask("parked_events", (view,))
        return self._with_keys([Parked(*row) for row in rows])

    def pause(self, view: str) -> None:
        """Let a view stand still until it is resumed; it can still be read."""
        self._begin(view)
        self._connections.ask("view_paused", (view,))

    def resume(self, view: str) -> None:
        """Let a view that was paused, or that stopped by itself, go on from where it stands."""
        self._begin(view)
        self._connections.ask("view_resumed", (view,))

    def retry(self, view: str, conversation: UUID | None = None) -> int:
        """Have the parked events of a view, or of one conversation, tried again without delay.

        Returns how many are; workers try them.
        """
        self._must_be_there(view)
        which = None if conversation is None else id_given("a conversation", conversation)
        return int(self._connections.ask("parked_retried", (view, which))[0][0])

    def rebuild(self, view: str, progress: Progress | None = None) -> None:
        """Make a view anew beside the one that is read, and return when they are switched.

        Workers that run help, and none is needed. One that was begun before and not finished is
        gone on with. Raises ViewStopped where a strict view cannot fold an event, or too many fail.
        """
        feed = self._building(view)
        advance, random = PostgresAdvance(self._connections, self._reading), Random()
        room = Room()
        while self._is_building(feed):
            ends, positions = self._builds.ends(), self._builds.positions(frozenset((feed,)))
            if progress is not None:
                progress(_done(positions), sum(ends.values()))
            batch = _somewhere(positions, ends, room, random)
            if batch is None:
                self._switch(feed)
            elif not self._folded(advance, batch, room):
                time.sleep(_PAUSE)
        live = self._build(view, "live")
        if live is None or live.number != feed.generation:
            raise ViewStopped(f"the rebuild of {view} was abandoned: begin another")
        self._sweep(view)

    def abandon(self, view: str) -> bool:
        """Drop what an unfinished rebuild has made; return whether there was one."""
        self._must_be_there(view)
        building = self._build(view, "building")
        if building is None or not self._builds.abandon(view, building.number):
            return False
        self._sweep(view)
        return True

    def _named(self, view: str) -> View:
        return view_of(view, self._views)

    def _must_be_there(self, view: str) -> None:
        """Refuse a name that neither this process nor the database knows."""
        if not any(build.view == view for build in self._builds.all()):
            self._named(view)

    def _begin(self, view: str) -> None:
        """Begin the first build of a view where no worker has; only workers know some of one's own."""
        self._must_be_there(view)
        if view in self._views:
            PostgresBuilds(self._connections, {view: self._views[view]}).begin()

    def _build(self, view: str, status: str) -> Build | None:
        builds = (build for build in self._builds.all() if build.view == view)
        return next((build for build in builds if build.status == status), None)

    def _building(self, name: str) -> Feed:
        """Return the build that is made, begun now if there is none that can be gone on with."""
        view = self._named(name)
        builds = PostgresBuilds(self._connections, {name: view})
        builds.begin()
        if isinstance(view, OwnTables):
            builds.make_tables(view)
        live, building = self._build(name, "live"), self._build(name, "building")
        if live is not None and live.paused:
            raise InvalidInput(f"{name} is paused: resume it, then rebuild it")
        if building is not None and _is_spoilt(building, view):
            self._builds.abandon(name, building.number)
        self._connections.ask("build_resumed", (name,))
        return Feed(view, self._builds.begin_building(view))

    def _is_building(self, feed: Feed) -> bool:
        building = self._build(feed.view.name, "building")
        return building is not None and building.number == feed.generation

    def _switch(self, feed: Feed) -> None:
        live = self._build(feed.view.name, "live")
        if live is None or not self._builds.switch(feed.view.name, feed.generation, live.number):
            time.sleep(_PAUSE)

    def _folded(self, advance: PostgresAdvance, batch: Batch, room: Room) -> bool:
        """Fold a batch without a lease; whether no worker was at it."""
        began = time.monotonic()
        try:
            came_to = advance.advance(batch, None)
        except LeaseLost:
            return False
        except StrictViewStopped as error:
            why = why_it_stands_still(error.failure)
            raise ViewStopped(f"{error.feed.view.name} was not rebuilt: {why}") from error
        except TransactionEnded as error:
            for feed in batch.feeds:
                self._builds.abandon(feed.view.name, feed.generation)
            raise ViewStopped(f"{batch.feeds[0].view.name} was not rebuilt: {error}") from error
        if came_to.stopped:
            view = batch.feeds[0].view.name
            raise ViewStopped(
                f"{view} was not rebuilt: too many of its events fail alike. Look at them with "
                f"`onrecord parked {view}`, mend what fails, then rebuild it again"
            )
        spans = {(at.after, at.until) for at in batch.segments}
        positions = sum(until - after for after, until in spans)
        room.took(positions, came_to.size, time.monotonic() - began)
        return True

    def _sweep(self, view: str) -> None:
        for build in self._builds.all():
            if build.view == view and build.status == "retired":
                while not self._builds.sweep(view, build.number):
                    pass


def _is_spoilt(building: Build, view: View) -> bool:
    """Whether a build is begun anew: another fold made it, or too much of it is parked."""
    return building.revision != view.revision or building.stopped is not None


def _somewhere(
    positions: Mapping[Part, Mapping[Feed, int]],
    ends: Mapping[int, int],
    room: Room,
    random: Random,
) -> Batch | None:
    """Return a batch of one shard that is not at its end, any of them: workers are at others."""
    behind = {
        place.shard
        for place, feeds in positions.items()
        if any(at < ends[place.shard] for at in feeds.values())
    }
    if not behind:
        return None
    shard = random.choice(sorted(behind))
    lowest = min(
        at for place, feeds in positions.items() if place.shard == shard for at in feeds.values()
    )
    chosen = {
        place: feeds
        for place, feeds in positions.items()
        if place.shard == shard and lowest in feeds.values()
    }
    return foremost(chosen, ends, room.positions)


def _done(positions: Mapping[Part, Mapping[Feed, int]]) -> int:
    """Return how many events a build has folded, all parts of a shard counting alike."""
    shards = {place.shard for place in positions}
    folded = sum(at for feeds in positions.values() for at in feeds.values())
    return folded * len(shards) // max(len(positions), 1)
