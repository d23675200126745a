"""Sizes and times as people read them; pure."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from onrecord.domain.errors import counted

_UNITS: Final = ("kB", "MB", "GB", "TB")
_STEPS: Final = (
    (60, 1, "s"),
    (3600, 60, "min"),
    (86_400, 3600, "h"),
    (86_400 * 30, 86_400, "days"),
)


def size(count: int) -> str:
    """Return a number of bytes with a decimal unit: `812 bytes`, `1.2 kB`."""
    if count < 1000:
        return counted(count, "byte")
    scaled = count / 1000
    for unit in _UNITS:
        if scaled < 999.95:
            return f"{scaled:.1f} {unit}"
        scaled /= 1000
    return f"{scaled:,.1f} PB"


def ago(then: int, now: int) -> str:
    """Return how long ago a time was, both in microseconds since 1970: `3 min ago`, or its date."""
    seconds = max(now - then, 0) // 1_000_000
    if seconds < 2:
        return "just now"
    for limit, step, unit in _STEPS:
        if seconds < limit:
            number = seconds // step
            return f"{number} {'day' if (number, unit) == (1, 'days') else unit} ago"
    return f"{datetime.fromtimestamp(then // 1_000_000, UTC):%Y-%m-%d}"


def moment(then: int) -> str:
    """Return a time, in microseconds since 1970, to the second: `2026-11-21 09:30:00Z`."""
    return f"{datetime.fromtimestamp(then // 1_000_000, UTC):%Y-%m-%d %H:%M:%SZ}"
