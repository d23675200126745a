"""A page of a view: some of its entries, and how the view stands."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from onrecord.adapters.views.pages import Found
from onrecord.projections.views.view import Row, View

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
