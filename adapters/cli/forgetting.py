"""`onrecord forget`: erase what was said, after asking."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final
from uuid import UUID

import typer

from onrecord.adapters.cli import output
from onrecord.adapters.cli.naming import named
from onrecord.adapters.cli.quantities import counted
from onrecord.adapters.store import Listed, Store
from onrecord.domain.errors import CorruptRecord, InvalidInput

_PAGES: Final = (
    "pages on PostgreSQL's disk hold what was erased until they are written over, which VACUUM "
    "lets happen in time. At once, though nobody can use these tables meanwhile: "
    "VACUUM FULL onrecord.event, onrecord.blob, onrecord.blob_chunk, onrecord.snapshot, "
    "onrecord.view_conversations, onrecord.view_search, onrecord.view_tool_ledger, onrecord.view_window"
)

_NAMED: Final = 10
"""How many forks are named in a sentence, at the most."""


def forget(store: Store, key: str, *, sure: bool, as_json: bool) -> None:
    """Erase a conversation, and name its forks; without `sure` only after a yes on the terminal.

    It is erased before its forks are looked for, which takes longer the more is younger than it.
    """
    found = named(store, key)
    if not sure:
        _ask(f"Erase {counted(found.head.version, 'event')} of {found}, for good?")
    erased, conversation_id = store.forget(found.conversation_id), found.conversation_id
    if not as_json:
        kept = f"{conversation_id} keeps their digests"
        sys.stdout.write(f"{counted(erased, 'event')} erased; {kept}.\n")
        sys.stdout.flush()
    forks = _forks(store, conversation_id)
    if as_json:
        told = {"conversation": str(conversation_id), "erased": erased}
        output.json_line(told | {"forks": [_document(fork) for fork in forks]})
    elif forks:
        output.told(f"onrecord: {_staying(forks)}")
    if store.url.startswith("postgres"):
        output.told(f"onrecord: {_PAGES}")


def _forks(store: Store, conversation_id: UUID) -> list[Listed]:
    """Return the forks that stayed; where another conversation is damaged, say so instead."""
    try:
        return store.forks(conversation_id)
    except CorruptRecord as error:
        output.told(f"onrecord: whether there are forks of it cannot be told: {error}")
        return []


def _staying(forks: Sequence[Listed]) -> str:
    names = [output.flat(_name(fork)) for fork in forks[:_NAMED]]
    if len(forks) > _NAMED:
        names.append(f"and {len(forks) - _NAMED:,} more (--json names all)")
    return (
        f"{counted(len(forks), 'fork')} of it stayed, and the requests sent there repeat what was "
        f"said before: forget them too, if nobody is to read it: {', '.join(names)}"
    )


def _document(fork: Listed) -> dict[str, str | None]:
    return {"key": fork.key, "conversation": str(fork.conversation_id)}


def _name(fork: Listed) -> str:
    return fork.key or str(fork.conversation_id)


def _ask(question: str) -> None:
    if not sys.stdin.isatty():
        raise InvalidInput("nobody is there to ask: say --yes to erase it")
    typer.confirm(output.flat(question), abort=True, err=True)
