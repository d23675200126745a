"""The plot of usage: a bar a day, of segments that lie on each other; pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Final, Literal, TypeAlias

from onrecord.adapters.page.words import dollars
from onrecord.projections.views.usage import ModelUsage

Measure: TypeAlias = Literal["tokens", "models", "cost"]
"""What the bars show: tokens by kind, tokens by model, or dollars by model."""

MOST_DAYS: Final = 31
"""The most days of a plot."""

HEIGHT: Final = 220
"""The height of the plot, in units of its SVG; widths are in percent, so that it is as wide as the page."""

_KINDS: Final = ("read", "read from a cache", "written")
_MOST_MODELS: Final = 6
_OTHERS: Final = "others"
_NAMELESS: Final = "no model named"
_LINES: Final = 4
_TOP: Final = 16
_MARGIN: Final = 9.0
"""Room for the names of the lines on the left, in percent of the width."""

_WIDEST: Final = 8.0
_FILLED: Final = 0.8
_ALL_LABELLED: Final = 4
_DAY: Final = timedelta(days=1)

Amounts: TypeAlias = Mapping[str, Decimal]
"""How much of each series a day has."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a bar: its series by number, its place, and what it says."""

    series: int
    y: float
    height: float
    title: str


@dataclass(frozen=True, slots=True)
class Bar:
    """A day: where its bar is, in percent of the width, and its segments."""

    day: date
    x: float
    width: float
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class DayLabel:
    """The name of a day below the plot: where it is, in percent of the width, and which part of it is there."""

    day: date
    x: float
    anchor: Literal["start", "middle", "end"]


@dataclass(frozen=True, slots=True)
class GridLine:
    """A line across the plot, and the amount that it stands for."""

    y: float
    label: str


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot of bars; `series` are the names of what is stacked, the lowest first."""

    bars: tuple[Bar, ...]
    labels: tuple[DayLabel, ...]
    lines: tuple[GridLine, ...]
    series: tuple[str, ...]


def usage_plot(
    entries: Sequence[ModelUsage],
    measure: Measure,
    cost: Callable[[ModelUsage], Decimal | None],
) -> Plot:
    """Return the plot of what models used on days; `cost` says what tokens cost, where that is known."""
    amounts = _amounts(entries, measure, cost)
    series = _series(amounts.values(), measure)
    days = _days(amounts)
    top = _top(max((sum(each.values(), Decimal()) for each in amounts.values()), default=Decimal()))
    scale = float((HEIGHT - _TOP) / top)
    slot = (100 - _MARGIN) / max(1, len(days))
    width = min(_WIDEST, slot * _FILLED)
    bars = tuple(
        Bar(
            day,
            x=round(_MARGIN + number * slot + (slot - width) / 2, 3),
            width=round(width, 3),
            segments=_segments(day, _grouped(amounts.get(day, {}), series), scale, measure),
        )
        for number, day in enumerate(days)
    )
    steps = (top * number / _LINES for number in range(1, _LINES + 1))
    lines = tuple(
        GridLine(round(HEIGHT - float(step) * scale, 1), amount_text(step, measure))
        for step in steps
    )
    return Plot(bars, _labels(bars), lines, series)


def amount_text(amount: Decimal, measure: Measure) -> str:
    """Return an amount as a line of the plot says it: `25k` tokens, or `$0.50`."""
    if measure == "cost":
        return f"${amount:,.2f}" if amount >= 1 else f"${amount.normalize():f}"
    for unit, name in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if amount >= unit:
            return f"{(amount / unit).normalize():f}{name}"
    return f"{amount.normalize():f}"


def _amounts(
    entries: Iterable[ModelUsage], measure: Measure, cost: Callable[[ModelUsage], Decimal | None]
) -> dict[date, Amounts]:
    parts: defaultdict[date, list[tuple[str, Decimal]]] = defaultdict(list)
    for entry in entries:
        if entry.day is not None:
            parts[entry.day] += _parts(entry, measure, cost)
    return {day: _added(each) for day, each in parts.items()}


def _added(parts: Iterable[tuple[str, Decimal]]) -> Amounts:
    """Return the sum of each name."""
    sums: defaultdict[str, Decimal] = defaultdict(Decimal)
    for name, amount in parts:
        sums[name] += amount
    return sums


def _parts(
    entry: ModelUsage, measure: Measure, cost: Callable[[ModelUsage], Decimal | None]
) -> Iterable[tuple[str, Decimal]]:
    model = entry.model or _NAMELESS
    if measure == "cost":
        return ((model, cost(entry) or Decimal()),)
    if measure == "models":
        return ((model, Decimal(entry.input_tokens + entry.output_tokens)),)
    fresh = max(0, entry.input_tokens - entry.cached_tokens)
    counts = (fresh, entry.cached_tokens, entry.output_tokens)
    return zip(_KINDS, map(Decimal, counts), strict=True)


def _series(days: Iterable[Amounts], measure: Measure) -> tuple[str, ...]:
    """Return the names of what is stacked: of many models those that used most, and all others together."""
    if measure == "tokens":
        return _KINDS
    totals = _added(part for amounts in days for part in amounts.items())
    names = sorted(name for name in totals if totals[name])
    if len(names) <= _MOST_MODELS:
        return tuple(names)
    most = sorted(names, key=lambda name: (-totals[name], name))[: _MOST_MODELS - 1]
    return (*sorted(most), _OTHERS)


def _grouped(amounts: Amounts, series: Sequence[str]) -> list[tuple[str, Decimal]]:
    named = ((name if name in series else _OTHERS, amount) for name, amount in amounts.items())
    sums = _added(named)
    return [(name, sums.get(name, Decimal())) for name in series]


def _segments(
    day: date, amounts: Iterable[tuple[str, Decimal]], scale: float, measure: Measure
) -> tuple[Segment, ...]:
    segments: list[Segment] = []
    below = Decimal()
    for number, (name, amount) in enumerate(amounts):
        if amount:
            height = float(amount) * scale
            y = HEIGHT - float(below) * scale - height
            said = dollars(amount) if measure == "cost" else f"{amount:,} tokens"
            title = f"{day}, {name}: {said}"
            segments.append(Segment(number, round(y, 2), round(height, 2), title))
            below += amount
    return tuple(segments)


def _labels(bars: Sequence[Bar]) -> tuple[DayLabel, ...]:
    """Return the names of all days, where they are few, else of the first, the middle one and the last."""
    middles = [DayLabel(bar.day, round(bar.x + bar.width / 2, 3), "middle") for bar in bars]
    if len(bars) <= _ALL_LABELLED:
        return tuple(middles)
    first, last = DayLabel(bars[0].day, _MARGIN, "start"), DayLabel(bars[-1].day, 100, "end")
    return (first, middles[len(bars) // 2], last)


def _days(amounts: Mapping[date, object]) -> list[date]:
    """Return all days from the first to the last, at most so many: those without usage, too."""
    if not amounts:
        return []
    first, last = min(amounts), max(amounts)
    count = min(MOST_DAYS, (last - first).days + 1)
    return [last - number * _DAY for number in reversed(range(count))]


def _top(most: Decimal) -> Decimal:
    """Return a round amount that is as large: 1, 2 or 4 times a power of ten."""
    if most <= 0:
        return Decimal(_LINES)
    power = Decimal(10) ** most.adjusted()
    return next(step * power for step in (1, 2, 4, 8, 10) if step * power >= most)
