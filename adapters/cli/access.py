"""`onrecord access`: who read what; and how commands record that a person reads."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Final, TypeVar
from uuid import UUID

import typer

from onrecord.adapters.cli.program import AsJson, Url, acting_name, opened, time_given
from onrecord.adapters.terminal import output
from onrecord.adapters.terminal.output import named
from onrecord.adapters.terminal.reads import record_page
from onrecord.adapters.terminal.tables import Cell, Column, Kind, show_rows
from onrecord.adapters.terminal.view_pages import Listing, show
from onrecord.domain.header import timestamp
from onrecord.domain.jsontext import JsonObject

if TYPE_CHECKING:
    from onrecord.adapters.store import Store
    from onrecord.adapters.terminal.view_pages import CaughtUpPage
    from onrecord.projections.access.access_records import AccessEntry

EntryT = TypeVar("EntryT")

_DIGITS: Final = 8
_COLUMNS: Final = (
    Column("read", Kind.TIME),
    Column("by", Kind.NAME),
    Column("via", Kind.NAME),
    Column("conversation", Kind.KEY),
    Column("entries", Kind.COUNT),
    Column("asked", Kind.TEXT),
)


def access(
    context: typer.Context,
    conversation: Annotated[
        str | None,
        typer.Option(
            "--conversation",
            "-c",
            metavar="KEY",
            help="What showed something of this conversation: its key, or its id.",
        ),
    ] = None,
    actor: Annotated[
        str | None, typer.Option(metavar="NAME", help="Who read it: the name, or its digest.")
    ] = None,
    since: Annotated[
        datetime | None,
        typer.Option(
            metavar="TIME",
            parser=time_given,
            help="From that time on: a day or a time, in UTC unless it says otherwise.",
            show_default="30 days before --until, else 30 days ago",
        ),
    ] = None,
    until: Annotated[
        datetime | None, typer.Option(metavar="TIME", parser=time_given, help="Before that time.")
    ] = None,
    limit: Annotated[
        int, typer.Option(min=1, max=1_000_000, metavar="N", help="Show at most N entries.")
    ] = 50,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Show who read what and when, the last first; nothing of what was read.

    People are told of each time, programs by how often they read in a minute. It is recorded where
    ONRECORD_ACCESS_LOG says so. Piped: time, who, command or route, key (else the id) of the conversation,
    how many entries, names of the options of a query.

    Example: `onrecord access --conversation support/4711 --since 2026-03-01`
    """
    with opened(context, url) as store:
        found = store.access.entries(
            since=since,
            until=until,
            actor=actor,
            conversation=None
            if conversation is None
            else named(store, conversation).conversation_id,
            limit=limit,
        )
        record_read(context, store, len(found))
    if as_json:
        for entry in found:
            output.json_line(_document(entry))
        return
    show_rows(_COLUMNS, [_row(entry) for entry in found])
    if not found:
        output.note("nothing was found")


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


def _row(entry: AccessEntry) -> tuple[Cell, ...]:
    on = None if entry.conversation_id is None else str(entry.conversation_id)
    reader = entry.actor_name or (None if entry.actor is None else entry.actor[:_DIGITS])
    counts = ", ".join(f"{verb} {times:,}" for verb, times in sorted(entry.reads.items()))
    shown = sum(entry.reads.values()) if entry.reads else entry.entries
    return entry.at, reader, entry.via or counts, entry.key or on, shown, ", ".join(entry.asked)


def _document(entry: AccessEntry) -> JsonObject:
    return {
        "at": timestamp(entry.at),
        "actor": entry.actor,
        "actor_name": entry.actor_name,
        "via": entry.via,
        "key": entry.key,
        "conversation": None if entry.conversation_id is None else str(entry.conversation_id),
        "entries": entry.entries,
        "conversations": [str(each) for each in entry.conversations],
        "more": entry.more,
        "asked": list(entry.asked),
        "query": entry.query,
        "reads": dict(entry.reads) or None,
        "key_id": None if entry.key_id is None else str(entry.key_id),
    }
