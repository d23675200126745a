"""Where the pages of views are read: a port, which each database fills in its own way."""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final, Generic, NamedTuple, Protocol, TypeVar
from uuid import UUID

from pydantic import TypeAdapter
from pydantic_core import to_json

from onrecord.adapters.inputs.arguments import kind_of
from onrecord.adapters.views.scratch import KeptViews
from onrecord.domain.errors import InvalidInput
from onrecord.projections.views.view import Row, View, storable


@dataclass(frozen=True, slots=True)
class Found:
    """A page's rows, and how the view stood at that moment, in the tenant's shard.

    `position` is how far it has come, `behind` how many events are left, `parked` how many
    conversations wait behind an event that could not be folded; `stopped` says why it stands still.
    """

    rows: tuple[Row, ...]
    position: int
    behind: int
    parked: int
    stopped: str | None = None


def standstill(view: str, stopped: str | None, *, paused: bool) -> str | None:
    """Return why a view stands still, if it does: what stopped it, else that it was paused."""
    if stopped is None and paused:
        return f"it was paused; `onrecord resume {view}` lets it go on"
    return stopped


@dataclass(frozen=True, slots=True)
class Asked:
    """A page that is asked for: `query` is its name, `after` the key that it goes on behind.

    Without a `limit` the query is one of totals, which come all at once.
    """

    view: View
    query: str
    tenant: UUID
    filters: Row
    after: Row
    limit: int | None

    def parameters(self) -> tuple[str | int, ...]:
        """Return what the query takes behind the generation and the tenant."""
        filters = to_json(self.filters).decode()
        if self.limit is None:
            return (filters,)
        return filters, to_json(self.after).decode(), self.limit


class Pages(Protocol):
    """The views of a store, for reading."""

    def page(self, asked: Asked) -> Found:
        """Return a page of a view as it stands, after it was caught up if that is done by reading."""
        ...

    def erase(self) -> None:
        """Return once no row says any more what the log has erased.

        StorageBusy where another program still needs what was there before.
        """
        ...

    def residue(self) -> tuple[str, ...]:
        """Say where rows that were erased may still be on the disk, as the log does of its own."""
        ...

    def rewrite(self) -> tuple[str, ...]:
        """Write anew what may hold rows that were erased; return the names of what holds none now."""
        ...

    def kept(self) -> KeptViews:
        """Return what is kept, row by row, to be verified."""
        ...

    def close(self) -> None:
        """Let go of what is not the log's own."""
        ...


# A page of a view: some of its entries, and how the view stands.

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
    shape: Shape[EntryT], found: Found, rows: Sequence[Row], after: str | None
) -> Page[EntryT]:
    """Return rows as a page; `after` is what asks for the next one."""
    entries = tuple(map(shape.entry, rows))
    return Page(entries, after, found.position, found.behind, found.parked, found.stopped)


# The text by which a page is gone on from: opaque to who holds it, and bound to what was asked.
#
# It is sealed by a keyed digest of the log, so that no query gets a key that no page had.

_TOLD: Final = TypeAdapter(tuple[str, str, dict[str, str | int], str])


class _Told(NamedTuple):
    """What a cursor says: of which query, a digest of what was asked, a row's key."""

    query: str
    asked: str
    key: Row


@dataclass(frozen=True, slots=True)
class PageCursors:
    """The cursors of one log and tenant; `digest` is the log's keyed one."""

    digest: Callable[[str], bytes]
    tenant: str

    def after(self, query: str, filters: Row, last: Row) -> str:
        """Return the text for what comes behind the row with this key."""
        told = _Told(query, self._asked(filters), last)
        return urlsafe_b64encode(to_json((*told, self._of(told)))).rstrip(b"=").decode()

    def key_in(self, cursor: str, query: str, filters: Row) -> Row:
        """Return the key of the row behind which a page begins.

        InvalidInput where the text is none of ours, or one for another page: of another view, or
        with other filters.
        """
        told = self._read(cursor)
        if told.query != query or told.asked != self._asked(filters):
            raise InvalidInput(
                "`after` belongs to a page of another view, or with other filters: ask for the same "
                "again, with nothing else changed but the limit"
            )
        return told.key

    def _read(self, cursor: str) -> _Told:
        try:
            *members, seal = _TOLD.validate_json(
                urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)), strict=True
            )
        except ValueError:
            raise _not_given() from None
        told = _Told._make(members)
        if not hmac.compare_digest(seal.encode(), self._of(told).encode()):
            raise _not_given()
        return told

    def _asked(self, filters: Row) -> str:
        """Return a digest of what was asked: filters name people and texts, which no cursor needs."""
        return self._of((self.tenant, sorted(filters.items())))

    def _of(self, value: object) -> str:
        return self.digest(to_json(value).decode()).hex()


def _not_given() -> InvalidInput:
    return InvalidInput("`after` is none that a page gave: take the `after` of a page as it is")


# What callers of views hand over, as the queries of pages take it; InvalidInput says what is
# wrong.

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
