"""How pages of views look: drawn as a table, plain between tabs, or as one JSON document."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from onrecord.adapters.presentation.view_entries import conversation_name, entry_document
from onrecord.adapters.store import Store
from onrecord.adapters.terminal import output
from onrecord.adapters.terminal.tables import Cell, Column, show_rows
from onrecord.domain.errors import counted
from onrecord.domain.jsontext import JsonObject

if TYPE_CHECKING:
    from onrecord.adapters.views.pages import Page

EntryT = TypeVar("EntryT")

# Reading a view until it has caught up with what there was at first: a command is asked once.

_PAUSES: Final = (0.05, 0.1, 0.15, 0.3, 0.4)
"""Seconds between readings of a view that workers are at: a second, all together."""


def is_folded_by_reading(store: Store) -> bool:
    """Whether views catch up as they are read: on PostgreSQL workers fold them."""
    return not store.url.startswith("postgres")


def is_worked_at(store: Store) -> bool:
    """Whether a worker is at work, by the server's clock; which views it folds is not known."""
    working = store.views.keeper.at_work()
    return working is not None and working.workers > 0


@dataclass(frozen=True, slots=True)
class CaughtUpPage(Generic[EntryT]):
    """A page of a view, and how many events of those that the log had at first it `lacks`.

    What came since does not count: under traffic there is always something that came just now.
    """

    page: Page[EntryT]
    lacks: int


def caught_up(store: Store, ask: Callable[[], Page[EntryT]]) -> CaughtUpPage[EntryT]:
    """Return a page of a view that has all that the log had at first, as far as it gets there.

    Views that catch up as they are read are read on, with a bar on a terminal; after Ctrl-C the
    next reading goes on where this was. Workers are given a second. What stands still is shown as
    it stands.
    """
    page = ask()
    last = page.position + page.behind
    if page.behind and page.stopped is None:
        if is_folded_by_reading(store):
            page = _read_on(page, last, ask)
        elif is_worked_at(store):
            page = _awaited(page, last, ask)
    return CaughtUpPage(page, max(0, last - page.position))


def _read_on(page: Page[EntryT], last: int, ask: Callable[[], Page[EntryT]]) -> Page[EntryT]:
    with output.progress_of("folding events") as progress:
        before = -1
        while before < page.position < last and page.stopped is None:
            progress(page.position, last)
            before, page = page.position, ask()
    return page


def _awaited(page: Page[EntryT], last: int, ask: Callable[[], Page[EntryT]]) -> Page[EntryT]:
    for pause in _PAUSES:
        if page.position >= last or page.stopped is not None:
            break
        time.sleep(pause)
        page = ask()
    return page


@dataclass(frozen=True, slots=True)
class Listing(Generic[EntryT]):
    """How entries of a view are listed; `cells` are given an entry and its conversation's name.

    `more` are members of its JSON that the entry itself has not. `whole` gives it what the store knows
    and the view does not.
    """

    columns: Sequence[Column]
    cells: Callable[[EntryT, str], Sequence[Cell]]
    more: Callable[[EntryT], JsonObject] = lambda _: {}
    whole: Callable[[Store, EntryT], EntryT] = lambda _, entry: entry


def show(
    store: Store, listing: Listing[EntryT], answer: CaughtUpPage[EntryT], *, as_json: bool
) -> None:
    """Show a page, and say on standard error what it is not: all, or up to date."""
    page = replace(answer.page, entries=tuple(listing.whole(store, entry) for entry in answer.page))
    if as_json:
        output.json_line(_document(page, listing))
        return
    show_rows(listing.columns, [listing.cells(entry, conversation_name(entry)) for entry in page])
    _note_what_is_missing(store, answer)


def _document(page: Page[EntryT], listing: Listing[EntryT]) -> dict[str, Any]:
    return {
        "entries": [entry_document(entry) | listing.more(entry) for entry in page],
        "after": page.after,
        "position": page.position,
        "behind": page.behind,
        "parked": page.parked,
        "stopped": page.stopped,
        **({"encrypted": page.encrypted} if page.encrypted else {}),
    }


def _note_what_is_missing(store: Store, answer: CaughtUpPage[Any]) -> None:
    page = answer.page
    if not len(page):
        output.note("nothing was found")
    elif page.encrypted:
        members = ", ".join(page.encrypted)
        output.note(f"{members}: encrypted, and not in this view (docs/encryption.md)")
    if page.stopped is not None:
        behind = f" {counted(page.behind, 'event')} behind" if page.behind else ""
        output.note(f"the view stands still{behind}: {page.stopped}")
    elif answer.lacks:
        output.note(f"{counted(page.behind, 'event')} not folded yet{_advice(store)}")
    if page.parked:
        output.note(
            f"{counted(page.parked, 'conversation')} missing in part: see `onrecord parked`"
        )
    if page.after is not None:
        output.note("there is more, asked for with")
        output.note(f"--after {page.after}")  # A line of its own: it is copied whole.


def _advice(store: Store) -> str:
    if is_folded_by_reading(store):
        return ": ask again"
    if is_worked_at(store):
        return ": ask again, or look at `onrecord views`"
    return ", and no worker is at work: `onrecord worker` folds them"
