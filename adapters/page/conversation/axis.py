"""The axis on which the bars of an exchange lie: time, without that in which all waited for a person; pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple


class Span(NamedTuple):
    """A time from its begin to its end, in microseconds."""

    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Axis:
    """The time from an origin on, without the spans that are cut out, which come in order."""

    origin: int
    cuts: tuple[Span, ...]

    def offset(self, at: int) -> int:
        """Return how far from the origin a time lies; one in a cut lies where the cut is."""
        cut = sum(min(at, span.end) - span.begin for span in self.cuts if span.begin < at)
        return at - self.origin - cut


def axis_of(origin: int, waits: Iterable[Span], work: Iterable[Span]) -> Axis:
    """Return the axis from an origin on without the time in which something waited and nothing worked."""
    return Axis(origin, tuple(_difference(_united(waits), list(_united(work)))))


def _united(spans: Iterable[Span]) -> Iterator[Span]:
    """Yield in order the spans in which there is any; those that touch are one."""
    united: Span | None = None
    for span in sorted(each for each in spans if each.begin < each.end):
        if united is None:
            united = span
        elif span.begin <= united.end:
            united = Span(united.begin, max(united.end, span.end))
        else:
            yield united
            united = span
    if united is not None:
        yield united


def _difference(spans: Iterable[Span], others: list[Span]) -> Iterator[Span]:
    """Yield the parts of spans in which there is no other one; both are in order and do not overlap."""
    for begin, end in spans:
        for other in others:
            if begin < other.begin < end:
                yield Span(begin, other.begin)
            if other.begin < end:
                begin = max(begin, other.end)
        if begin < end:
            yield Span(begin, end)
