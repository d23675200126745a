"""Catching a view up on SQLite: what is done next, until nothing is left or it has taken enough.

Whoever calls has the turn of the views' file.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NamedTuple, NoReturn

from onrecord.adapters.storage.sqlite.connection import Session
from onrecord.adapters.views.sqlite.feeding import (
    CheckpointMoved,
    Feeding,
    Stopped,
    StrictViewStopped,
)
from onrecord.adapters.views.sqlite.file import ViewsFile, erase
from onrecord.adapters.views.sqlite.tables import handed_over
from onrecord.domain.log import RecordedEvent
from onrecord.projections.views.own_views import (
    OwnRows,
    OwnSink,
    OwnTables,
    is_own,
    method_errors,
)
from onrecord.projections.views.step import Failure, stands_still, why_it_stands_still
from onrecord.projections.views.view import Feed, View, is_newer

# The builds of a view in the views' file: which is read, which is being made, which is swept.

SWEPT_AT_ONCE: Final = 500
"""How many rows of a retired generation one transaction deletes: in the view `search`, where that is
slowest, some 65 ms."""


_NO_GENERATION: Final = 0
"""What is told where tables are made: no rows are written."""


class Generation(NamedTuple):
    """A build of a view's rows; `position` is its checkpoint."""

    number: int
    revision: int
    status: str
    position: int


@dataclass(frozen=True, slots=True)
class State:
    """How a view stands: whether it is to be fed, and its generations."""

    paused: bool = False
    stopped: str | None = None
    resumed_at: int = 0
    generations: tuple[Generation, ...] = ()

    def standstill(self, view: View) -> str | None:
        """Return why the generation that is read is fed no more, if it is not for a while only."""
        if (
            self.stopped is None
            and self.live is not None
            and is_newer(self.live.revision, view.revision)
        ):
            if is_own(view):
                return (
                    f"its rows were made by revision {self.live.revision}, and the projection here has revision "
                    f"{view.revision}: use the newer program, or rebuild it"
                )
            return "a newer Onrecord made it: upgrade this one, or rebuild the view"
        return self.stopped

    @property
    def live(self) -> Generation | None:
        """Return the generation that is read."""
        return self._of("live")

    @property
    def building(self) -> Generation | None:
        """Return the generation that is made beside the live one."""
        return self._of("building")

    @property
    def retired(self) -> Generation | None:
        """Return a generation that is to be swept."""
        return self._of("retired")

    def fed(self, view: View) -> list[Generation]:
        """Return the generations that the present fold makes, the one that is read first."""
        return [made for made in self.kept() if made.revision == view.revision]

    def kept(self) -> list[Generation]:
        """Return the generations that are not retired, the one that is read first."""
        return [made for made in (self.live, self.building) if made is not None]

    def of(self, number: int) -> Generation | None:
        """Return a generation by its number."""
        generations = (made for made in self.generations if made.number == number)
        return next(generations, None)

    def stands_still(self) -> bool:
        """Whether it was paused or has stopped by itself."""
        return self.paused or self.stopped is not None

    def _of(self, status: str) -> Generation | None:
        generations = (made for made in self.generations if made.status == status)
        return next(generations, None)


def state_of(session: Session, view: str) -> State:
    """Return how a view stands."""
    paused, stopped, resumed_at = session.one("select_view", view) or (0, None, 0)
    made = session.all("select_generations", view)
    return State(bool(paused), stopped, resumed_at, tuple(map(Generation._make, made)))


def state_read(file: ViewsFile, view: str) -> State:
    """Return how a view stands, asked by itself."""
    with file.borrowed() as session:
        return state_of(session, view)


def is_begun(state: State, view: View) -> bool:
    """Whether there are rows of the present fold, or of a newer one: that is left to its release."""
    is_there = state.live is not None
    return is_there and any(
        made.revision == view.revision or is_newer(made.revision, view.revision)
        for made in state.kept()
    )


def begin(session: Session, view: View, now: int) -> None:
    """Begin what is to be fed: the first generation, or the next where the fold is another now."""
    session.run("insert_view", view.name)
    state = state_of(session, view.name)
    if state.live is None:
        _begin_generation(session, view, "live", now)
    elif not is_begun(state, view):
        begin_building(session, view, now)


def begin_building(session: Session, view: View, now: int) -> None:
    """Begin a generation beside the live one, in place of one that was not finished."""
    abandon(session, view.name)
    _begin_generation(session, view, "building", now)


def _begin_generation(session: Session, view: View, status: str, now: int) -> None:
    if isinstance(view, OwnTables):
        with (
            method_errors(view, "create_tables"),
            handed_over(session, _NO_GENERATION) as transaction,
        ):
            view.begin(transaction)
    session.run("begin_generation", view.name, view.revision, status, now)


def abandon(session: Session, view: str) -> bool:
    """Retire the generation that is being made; return whether there was one."""
    building = state_of(session, view).building
    if building is not None:
        session.run("retire_generation", view, building.number)
    return building is not None


