"""How pages of views look: drawn as a table, plain between tabs, or as one JSON document."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from onrecord.adapters.presentation.view_entries import conversation_name, entry_document
from onrecord.adapters.store import Store
from onrecord.adapters.terminal import output
from onrecord.adapters.terminal.tables import Cell, Column, show_rows
from onrecord.adapters.views.catching_up import (
    CaughtUpPage,
    awaited,
    folded_on,
    is_folded_by_reading,
    is_worked_at,
)
from onrecord.domain.errors import counted
from onrecord.domain.jsontext import JsonObject

if TYPE_CHECKING:
    from onrecord.adapters.views.pages import Page

EntryT = TypeVar("EntryT")


def caught_up(store: Store, ask: Callable[[], Page[EntryT]]) -> CaughtUpPage[EntryT]:
    """Return a page of a view that has all that the log had at first, as far as it gets there.

    A view that catches up as it is read is read again, with a bar on a terminal; after Ctrl-C the
    next reading goes on where this was. Workers are given a second. What stands still is shown as
    it stands.
    """
    page = ask()
    last = page.position + page.behind
    if page.behind and page.stopped is None:
        if is_folded_by_reading(store):
            page = _folded_with_bar(page, last, ask)
        elif is_worked_at(store):
            page = awaited(page, last, ask)
    return CaughtUpPage(page, max(0, last - page.position))


def _folded_with_bar(
    page: Page[EntryT], last: int, ask: Callable[[], Page[EntryT]]
) -> Page[EntryT]:
    with output.progress_of("folding events") as progress:
        newest = page
        progress(newest.position, last)
        for newest in folded_on(page, last, ask):
            progress(newest.position, last)
    return newest


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
