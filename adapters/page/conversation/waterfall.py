"""A stretch of a conversation's responses and calls as bars over time, for an SVG; pure.

Each exchange begins at the left, on the scale of all that are shown: the times between exchanges, in
which nobody worked, are left out. So are those within one in which nothing was done but wait for a person.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, Literal, TypeAlias

from onrecord.adapters.page.conversation.axis import Axis, Span, axis_of
from onrecord.adapters.page.conversation.times import CallTime, ResponseTime, Times

BARS: Final = 100
"""The most bars that are shown at once."""

_ROW: Final = 34
_HEADING: Final = 30
_TOP: Final = 20
_SHORTEST: Final = 0.4
"""The width of a bar, in percent, that is still seen."""

_MOST_TICKS: Final = 4
_MINUTE: Final = 60_000_000
_STEPS: Final = (
    *(digit * 10**power for power in range(7) for digit in (1, 2, 5)),
    *(10_000_000, 20_000_000, 30_000_000),
    *(minutes * _MINUTE for minutes in (1, 2, 5, 10, 20, 30)),
    *(digit * 10**power * 60 * _MINUTE for power in range(5) for digit in (1, 2, 5)),
)
"""Times that ticks may be apart, in microseconds."""

_LAST_TICK: Final = 85
"""Behind it, in percent, there is no room for a tick's text."""

Kind: TypeAlias = Literal["response", "tool", "server tool"]


@dataclass(frozen=True, slots=True)
class WaitBar:
    """For how long a call waited for a person, and from where to where that goes, in percent."""

    total: int
    x: str
    width: str


@dataclass(frozen=True, slots=True)
class Bar:
    """A response or a call: from where to where its bar goes, and the event that it links to.

    `x` and `width` are in percent, `y` in pixels. `name` is the model or the tool, None where that is
    not known. `duration` is None where the record does not tell how long it took. `wait` is the wait for a person
    before it, if there was one that is over.
    """

    version: int
    kind: Kind
    name: str | None
    state: str | None
    has_failed: bool
    began: int
    duration: int | None
    x: str
    width: str
    y: int
    wait: WaitBar | None


@dataclass(frozen=True, slots=True)
class Cut:
    """A time that is cut out of the axis, as all waited for a person: how long it is, and where, in percent."""

    length: int
    x: str


@dataclass(frozen=True, slots=True)
class BarGroup:
    """The bars of an exchange, which end at `bottom`, and what is cut out between them.

    `took` is the time from the first one's begin to the last one's end, `cut` how much of it is cut out.
    """

    exchange: int
    began: int
    took: int
    cut: int
    y: int
    bottom: int
    cuts: tuple[Cut, ...]
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Waterfall:
    """A stretch of bars: `ticks` are times and their offsets from the left in percent.

    `earlier` and `later` are the versions at which the stretches beside it begin, None where there are
    none.
    """

    groups: tuple[BarGroup, ...]
    ticks: tuple[tuple[int, str], ...]
    height: int
    earlier: int | None
    later: int | None


_Entry: TypeAlias = ResponseTime | CallTime


def waterfall_of(times: Times, at: int = 1) -> Waterfall:
    """Return the stretch of bars that begins at the first one at a version or behind it, else the last."""
    entries: list[_Entry] = [*times.responses, *times.calls]
    entries.sort(key=_first_version)
    if not entries:
        return Waterfall((), (), 0, None, None)
    start = min(bisect_left(entries, at, key=_first_version), len(entries) - 1)
    end = _page_end(entries, start)
    exchanges = [list(each) for _, each in groupby(entries[start:end], key=_exchange)]
    axes = [_axis(each) for each in exchanges]
    scale = max(
        1, *(axis.offset(_ended_at(each)) for axis, each in zip(axes, exchanges, strict=True))
    )
    groups = tuple(_groups(exchanges, axes, scale))
    return Waterfall(
        groups=groups,
        ticks=tuple(_ticks(scale)),
        height=groups[-1].bottom,
        earlier=None if start == 0 else _first_version(entries[_page_start(entries, start)]),
        later=None if end == len(entries) else _first_version(entries[end]),
    )


def _page_end(entries: Sequence[_Entry], start: int) -> int:
    """Return the index before which a stretch ends: that of an exchange, if it begins with a whole one."""
    full = min(start + BARS, len(entries))
    end = full
    while end > start and end < len(entries) and not _opens(entries, end):
        end -= 1
    return end if end > start else full


def _page_start(entries: Sequence[_Entry], end: int) -> int:
    """Return the index at which the stretch before another one begins: an exchange, if one begins in it."""
    full = max(0, end - BARS)
    start = full
    while start < end and not _opens(entries, start):
        start += 1
    return start if start < end else full


