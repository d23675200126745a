"""What a worker does next: which stretches of the log it folds, and into which builds of views.

Builds that have finished the same position of a part are *abreast*: their events are read once and
folded into all of them in one transaction. Those that are behind (a new generation, a view that was
resumed) catch up by themselves, up to where the others are, and are abreast from then on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from onrecord.projections.views.view import Feed


class Part(NamedTuple):
    """A part of a shard: conversations that one worker folds at a time."""

    shard: int
    part: int


Positions = Mapping[Part, Mapping[Feed, int]]
"""How far each build has come in each part."""


class Stretch(NamedTuple):
    """The events of a part with after < position <= until."""

    place: Part
    after: int
    until: int


@dataclass(frozen=True, slots=True)
class Batch:
    """What one transaction folds: stretches of different parts, into builds that are abreast."""

    feeds: tuple[Feed, ...]
    stretches: tuple[Stretch, ...]

    def types(self) -> frozenset[str]:
        """Return the stored names of the events that any of the builds takes; none means all."""
        if any(not feed.view.types for feed in self.feeds):
            return frozenset()
        return frozenset[str]().union(*(feed.view.types for feed in self.feeds))


LEAST_SHARE: Final = 16
"""Positions that a shard may take in a batch of many: fewer are not worth their transaction.

A room that is smaller than that, for events are huge, is one shard's.
"""


def foremost(positions: Positions, ends: Mapping[int, int], room: int) -> Batch | None:
    """Return what is new to the builds that are foremost, in all parts where these are the same.

    Where they are not, the part that is furthest behind decides, so that none waits for ever. `ends`
    are the last positions of the shards, `room` is how many positions a batch may span.
    """
    fronts = [
        _Front(part, _at(of, max(of.values())), max(of.values()), ends[part.shard])
        for part, of in positions.items()
        if of
    ]
    news = [front for front in fronts if front.at < front.end]
    return _batch(news, max(news, key=_missing, default=None), room)


def trailing(positions: Positions, room: int) -> Batch | None:
    """Return what is new to builds that are behind, up to where the next ones are.

    Who is least behind goes first: a view that was resumed does not wait for a rebuild.
    """
    fronts: list[_Front] = []
    for part, of in positions.items():
        places = sorted(set(of.values()))
        if len(places) > 1:
            fronts.append(_Front(part, _at(of, places[0]), places[0], places[1]))
    return _batch(fronts, min(fronts, key=_missing, default=None), room)


class _Front(NamedTuple):
    """Builds that are abreast at `at` in a part, and may go on to `end`."""

    place: Part
    feeds: frozenset[Feed]
    at: int
    end: int


def _batch(fronts: Sequence[_Front], chosen: _Front | None, room: int) -> Batch | None:
    """Return a batch for the builds of the chosen front, each shard with its share of the room."""
    if chosen is None:
        return None
    abreast = [front for front in fronts if front.feeds == chosen.feeds]
    if room < LEAST_SHARE:
        abreast = [front for front in abreast if front.place.shard == chosen.place.shard]
    taken = sorted(abreast, key=_place)
    share = max(room // len({front.place.shard for front in taken}), min(room, LEAST_SHARE))
    return Batch(
        tuple(sorted(chosen.feeds, key=lambda feed: (feed.view.name, feed.generation))),
        tuple(Stretch(at.place, at.at, min(at.end, at.at + share)) for at in taken),
    )


def _missing(front: _Front) -> int:
    return front.end - front.at


def _place(front: _Front) -> Part:
    return front.place


def _at(of: Mapping[Feed, int], position: int) -> frozenset[Feed]:
    return frozenset(feed for feed, at in of.items() if at == position)
