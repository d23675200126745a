"""The store that a command works on: who acts in it, what is written of it, and who reads that."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

import typer

from onrecord.adapters.cli.program.options import STANDARD_INPUT
from onrecord.adapters.presentation.conversations import require_conversation
from onrecord.adapters.terminal import output
from onrecord.adapters.terminal.reads import record_page
from onrecord.adapters.terminal.view_pages import Listing, caught_up, show
from onrecord.domain.errors import InvalidInput

if TYPE_CHECKING:
    from onrecord.adapters.store import Store
    from onrecord.adapters.terminal.view_pages import CaughtUpPage
    from onrecord.adapters.views.pages import Page
    from onrecord.adapters.views.reading import Views

EntryT = TypeVar("EntryT")


@contextmanager
def opened(context: typer.Context, url: str | None, *, made: bool = False) -> Generator[Store]:
    """Open the store; only a command that writes makes one."""
    from onrecord.adapters.app import connect, is_there, shown
    from onrecord.adapters.settings import settings
    from onrecord.adapters.store import tenancy_of
    from onrecord.adapters.streams.event_reading import uncounted
    from onrecord.adapters.terminal.reads import record_conversation
    from onrecord.domain.errors import StorageUnavailable

    place = url or context.obj
    if not made and not is_there(place):
        raise StorageUnavailable(
            f"there is no store at {shown(place or settings().url)}: name one with --url or "
            "ONRECORD_URL, make one with `onrecord migrate`, or see `onrecord demo --keep`"
        )
    with connect(place) as store:
        tenancy_of(store).count = uncounted  # Who is at a terminal is no program.
        if store.access.mode != "off":
            command = str(context.info_name)
            record_conversation(store, command, context.params, acting_name(None))
        yield store


def note_ciphertext(store: Store, meaning: str) -> None:
    """Say what it means that a store is encrypted, where it is."""
    from onrecord.adapters.encryption.encrypted_log import EncryptedLog
    from onrecord.adapters.store import backend_of

    if isinstance(backend_of(store), EncryptedLog):
        output.note(f"The store is encrypted: {meaning}.")


def write_pieces(
    store: Store, file: Path | None, pieces: Iterable[bytes], *, replace: bool | None = None
) -> int | None:
    """Write pieces to a file, and return how many bytes; None where they went to standard output.

    A file is written whole or not at all. One that is there stays, unless `replace` says that it goes; None
    where the command has no such option. The files of the store itself stay in any case.
    """
    from onrecord.adapters.storage.atomic_files import write_atomically
    from onrecord.adapters.store import backend_of, tenancy_of
    from onrecord.adapters.upkeep.files import files_of

    if file is None or file == STANDARD_INPUT:
        for piece in pieces:
            output.raw(piece)
        return None
    files_of(store.url, backend_of(store), tenancy_of(store).spool).must_not_have(file)
    try:
        return write_atomically(file, pieces, replace=bool(replace))
    except FileExistsError as exc:
        otherwise = "choose another name" if replace is None else "choose another, or say --force"
        raise InvalidInput(f"{file} is there already: {otherwise}") from exc
    except OSError as exc:
        raise InvalidInput(f"{file} cannot be written: {exc.strerror}") from exc


def acting_name(actor: str | None) -> str:
    """Return who acts at a terminal: who is named, else `$ONRECORD_ACTOR`, else who is logged in."""
    from onrecord.adapters.settings import local_actor

    return actor or local_actor()


def registered(store: Store, references: Sequence[str] | None) -> list[str]:
    """Let a store know projections by the modules that have them; return their names."""
    from onrecord.adapters.views.own_projections import load_projection

    if references and "" not in sys.path:
        sys.path.insert(0, "")  # A module in this folder is found, as `python -m` finds it.
    return [store.views.register(load_projection(reference)) for reference in references or ()]


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


def show_page(
    context: typer.Context,
    url: str | None,
    listing: Listing[Any],
    query: Callable[[Views, Callable[[str | None], UUID | None]], Page[Any]],
    *,
    as_json: bool,
) -> None:
    """Show the page that a query gives; it gets the views, and the ids of conversations by name."""
    with opened(context, url) as store:

        def id_of(name: str | None) -> UUID | None:
            # A key may look like an id, so an id is looked for as a key first.
            return None if name is None else require_conversation(store, name).conversation_id

        page = caught_up(store, lambda: query(store.views, id_of))
        show_and_record(context, store, listing, page, as_json=as_json)
