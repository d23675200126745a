"""A page of a view as a caller has it: its entries, what it is gone on from, and how it is asked for."""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final, Generic, TypeVar
from urllib.parse import quote, unquote

from pydantic_core import to_json

from onrecord.adapters.inputs.arguments import kind_of, text_if_given
from onrecord.adapters.views.ports import PageRows
from onrecord.domain.errors import InvalidInput
from onrecord.domain.header import microseconds_of
from onrecord.projections.views.view import Row, View, storable

EntryT = TypeVar("EntryT")


@dataclass(frozen=True, slots=True)
class Page(Generic[EntryT]):
    """Some entries of a view, in its order; iterating over it gives them.

    `after` asks for the next page; None: there is none. `position` is how far the view has come in
    the log, `behind` how many events it has not folded yet, `parked` how many conversations wait
    behind an event that could not be folded. `stopped` says why it stands still, if it does.
    `encrypted` are members of the entries that are None since an encrypted store keeps them out of
    its views (docs/encryption.md).
    """

    entries: tuple[EntryT, ...]
    after: str | None
    position: int
    behind: int
    parked: int
    stopped: str | None = None
    encrypted: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[EntryT]:
        """Return the entries, one by one."""
        return iter(self.entries)

    def __len__(self) -> int:
        """Return how many entries the page has."""
        return len(self.entries)


@dataclass(frozen=True, slots=True)
class Shape(Generic[EntryT]):
    """What a view's pages are made of: how an entry is read, which columns order them, and the query.

    `texts` are the members of an entry that hold what was said.
    """

    view: View
    entry: Callable[[Row], EntryT]
    key: tuple[str, ...]
    query: str = "page"
    texts: tuple[str, ...] = ()


def page_of(
    shape: Shape[EntryT],
    page: PageRows,
    rows: Sequence[Row],
    after: str | None,
    encrypted: tuple[str, ...] = (),
) -> Page[EntryT]:
    """Return rows as a page; `after` is what asks for the next one."""
    entries = tuple(map(shape.entry, rows))
    return Page(entries, after, page.position, page.behind, page.parked, page.stopped, encrypted)


# The text by which a page is gone on from: opaque to who holds it, and bound to what was asked.
#
# It is sealed by a keyed digest of the log, so that no query gets a key that no page had.

# It is short, and of characters that no shell and no URL reads otherwise: people copy it from a
# terminal into the next command. The key stands first, so that it begins as no option does.

_ASKED: Final = 4
_SEAL: Final = 12
"""Characters at the end of a cursor: a digest of what was asked, then the seal of it and the key."""


@dataclass(frozen=True, slots=True)
class PageCursors:
    """The cursors of one log and tenant; `digest` is the log's keyed one."""

    digest: Callable[[str], bytes]
    tenant: str

    def after(self, query: str, filters: Row, last: Row) -> str:
        """Return the text for what comes behind the row with this key."""
        return self._sealed(",".join(map(_written, last.values())) + self._asked(query, filters))

    def key_in(self, cursor: str, query: str, filters: Row, columns: Sequence[str]) -> Row:
        """Return the key of the row behind which a page begins: the values of these columns.

        InvalidInput where the text is none of ours, or one for another page: of another view, or
        with other filters.
        """
        unsealed = cursor[:-_SEAL]
        if not cursor.isascii() or not hmac.compare_digest(self._sealed(unsealed), cursor):
            raise _not_given()
        if unsealed[-_ASKED:] != self._asked(query, filters):
            raise InvalidInput(
                "`after` belongs to a page of another view, or with other filters: ask for the same "
                "again, with nothing else changed but the limit"
            )
        return dict(zip(columns, map(_read, unsealed[:-_ASKED].split(",")), strict=True))

    def _asked(self, query: str, filters: Row) -> str:
        """Return a digest of a query and its filters: they name people and texts, which no cursor needs."""
        return self._digested((query, self.tenant, sorted(filters.items())), _ASKED)

    def _sealed(self, unsealed: str) -> str:
        return unsealed + self._digested(("cursor", unsealed), _SEAL)

    def _digested(self, value: object, length: int) -> str:
        return urlsafe_b64encode(self.digest(to_json(value).decode())).decode()[:length]


def _written(value: str | int) -> str:
    """Return a value of a key: a number as it is, a text after a dot."""
    if isinstance(value, int):
        return str(value)
    return "." + quote(value, safe=":")


def _read(written: str) -> str | int:
    if written.startswith("."):
        return unquote(written[1:])
    return int(written)


def _not_given() -> InvalidInput:
    return InvalidInput("`after` is none that a page gave: take the `after` of a page as it is")


# What callers of views hand over, as the queries of pages take it; InvalidInput says what is
# wrong.

MOST_ENTRIES: Final = 1_000
"""How many entries a page may have."""


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


def one_of(what: str, name: str | None, known: tuple[str, ...]) -> str | None:
    """Return a name that is among those that there are, or None for None."""
    if name is not None and name not in known:
        raise InvalidInput(f"{what} is one of {', '.join(known)}")
    return name


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
    return microseconds_of(at)


def _day(name: str, on: object) -> str | None:
    if on is None:
        return None
    if not isinstance(on, date) or isinstance(on, datetime):
        raise InvalidInput(f"{name} is a day (datetime.date), not {kind_of(on)}")
    return on.isoformat()


def of_models(api: str | None, model: str | None, since: object, until: object) -> Row:
    """Return the filters of what models used on days."""
    named = {"api": text_if_given("api", api), "model": text_if_given("model", model)}
    return {**named, **days(since, until)}
