"""The store that a command works on: who acts in it, and which projections it knows."""

from __future__ import annotations

import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from onrecord.adapters.terminal import output

if TYPE_CHECKING:
    from onrecord.adapters.store import Store


@contextmanager
def open_store(
    context: typer.Context, url: str | None, *, create: bool = False
) -> Generator[Store]:
    """Open the store; with `create` it is made where there is none."""
    from onrecord.adapters.app import connect, is_there, shown
    from onrecord.adapters.settings import settings
    from onrecord.adapters.store import tenancy_of
    from onrecord.adapters.streams.event_reading import uncounted
    from onrecord.adapters.terminal.reads import record_conversation
    from onrecord.domain.errors import StorageUnavailable

    place = url or context.obj
    if not create and not is_there(place):
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


def acting_name(actor: str | None) -> str:
    """Return who acts at a terminal: who is named, else `$ONRECORD_ACTOR`, else who is logged in."""
    from onrecord.adapters.settings import local_actor

    return actor or local_actor()


def register_projections(store: Store, references: Sequence[str] | None) -> list[str]:
    """Let a store know projections by the modules that have them; return their names."""
    from onrecord.adapters.views.own_projections import load_projection

    if references and "" not in sys.path:
        sys.path.insert(0, "")  # A module in this folder is found, as `python -m` finds it.
    return [store.views.register(load_projection(reference)) for reference in references or ()]
