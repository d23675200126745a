"""A page of a view as a caller has it: its entries, what it is gone on from, and how it is asked for."""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final, Generic, NamedTuple, TypeVar

from pydantic import TypeAdapter
from pydantic_core import to_json

from onrecord.adapters.inputs.arguments import kind_of
from onrecord.adapters.views.ports import PageRows
from onrecord.domain.errors import InvalidInput
from onrecord.projections.views.view import Row, View, storable

EntryT = TypeVar("EntryT")


@dataclass(frozen=True, slots=True)
class Page(Generic[EntryT]):
    """Some entries of a view, in its order; iterating over it gives them.

    `after` asks for the next page; None: there is none. `position` is how far the view has come in
    the log, `behind` how many events it has not folded yet, `parked` how many conversations wait
    behind an event that could not be folded. `stopped` says why it stands still, if it does.
    """

    entries: tuple[EntryT, ...]
    after: str | None
    position: int
    behind: int
    parked: int
    stopped: str | None = None

    def __iter__(self) -> Iterator[EntryT]:
        """Return the entries, one by one."""
        return iter(self.entries)

    def __len__(self) -> int:
        """Return how many entries the page has."""
        return len(self.entries)


@dataclass(frozen=True, slots=True)
class Shape(Generic[EntryT]):
    """What a view's pages are made of: how an entry is read, and which columns order them."""

    view: View
    entry: Callable[[Row], EntryT]
    key: tuple[str, ...]


def page_of(
    shape: Shape[EntryT], page: PageRows, rows: Sequence[Row], after: str | None
) -> Page[EntryT]:
    """Return rows as a page; `after` is what asks for the next one."""
    entries = tuple(map(shape.entry, rows))
    return Page(entries, after, page.position, page.behind, page.parked, page.stopped)


# The text by which a page is gone on from: opaque to who holds it, and bound to what was asked.
#
# It is sealed by a keyed digest of the log, so that no query gets a key that no page had.

_CURSOR: Final = TypeAdapter(tuple[str, str, dict[str, str | int], str])


class _Cursor(NamedTuple):
    """What a cursor says: its query, a digest of its filters, a row's key."""

    query: str
    filters: str
    key: Row


@dataclass(frozen=True, slots=True)
class PageCursors:
    """The cursors of one log and tenant; `digest` is the log's keyed one."""

    digest: Callable[[str], bytes]
    tenant: str

    def after(self, query: str, filters: Row, last: Row) -> str:
        """Return the text for what comes behind the row with this key."""
        cursor = _Cursor(query, self._filters(filters), last)
        return urlsafe_b64encode(to_json((*cursor, self._seal(cursor)))).rstrip(b"=").decode()

    def key_in(self, cursor: str, query: str, filters: Row) -> Row:
        """Return the key of the row behind which a page begins.

        InvalidInput where the text is none of ours, or one for another page: of another view, or
        with other filters.
        """
        read = self._read(cursor)
        if read.query != query or read.filters != self._filters(filters):
            raise InvalidInput(
                "`after` belongs to a page of another view, or with other filters: ask for the same "
                "again, with nothing else changed but the limit"
            )
        return read.key

    def _read(self, cursor: str) -> _Cursor:
        try:
            *members, seal = _CURSOR.validate_json(
                urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)), strict=True
            )
        except ValueError:
            raise _not_given() from None
        read = _Cursor._make(members)
        if not hmac.compare_digest(seal.encode(), self._seal(read).encode()):
            raise _not_given()
        return read

    def _filters(self, filters: Row) -> str:
        """Return a digest of filters: they name people and texts, which no cursor needs."""
        return self._seal((self.tenant, sorted(filters.items())))

    def _seal(self, value: object) -> str:
        return self.digest(to_json(value).decode()).hex()


def _not_given() -> InvalidInput:
    return InvalidInput("`after` is none that a page gave: take the `after` of a page as it is")


# What callers of views hand over, as the queries of pages take it; InvalidInput says what is
# wrong.

MOST_ENTRIES: Final = 1_000
"""How many entries a page may have."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def set_filters(filters: Row) -> Row:
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


def page_size(limit: object) -> int:
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
