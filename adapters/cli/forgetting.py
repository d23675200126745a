"""`onrecord forget`: erase what was said, after asking."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Sequence
from typing import Final
from uuid import UUID

import typer

from onrecord.adapters.cli import output
from onrecord.adapters.cli.output import Named, counted, key_of, named
from onrecord.adapters.store import Store
from onrecord.domain.errors import InvalidInput

_NAMED: Final = 10
"""How many forks are named in a sentence, at the most."""


def forget(
    store: Store, key: str, reason: str | None, actor: str | None, *, sure: bool, as_json: bool
) -> None:
    """Erase a conversation, and name its forks; without `sure` only after a yes on the terminal.

    Where no reason is given, it is asked for on the terminal. Who erases is who is logged in to the
    machine, unless a name is given.
    """
    found = named(store, key)
    because = _reason() if reason is None else reason
    if not sure:
        _ask(f"Erase {counted(found.head.version, 'event')} of {found}, for good?")
    conversation_id = found.conversation_id
    done = store.forget(conversation_id, reason=because, actor=actor or getpass.getuser())
    if not as_json:
        kept = f"{conversation_id} keeps their digests"
        output.sentence(f"{counted(done.events, 'event')} erased; {kept}.")
    forks = _forks(store, conversation_id)
    if as_json:
        told = {"conversation": str(conversation_id), "erased": done.events}
        forked = [_document(fork) for fork in forks]
        output.json_line(told | {"forks": forked, "residue": list(done.residue)})
    elif forks:
        output.told(f"onrecord: {_staying(forks)}")
    for sentence in done.residue:
        output.told(f"onrecord: {sentence}")


def _forks(store: Store, conversation_id: UUID) -> list[Named]:
    """Return the forks that stayed; where another conversation is damaged, say so instead."""
    outcome = store.erasures(conversation_id)[0].outcome
    if outcome is None or outcome.forks is None:
        told = "another conversation is damaged: run `onrecord verify`"
        output.told(f"onrecord: whether there are forks of it cannot be told: {told}")
        return []
    backend = store.backend
    return [Named(key_of(backend, fork), fork, backend.head(fork)) for fork in outcome.forks]


def _reason() -> str:
    if not sys.stdin.isatty():
        raise InvalidInput("nobody is there to ask why: say it with --reason")
    told: str = typer.prompt("Why? (it is kept for good, so name nobody)", err=True)
    return told


def _staying(forks: Sequence[Named]) -> str:
    names = [output.flat(str(fork)) for fork in forks[:_NAMED]]
    if len(forks) > _NAMED:
        names.append(f"and {len(forks) - _NAMED:,} more (--json names all)")
    return (
        f"{counted(len(forks), 'fork')} of it stayed, and the requests sent there repeat what was "
        f"said before: forget them too, if nobody is to read it: {', '.join(names)}"
    )


def _document(fork: Named) -> dict[str, str | None]:
    return {"key": fork.key, "conversation": str(fork.conversation_id)}


def _ask(question: str) -> None:
    if not sys.stdin.isatty():
        raise InvalidInput("nobody is there to ask: say --yes to erase it")
    typer.confirm(output.flat(question), abort=True, err=True)