def give_up_building(file: ViewsFile, view: View) -> None:
    """Let a rebuild that stopped cost the generation that is read nothing, if that can be fed."""
    with file.transaction() as session:
        live = state_of(session, view.name).live
        if live is not None and live.revision == view.revision:
            abandon(session, view.name)
            session.run("unstop_view", view.name)


MOST_EVENTS: Final = 20_000
"""How many events a reader folds before it answers with what is there."""

MOST_SECONDS: Final = 0.5
"""How long it does so: more is felt by who waits for a page."""


def catch_up(feeding: Feeding, view: View) -> None:
    """Fold what is new, a bounded step of it."""
    erase(feeding.log, feeding.file)
    until, left = feeding.clock() + MOST_SECONDS, MOST_EVENTS
    while left > 0 and feeding.clock() < until and (done := _work(feeding, view)):
        left -= done


def build(feeding: Feeding, view: View, number: int) -> State:
    """Do the next step of a rebuild, whether or not the view stands still; return how it stands.

    When the generation has caught up with the log it is switched, and what stopped the view before
    stops it no more. Stopped says why it cannot be.
    """
    erase(feeding.log, feeding.file)
    state = _state(feeding, view)
    building = state.of(number)
    if building is None or building.status != "building":
        return state
    with suppress(CheckpointMoved):
        if not _fed(feeding, view, building, state.resumed_at):
            _switch(feeding, view, building)
    return _state(feeding, view)


def sweep_retired(feeding: Feeding, view: View) -> bool:
    """Delete some rows of a retired generation, and it once none are left; whether there was one."""
    with feeding.file.transaction() as session:
        retired = state_of(session, view.name).retired
        if retired is None:
            return False
        if _are_swept(session, view, retired.number):
            session.run("drop_parked_of", view.name, retired.number)
            session.run("drop_generation", view.name, retired.number)
    return True


def _are_swept(session: Session, view: View, number: int) -> bool:
    """Delete some rows of a generation; whether none were left. One's own tables are emptied at once."""
    match view:
        case OwnTables():
            with (
                method_errors(view, "delete_generation"),
                handed_over(session, number) as transaction,
            ):
                view.sweep(transaction)
            return True
        case OwnSink():
            return True
        case OwnRows():
            session.run("own_sweep", number, SWEPT_AT_ONCE, view.name)
        case _:
            session.run(f"{view.name}_sweep", number, SWEPT_AT_ONCE)
    return not session.changed()


def _work(feeding: Feeding, view: View) -> int:
    """Do what is next, and return how many events' worth it was; 0 if nothing is left to do."""
    state = _state(feeding, view)
    if state.stands_still():
        return 0
    try:
        for generation in state.fed(view):
            if done := _fed(feeding, view, generation, state.resumed_at):
                return done
    except CheckpointMoved:
        erase(feeding.log, feeding.file)
        return 1
    except Stopped:
        return 0
    if state.building is not None and state.building.revision == view.revision:
        _switch(feeding, view, state.building)
        return 1
    return SWEPT_AT_ONCE if state.retired is not None and sweep_retired(feeding, view) else 0


def _state(feeding: Feeding, view: View) -> State:
    state = state_read(feeding.file, view.name)
    if is_begun(state, view):
        return state
    with feeding.file.transaction() as session:
        begin(session, view, feeding.now)
        return state_of(session, view.name)


def _fed(feeding: Feeding, view: View, generation: Generation, since: int) -> int:
    """Fold a parked event that is due, else the next page of the log; return how much that was."""
    feed = Feed(view, generation.number)
    failures = feeding.retry(feed, generation.position)
    if failures is not None:
        feeding.stop_if_many(feed, failures, since)
        return 1
    return _advanced(feeding, feed, generation.position, since)


def _advanced(feeding: Feeding, feed: Feed, position: int, since: int) -> int:
    events, failed = feeding.page(position), 0
    while events:
        try:
            failures = feeding.fold(feed, events, position)
        except StrictViewStopped as still:
            failed += 1
            if stands_still(feed.view, failed):
                _stand_still(feeding, feed, events, position, still.failure)
        else:
            feeding.stop_if_many(feed, failures, since)
            return events[-1].position - position
    return 0


def _stand_still(
    feeding: Feeding,
    feed: Feed,
    events: Sequence[RecordedEvent],
    position: int,
    failure: Failure,
) -> NoReturn:
    """Fold what comes before an event that cannot be folded, and stop there."""
    before = [event for event in events if event.position < failure.event.position]
    if before:
        with suppress(StrictViewStopped):
            feeding.fold(feed, before, position)
    feeding.stop(feed.view, why_it_stands_still(failure))


def _switch(feeding: Feeding, view: View, building: Generation) -> None:
    """Let the generation that was made be the one that is read."""
    with feeding.file.transaction() as session:
        live = state_of(session, view.name).live
        if live is not None:
            session.run("retire_generation", view.name, live.number)
        session.run("make_live", view.name, building.number, feeding.now)
        session.run("unstop_view", view.name)
