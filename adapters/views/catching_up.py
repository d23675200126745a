"""Reading a view until it has what the log had at first: one reading of a long log folds a part of it only."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from onrecord.adapters.store import Store
    from onrecord.adapters.views.pages import Page

EntryT = TypeVar("EntryT")

_PAUSES: Final = (0.05, 0.1, 0.15, 0.3, 0.4)
"""Seconds between readings of a view that workers are at: a second, all together."""


@dataclass(frozen=True, slots=True)
class CaughtUpPage(Generic[EntryT]):
    """A page of a view, and how many events of those that the log had at first it `lacks`.

    What came since does not count: under traffic there is always something that came just now.
    """

    page: Page[EntryT]
    lacks: int


def is_folded_by_reading(store: Store) -> bool:
    """Whether views catch up as they are read: on PostgreSQL workers fold them."""
    return not store.url.startswith("postgres")


def is_worked_at(store: Store) -> bool:
    """Whether a worker is at work, by the server's clock; which views it folds is not known."""
    working = store.views.keeper.at_work()
    return working is not None and working.workers > 0


def folded_on(
    page: Page[EntryT], last: int, ask: Callable[[], Page[EntryT]]
) -> Iterator[Page[EntryT]]:
    """Read a view that is folded as it is read again, up to the position `last`; yield each page.

    It ends where the view stands still, or a reading brings it no further.
    """
    before = -1
    while before < page.position < last and page.stopped is None:
        before, page = page.position, ask()
        yield page


def awaited(page: Page[EntryT], last: int, ask: Callable[[], Page[EntryT]]) -> Page[EntryT]:
    """Return the page of a view once workers have brought it to the position `last`, or a second is over."""
    for pause in _PAUSES:
        if page.position >= last or page.stopped is not None:
            break
        time.sleep(pause)
        page = ask()
    return page
