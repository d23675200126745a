"""What callers of views hand over, as the queries of pages take it; InvalidInput says what is wrong."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Final

from onrecord.adapters.conversation.arguments import kind_of
from onrecord.domain.errors import InvalidInput
from onrecord.projections.views.view import Row, storable

MOST_ENTRIES: Final = 1_000
"""How many entries a page may have."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def given(filters: Row) -> Row:
    """Return those filters that are not None; their texts as the rows have them."""
    return {
        name: storable(value) if isinstance(value, str) else value
        for name, value in filters.items()
        if value is not None
    }


def truth_if_given(name: str, value: object) -> bool | None:
    """Return True or False, or None for None."""
    if value is None or isinstance(value, bool):
        return value
    raise InvalidInput(f"{name} is True or False, not {kind_of(value)}")


def limit_given(limit: object) -> int:
    """Return how many entries a page is to have."""
    if isinstance(limit, int) and not isinstance(limit, bool) and 1 <= limit <= MOST_ENTRIES:
        return limit
    raise InvalidInput(f"limit is a number of entries, from 1 to {MOST_ENTRIES:,}")


def times(since: object, until: object) -> Row:
    """Return times in microseconds since 1970-01-01 UTC."""
    return {"since": _time("since", since), "until": _time("until", until)}


def days(since: object, until: object) -> Row:
    """Return days as `2026-11-21`."""
    return {"since": _day("since", since), "until": _day("until", until)}


def _time(name: str, at: object) -> int | None:
    if at is None:
        return None
    if not isinstance(at, datetime):
        raise InvalidInput(f"{name} is a datetime, not {kind_of(at)}")
    if at.utcoffset() is None:
        raise InvalidInput(f"{name} has no time zone: write datetime(..., tzinfo=UTC)")
    return (at - _EPOCH) // _MICROSECOND


def _day(name: str, on: object) -> str | None:
    if on is None:
        return None
    if not isinstance(on, date) or isinstance(on, datetime):
        raise InvalidInput(f"{name} is a day (datetime.date), not {kind_of(on)}")
    return on.isoformat()
