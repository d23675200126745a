"""How a figure comes about: sides take turns, round by round, so that noise hits them alike.

A claim of speed is a ratio of two medians of one run. A round runs every contender for a handful
of timed operations, the next round in the opposite order; each operation gets a payload of its
own, made before its clock starts.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from time import perf_counter, process_time
from typing import Any, Literal

Work = Callable[[], Any]
"""One operation, ready to be timed; a coroutine function where the contender is asynchronous."""

Rounds = list[list[float]]
"""Seconds of each timed operation, by round."""


def stopwatch(work: Work) -> float:
    """Return how many seconds a synchronous operation took."""
    began = perf_counter()
    work()
    return perf_counter() - began


def computing(work: Work) -> float:
    """Return how many seconds of the processor an operation took, of whatever thread of ours."""
    began = process_time()
    work()
    return process_time() - began


@dataclass(frozen=True, slots=True)
class Contender:
    """One side: what it does, what it promises once done, and how to make one operation ready.

    `prepare` is given the number of the round; what it does is not timed.
    """

    what: str
    guarantees: str
    prepare: Callable[[int], Work]
    clock: Callable[[Work], float] = stopwatch


@dataclass(frozen=True, slots=True)
class Pace:
    """How many rounds, and how many timed operations of each contender in a round."""

    rounds: int
    each: int


@dataclass(frozen=True, slots=True)
class Figures:
    """What one side showed."""

    what: str
    guarantees: str
    rounds: Rounds


def take_turns(contenders: Sequence[Contender], pace: Pace) -> list[Figures]:
    """Return what each contender showed; the first operation of its every round is not counted."""
    shown: list[Rounds] = [[] for _ in contenders]
    gc.collect()
    gc.freeze()
    for number in range(pace.rounds):
        order = list(zip(contenders, shown, strict=True))
        for contender, rounds in order if number % 2 == 0 else reversed(order):
            contender.clock(contender.prepare(number))
            rounds.append([contender.clock(contender.prepare(number)) for _ in range(pace.each)])
    gc.unfreeze()
    return [
        Figures(contender.what, contender.guarantees, rounds)
        for contender, rounds in zip(contenders, shown, strict=True)
    ]


def over(figures: Figures, floor: Figures, what: str) -> Figures:
    """Return what one side costs over another, round by round."""
    rounds = zip(figures.rounds, floor.rounds, strict=True)
    costs = [[median(high) - median(low)] for high, low in rounds]
    return Figures(what, figures.guarantees, costs)


@dataclass(frozen=True, slots=True)
class Aim:
    """What the ratio of ours to the peer's is held to."""

    bound: float
    side: Literal["at most", "at least", "below"] = "at most"

    def met(self, ratio: float) -> bool:
        """Say whether a ratio is within the aim."""
        match self.side:
            case "at most":
                return ratio <= self.bound
            case "at least":
                return ratio >= self.bound
            case "below":
                return ratio < self.bound

    def __str__(self) -> str:
        """Say it in words."""
        return f"{self.side} {self.bound:g}"


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure of ours beside a peer's, in one unit; `peer` is None where nothing compares.

    `aim` bounds the ratio, or, without a peer, the figure itself.
    """

    name: str
    unit: str
    ours: Figures
    peer: Figures | None = None
    aim: Aim | None = None
    note: str | None = None

    @property
    def ratio(self) -> float | None:
        """The median of ours over the median of the peer's."""
        if self.peer is None:
            return None
        return median(_flat(self.ours)) / median(_flat(self.peer))

    @property
    def met(self) -> bool | None:
        """Whether the aim was met; None where there is none."""
        if self.aim is None:
            return None
        ratio = self.ratio
        return self.aim.met(_figures(self.ours, self.unit)["median"] if ratio is None else ratio)

    def line(self) -> dict[str, Any]:
        """Return the measure as one JSON object: medians, and quartiles as the spread."""
        ratio = self.ratio
        return {
            "name": self.name,
            "unit": self.unit,
            "ours": _figures(self.ours, self.unit),
            "peer": None if self.peer is None else _figures(self.peer, self.unit),
            "ratio": None if ratio is None else _rounded(ratio),
            "ratio_spread": self._ratio_spread(),
            "aim": None if self.aim is None else str(self.aim),
            "met": self.met,
            "note": self.note,
        }

    def _ratio_spread(self) -> list[float] | None:
        """Return the quartiles of the ratio, round against round."""
        if self.peer is None:
            return None
        pairs = zip(self.ours.rounds, self.peer.rounds, strict=True)
        return _quartiles([median(ours) / median(peer) for ours, peer in pairs])


_SCALE = {"ms": 1e3, "us": 1e6}


def _figures(figures: Figures, unit: str) -> dict[str, Any]:
    values = [value * _SCALE.get(unit, 1) for value in _flat(figures)]
    return {
        "median": _rounded(median(values)),
        "spread": _quartiles(values),
        "n": len(values),
        "what": figures.what,
        "guarantees": figures.guarantees,
    }


def _flat(figures: Figures) -> list[float]:
    return [value for values in figures.rounds for value in values]


def _quartiles(values: list[float]) -> list[float]:
    if len(values) == 1:
        return [_rounded(values[0])] * 2
    low, _, high = quantiles(values, n=4, method="inclusive")
    return [_rounded(low), _rounded(high)]


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
