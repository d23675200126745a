"""`hansard forget`: erase what was said, after asking."""

from __future__ import annotations

import sys
from typing import Final

import typer

from hansard.adapters.cli import output
from hansard.adapters.cli.naming import named
from hansard.adapters.cli.quantities import counted
from hansard.adapters.store import Store
from hansard.domain.errors import InvalidInput

_PAGES: Final = (
    "pages on PostgreSQL's disk hold what was erased until they are written over, which VACUUM "
    "lets happen in time. At once, though nobody can use these tables meanwhile: "
    "VACUUM FULL hansard.event, hansard.blob, hansard.blob_chunk, hansard.snapshot, "
    "hansard.view_conversations, hansard.view_search, hansard.view_tool_ledger, hansard.view_window"
)


def forget(store: Store, key: str, *, sure: bool, as_json: bool) -> None:
    """Erase a conversation; without `sure` only after a yes on the terminal."""
    found = named(store, key)
    if not sure:
        _ask(f"Erase {counted(found.head.version, 'event')} of {found}, for good?")
    erased = store.forget(found.conversation_id)
    if as_json:
        output.json_line({"conversation": str(found.conversation_id), "erased": erased})
    else:
        sys.stdout.write(
            f"{counted(erased, 'event')} erased; {found.conversation_id} keeps their digests.\n"
        )
    if store.url.startswith("postgres"):
        output.told(f"hansard: {_PAGES}")


def _ask(question: str) -> None:
    if not sys.stdin.isatty():
        raise InvalidInput("nobody is there to ask: say --yes to erase it")
    typer.confirm(output.flat(question), abort=True, err=True)
