"""A stretch of a conversation's responses and calls as bars over time, for an SVG; pure.

Each exchange begins at the left, on the scale of all that are shown: the times between exchanges, in
which nobody worked, are left out.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, Literal, TypeAlias

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

    waited: int
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
class BarGroup:
    """The bars of an exchange; `took` is the time from the first one's begin to the last one's end."""

    exchange: int
    began: int
    took: int
    y: int
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
    entries.sort(key=_start)
    if not entries:
        return Waterfall((), (), 0, None, None)
    first = min(bisect_left(entries, at, key=_start), len(entries) - 1)
    last = _end(entries, first)
    before = _begin(entries, first)
    shown = [list(each) for _, each in groupby(entries[first:last], key=_exchange)]
    scale = max(max(map(_took, shown)), 1)
    groups = tuple(_groups(shown, scale))
    return Waterfall(
        groups=groups,
        ticks=tuple(_ticks(scale)),
        height=groups[-1].y + _HEADING + len(groups[-1].bars) * _ROW,
        earlier=None if first == 0 else _start(entries[before]),
        later=None if last == len(entries) else _start(entries[last]),
    )


def _end(entries: Sequence[_Entry], first: int) -> int:
    """Return where a stretch ends: before an exchange, if it begins with a whole one."""
    last = min(first + BARS, len(entries))
    whole = last
    while whole > first and whole < len(entries) and not _opens(entries, whole):
        whole -= 1
    return whole if whole > first else last


def _begin(entries: Sequence[_Entry], last: int) -> int:
    """Return where the stretch before another one begins: at an exchange, if one begins in it."""
    first = max(0, last - BARS)
    whole = first
    while whole < last and not _opens(entries, whole):
        whole += 1
    return whole if whole < last else first


def _opens(entries: Sequence[_Entry], index: int) -> bool:
    return index == 0 or entries[index].exchange != entries[index - 1].exchange


def _groups(shown: Sequence[Sequence[_Entry]], scale: int) -> Iterator[BarGroup]:
    y = _TOP
    for entries in shown:
        began = _began(entries)
        bars = tuple(
            _bar(entry, began, scale, y + _HEADING + number * _ROW)
            for number, entry in enumerate(entries)
        )
        yield BarGroup(entries[0].exchange, began, _took(entries), y, bars)
        y += _HEADING + len(bars) * _ROW


def _bar(entry: _Entry, origin: int, scale: int, y: int) -> Bar:
    duration = entry.duration
    x, width = _stretch(_work(entry) - origin, duration or 0, scale)
    return Bar(
        version=entry.version,
        kind="response" if isinstance(entry, ResponseTime) else entry.kind,
        name=entry.model if isinstance(entry, ResponseTime) else entry.name,
        state=entry.ending if isinstance(entry, ResponseTime) else entry.status,
        has_failed=_has_failed(entry),
        began=_first(entry),
        duration=duration,
        x=x,
        width=width,
        y=y,
        wait=None if isinstance(entry, ResponseTime) else _wait(entry, origin, scale),
    )


def _wait(call: CallTime, origin: int, scale: int) -> WaitBar | None:
    wait = call.wait
    if wait is None or wait.over is None:
        return None
    return WaitBar(wait.waited, *_stretch(wait.asked - origin, wait.over - wait.asked, scale))


def _stretch(begin: int, length: int, scale: int) -> tuple[str, str]:
    """Return where a bar begins and how wide it is, in percent: so that it is seen, and ends within."""
    x = min(100 * max(0, begin) / scale, 100 - _SHORTEST)
    width = max(100 * length / scale, _SHORTEST)
    return _percent(x), _percent(min(width, 100 - x))


def _has_failed(entry: _Entry) -> bool:
    return not entry.is_whole if isinstance(entry, ResponseTime) else entry.status == "failed"


def _ticks(scale: int) -> Iterator[tuple[int, str]]:
    """Yield round times with their offsets from the left."""
    step = next((each for each in _STEPS if scale / each <= _MOST_TICKS), scale)
    for time in range(step, scale, step):
        if 100 * time / scale <= _LAST_TICK:
            yield time, _percent(100 * time / scale)


def _took(entries: Sequence[_Entry]) -> int:
    return max(_work(each) + (each.duration or 0) for each in entries) - _began(entries)


def _began(entries: Sequence[_Entry]) -> int:
    return min(map(_first, entries))


def _first(entry: _Entry) -> int:
    """Return when an entry begins; a response whose request is not known, when it ended."""
    if isinstance(entry, ResponseTime):
        return entry.ended if entry.duration is None or entry.began is None else entry.began
    return entry.began


def _work(entry: _Entry) -> int:
    """Return when an entry's own time begins: that of a call which waited for a person, after that."""
    if isinstance(entry, ResponseTime) or entry.wait is None:
        return _first(entry)
    return entry.wait.over or entry.began


def _start(entry: _Entry) -> int:
    return entry.start


def _exchange(entry: _Entry) -> int:
    return entry.exchange


def _percent(share: float) -> str:
    return f"{share:.2f}%"