def _opens(entries: Sequence[_Entry], index: int) -> bool:
    return index == 0 or entries[index].exchange != entries[index - 1].exchange


def _groups(
    exchanges: Sequence[Sequence[_Entry]], axes: Sequence[Axis], scale: int
) -> Iterator[BarGroup]:
    y = _TOP
    for entries, axis in zip(exchanges, axes, strict=True):
        bars = tuple(
            _bar(entry, axis, scale, y + _HEADING + number * _ROW)
            for number, entry in enumerate(entries)
        )
        bottom = y + _HEADING + len(bars) * _ROW
        yield BarGroup(
            exchange=entries[0].exchange,
            began=axis.origin,
            took=_ended_at(entries) - axis.origin,
            cut=sum(end - begin for begin, end in axis.cuts),
            y=y,
            bottom=bottom,
            cuts=tuple(_cut(span, axis, scale) for span in axis.cuts),
            bars=bars,
        )
        y = bottom


def _axis(entries: Sequence[_Entry]) -> Axis:
    """Return the axis of an exchange: without the time in which nothing was done but wait for a person."""
    waits = (span for entry in entries if isinstance(entry, CallTime) for span in _waits(entry))
    work = (Span(_work_began_at(each), _work_ended_at(each)) for each in entries)
    return axis_of(min(map(_began_at, entries)), waits, work)


def _waits(call: CallTime) -> Iterator[Span]:
    for asked_at, ended_at in call.wait.periods if call.wait else ():
        if ended_at is not None:
            yield Span(asked_at, ended_at)


def _bar(entry: _Entry, axis: Axis, scale: int, y: int) -> Bar:
    span = Span(_work_began_at(entry), _work_ended_at(entry))
    x, width = _bar_extent(span, axis, scale)
    return Bar(
        version=entry.version,
        kind="response" if isinstance(entry, ResponseTime) else entry.kind,
        name=entry.model if isinstance(entry, ResponseTime) else entry.name,
        state=entry.ending if isinstance(entry, ResponseTime) else entry.status,
        has_failed=_has_failed(entry),
        began=_began_at(entry),
        duration=entry.duration,
        x=x,
        width=width,
        y=y,
        wait=None if isinstance(entry, ResponseTime) else _wait_bar(entry, axis, scale),
    )


def _wait_bar(call: CallTime, axis: Axis, scale: int) -> WaitBar | None:
    wait = call.wait
    if wait is None or wait.ended_at is None:
        return None
    span = Span(wait.asked_at, wait.ended_at)
    return WaitBar(wait.total, *_bar_extent(span, axis, scale))


def _cut(span: Span, axis: Axis, scale: int) -> Cut:
    x, _ = _bar_extent(span, axis, scale)
    return Cut(span.end - span.begin, x)


def _bar_extent(span: Span, axis: Axis, scale: int) -> tuple[str, str]:
    """Return where a bar begins and how wide it is, in percent: so that it is seen, and ends within."""
    begin, end = axis.offset(span.begin), axis.offset(span.end)
    x = min(100 * max(0, begin) / scale, 100 - _SHORTEST)
    width = max(100 * (end - begin) / scale, _SHORTEST)
    return _percent(x), _percent(min(width, 100 - x))


def _has_failed(entry: _Entry) -> bool:
    return not entry.is_whole if isinstance(entry, ResponseTime) else entry.status == "failed"


def _ticks(scale: int) -> Iterator[tuple[int, str]]:
    """Yield round times with their offsets from the left."""
    step = next((each for each in _STEPS if scale / each <= _MOST_TICKS), scale)
    for time in range(step, scale, step):
        if 100 * time / scale <= _LAST_TICK:
            yield time, _percent(100 * time / scale)


def _ended_at(entries: Sequence[_Entry]) -> int:
    return max(map(_work_ended_at, entries))


def _began_at(entry: _Entry) -> int:
    """Return when an entry begins; a response whose request is not known, when it ended."""
    if isinstance(entry, ResponseTime):
        return entry.ended if entry.duration is None or entry.began is None else entry.began
    return entry.began


def _work_began_at(entry: _Entry) -> int:
    """Return when an entry's own time begins: that of a call which waited for a person, after that."""
    if isinstance(entry, ResponseTime) or entry.wait is None:
        return _began_at(entry)
    return entry.wait.ended_at or entry.began


def _work_ended_at(entry: _Entry) -> int:
    return _work_began_at(entry) + (entry.duration or 0)


def _first_version(entry: _Entry) -> int:
    return entry.first_version


def _exchange(entry: _Entry) -> int:
    return entry.exchange


def _percent(share: float) -> str:
    return f"{share:.2f}%"
