"""Pages of views that commands show, and the record of who reads them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

import typer

from onrecord.adapters.cli.program.stores import acting_name, open_store
from onrecord.adapters.presentation.conversations import require_conversation
from onrecord.adapters.terminal.reads import record_page
from onrecord.adapters.terminal.view_pages import Listing, caught_up, show

if TYPE_CHECKING:
    from onrecord.adapters.store import Store
    from onrecord.adapters.views.catching_up import CaughtUpPage
    from onrecord.adapters.views.pages import Page
    from onrecord.adapters.views.reading import Views

EntryT = TypeVar("EntryT")


def show_page(
    context: typer.Context,
    url: str | None,
    listing: Listing[Any],
    query: Callable[[Views, Callable[[str | None], UUID | None]], Page[Any]],
    *,
    as_json: bool,
) -> None:
    """Show the page that a query gives; it gets the views, and the ids of conversations by name."""
    with open_store(context, url) as store:

        def id_of(name: str | None) -> UUID | None:
            # A key may look like an id, so an id is looked for as a key first.
            return None if name is None else require_conversation(store, name).conversation_id

        page = caught_up(store, lambda: query(store.views, id_of))
        show_and_record(context, store, listing, page, as_json=as_json)


def show_and_record(
    context: typer.Context,
    store: Store,
    listing: Listing[EntryT],
    page: CaughtUpPage[EntryT],
    *,
    as_json: bool,
) -> None:
    """Show a page of a view, once it is recorded that somebody reads it."""
    ids = (getattr(entry, "conversation_id", None) for entry in page.page)
    record_read(context, store, len(page.page), [each for each in ids if each is not None])
    show(store, listing, page, as_json=as_json)


def record_read(
    context: typer.Context, store: Store, entries: int, conversations: Sequence[UUID] = ()
) -> None:
    """Record that whoever is at the terminal is shown so many entries of conversations by a command."""
    if store.access.mode == "off":
        return
    command, options = str(context.info_name), context.params
    record_page(store, command, options, entries, conversations, acting_name(None))
