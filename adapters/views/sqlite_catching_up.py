"""Catching a view up on SQLite: what is done next, until nothing is left or it has taken enough.

Whoever calls has the turn of the views' file.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final, NoReturn

from onrecord.adapters.views.sqlite_erasing import erase
from onrecord.adapters.views.sqlite_feeding import (
    Feeding,
    Overtaken,
    StandsStill,
    Stopped,
)
from onrecord.adapters.views.sqlite_generations import (
    SWEPT_AT_ONCE,
    Generation,
    State,
    begin,
    is_begun,
    state_of,
    state_read,
    sweep,
    switch,
)
from onrecord.domain.log import RecordedEvent
from onrecord.projections.views.step import Failure, stands_still, why_it_stands_still
from onrecord.projections.views.view import Feed, View

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
    with suppress(Overtaken):
        if not _fed(feeding, view, building, state.resumed_at):
            _switch(feeding, view, building)
    return _state(feeding, view)


def sweep_retired(feeding: Feeding, view: View) -> bool:
    """Delete some of what no generation needs any more; return whether there was some."""
    with feeding.file.transaction() as session:
        retired = state_of(session, view.name).retired
        if retired is not None:
            sweep(session, view.name, retired)
    return retired is not None


def _work(feeding: Feeding, view: View) -> int:
    """Do what is next, and return how many events' worth it was; 0 if nothing is left to do."""
    state = _state(feeding, view)
    if state.stands_still():
        return 0
    try:
        for generation in state.fed(view):
            if done := _fed(feeding, view, generation, state.resumed_at):
                return done
    except Overtaken:
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
        except StandsStill as still:
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
        with suppress(StandsStill):
            feeding.fold(feed, before, position)
    feeding.stop(feed.view, why_it_stands_still(failure))


def _switch(feeding: Feeding, view: View, building: Generation) -> None:
    with feeding.file.transaction() as session:
        switch(session, view.name, building, feeding.now)
