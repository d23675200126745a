"""What a worker does next: which segments of the log it folds, and into which builds of views.

Builds that have finished the same position of a part are *abreast*: their events are read once and
folded into all of them in one transaction. Those that are behind (a new generation, a view that was
resumed) catch up by themselves, up to where the others are, and are abreast from then on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from onrecord.domain.log import RecordedEvent
from onrecord.projections.views.view import Feed, View


class Part(NamedTuple):
    """A part of a shard: conversations that one worker folds at a time."""

    shard: int
    part: int


Positions = Mapping[Part, Mapping[Feed, int]]
"""How far each build has come in each part."""


class Segment(NamedTuple):
    """The events of a part with after < position <= until."""

    place: Part
    after: int
    until: int


@dataclass(frozen=True, slots=True)
class Batch:
    """What one transaction folds: segments of different parts, into builds that are abreast."""

    feeds: tuple[Feed, ...]
    segments: tuple[Segment, ...]

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
    behind = [front for front in fronts if front.at < front.end]
    return _batch(behind, max(behind, key=_missing, default=None), room)


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
    taken = sorted(abreast, key=lambda front: front.place)
    share = max(room // len({front.place.shard for front in taken}), min(room, LEAST_SHARE))
    return Batch(
        tuple(sorted(chosen.feeds, key=lambda feed: (feed.view.name, feed.generation))),
        tuple(Segment(at.place, at.at, min(at.end, at.at + share)) for at in taken),
    )


def _missing(front: _Front) -> int:
    return front.end - front.at


def _at(of: Mapping[Feed, int], position: int) -> frozenset[Feed]:
    return frozenset(feed for feed, at in of.items() if at == position)


# The builds of views that a worker feeds, and those that it leaves alone, with the reason.

Status = Literal["building", "live", "retired"]


@dataclass(frozen=True, slots=True)
class Build:
    """A generation of a view as the database has it; `stopped` says why it stands still."""

    view: str
    number: int
    revision: int
    status: Status
    paused: bool = False
    stopped: str | None = None


@dataclass(frozen=True, slots=True)
class Feeding:
    """What is fed, what is ready to be compared and switched, what is swept, and what is told."""

    feeds: frozenset[Feed] = frozenset()
    building: tuple[tuple[str, int, int], ...] = ()
    retired: tuple[tuple[str, int], ...] = ()
    told: tuple[str, ...] = ()


def feeding(builds: Iterable[Build], views: Mapping[str, View]) -> Feeding:
    """Return what a worker that knows these views does with the builds that there are.

    `building` has for each view the number that is built and the live one.
    """
    known = [build for build in builds if build.view in views]
    live = {build.view: build.number for build in known if build.status == "live"}
    current = [build for build in known if build.status != "retired"]
    return Feeding(
        frozenset(Feed(views[at.view], at.number) for at in current if _is_fed(at, views[at.view])),
        tuple(
            (build.view, build.number, live[build.view])
            for build in current
            if build.status == "building" and _is_fed(build, views[build.view])
        ),
        tuple((build.view, build.number) for build in known if build.status == "retired"),
        tuple(why for build in current if (why := _why_not(build, views[build.view]))),
    )


def _is_fed(build: Build, view: View) -> bool:
    return _why_not(build, view) is None


def _why_not(build: Build, view: View) -> str | None:
    if build.stopped is not None:
        which = "the rebuild of " if build.status == "building" else ""
        return f"{which}{build.view} is stopped: {build.stopped}"
    if build.paused:
        return f"{build.view} is paused"
    if build.revision == -view.revision:
        return other_texts(build)
    if build.revision != view.revision:
        return (
            f"the {build.status} rows of {build.view} were made by revision {build.revision} of it "
            f"and this release has revision {view.revision}: run `onrecord rebuild {build.view}`"
        )
    return None


def other_texts(build: Build) -> str:
    """Return what is told of rows that hold what was said where they may not, or the other way round."""
    what = f"the {build.status} rows of {build.view}"
    how = (
        "hold what was said, and may not"
        if build.revision > 0
        else "lack what was said, and may have it"
    )
    return f"{what} {how}: run `onrecord rebuild {build.view}`"


# How workers share the parts of a log: each its fair share, and what is above it is given up.


def fair_share(parts: int, workers: int) -> int:
    """Return how many parts a worker holds at most, so that every worker has some."""
    return -(-parts // max(workers, 1))


def surplus(parts: Collection[Part], share: int) -> list[Part]:
    """Return the parts that a worker gives up: of each shard it keeps those of low number.

    So the parts of a shard are spread over the workers, and a busy shard keeps all of them busy.
    """
    by_number = sorted(parts, key=lambda place: (place.part, place.shard))
    return by_number[share:]


def thread_of(place: Part, threads: int) -> int:
    """Return which thread of a worker folds a part, for parts of a shard go to different ones."""
    return (place.shard + place.part) % threads


# How long a worker waits for news, and how much it takes at once.

SHORTEST_WAIT: Final = 0.002
"""Seconds until the log is looked at again right after there was something new."""

LONGEST_WAIT: Final = 0.2
"""Seconds between two looks at a log in which nothing happens; a hint ends the wait."""

_BYTES: Final = 8 * 2**20
_SECONDS: Final = 0.5
_FEWEST, _MOST = 64, 4096


def wait_after(idle: int) -> float:
    """Return how many seconds to wait after so many looks in a row that found nothing."""
    return min(SHORTEST_WAIT * 2.0 ** min(idle, 16), LONGEST_WAIT)


def size_of(events: Iterable[RecordedEvent]) -> int:
    """Return how many bytes of headers and bodies events have."""
    return sum(len(event.header) + len(event.body or b"") for event in events)


class Room:
    """How many positions the next batch may span, so that it fits in memory and is soon done.

    It goes by the last ones: 8 MiB of headers and bodies, and half a second, are aimed at, for an
    erasure waits for a batch, and so does what is new.
    """

    def __init__(self, positions: int = 512) -> None:
        """Begin carefully, for nothing is known yet."""
        self.positions = positions

    def took(self, positions: int, size: int, seconds: float) -> None:
        """Learn from a batch that spanned so many positions, held so many bytes and took so long."""
        in_bytes = positions * _BYTES / max(size, 1)
        # What takes long whatever it holds is not sooner done in small pieces.
        in_time = max(positions * _SECONDS / max(seconds, 1e-6), _FEWEST)
        # It may shrink at once, and grows step by step, for one small batch proves little.
        self.positions = int(max(1, min(in_bytes, in_time, self.positions * 2, _MOST)))

    def failed(self) -> None:
        """Take less next time: a batch that takes too long is given up by the server, again and again."""
        self.positions = max(self.positions // 4, 1)
