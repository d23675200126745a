"""A certificate of erasure for somebody who reads it, and the conversations that would go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final
from uuid import UUID

from onrecord.adapters.presentation.control_characters import flat
from onrecord.adapters.presentation.sizes_and_times import moment
from onrecord.adapters.store import Store, backend_of
from onrecord.adapters.streams.lineage import keys_of
from onrecord.adapters.terminal import output
from onrecord.adapters.terminal.tables import Cell, Column, Kind, show_rows
from onrecord.domain.errors import counted

if TYPE_CHECKING:
    from onrecord.adapters.subjects.certificate import ErasureCertificate
    from onrecord.adapters.subjects.store_subjects import SubjectConversation

_DUE_MEMBERS: Final = ("conversation", "key", "events", "hold")
_DUE_COLUMNS: Final = (
    *(Column("id", Kind.KEY), Column("conversation", Kind.KEY), Column("events", Kind.COUNT)),
    Column("on hold", Kind.NAME),
)


def write_certificate(certificate: ErasureCertificate, *, is_new: bool, as_json: bool) -> None:
    """Write a certificate: drawn on a terminal as text, else as one line of JSON.

    Standard error says of one that is not new that nobody was erased now, of another what to back up.
    """
    if not is_new:
        output.note(
            f"Nothing was said since: this is the certificate of {moment(certificate.completed_at)}. "
            "No other reason and no other rule is recorded."
        )
    elif certificate.retired:
        keys = "the key store"
        if certificate.undoable_until is None:  # A KMS has no backup.
            keys = f"the key-encryption key and {keys}"
        output.note(f"Back up {keys} now: backups and copies from before no longer serve.")
    if as_json or not output.is_drawn():
        output.json_line(certificate.document())
        return
    for line in certificate_lines(certificate):
        output.sentence(line)


def certificate_lines(certificate: ErasureCertificate) -> list[str]:
    """Return a certificate as people read it, line by line."""
    of = certificate
    until = of.undoable_until
    undoable = (
        "this store cannot bring it back"
        if until is None
        else f"a KMS can undo it until {moment(until)}"
    )
    lines = [
        "Certificate of erasure",
        f"  erasure        {of.erasure_id}",
        f"  subject        {of.subject} (keyed digest)",
        f"  key            {of.key}, destroyed",
        f"  generations    {', '.join(of.retired) or 'none'} retired; {undoable}",
        f"  erased         {counted(of.events, 'event')} of {counted(of.conversations, 'conversation')}",
        f"  by             {of.actor}, {moment(of.intended_at)} to {moment(of.completed_at)}",
        f"  because        {of.reason}",
        f"  rule           {of.rule}",
    ]
    lines += [
        f"  sealed         {each.origin} at {each.size}: {each.hash.hex()}"
        for each in of.checkpoints
    ]
    return [
        *lines,
        "What it does not reach:",
        *(f"  - {each}" for each in (*of.bounds, *of.residue)),
    ]


def write_due(store: Store, subject: str, *, as_json: bool) -> None:
    """Write the conversations of a subject, each with its key and the hold that keeps it.

    Standard error says which of them are about others as well.
    """
    found = store.subjects.conversations(subject)
    keys = keys_of(backend_of(store), [each.conversation_id for each in found])
    if not found:
        output.note("nothing is under a key of that subject: check the name")
    rows = [_due_row(each, keys) for each in found]
    if as_json:
        for row in rows:
            output.json_line(dict(zip(_DUE_MEMBERS, row, strict=True)))
    else:
        show_rows(_DUE_COLUMNS, rows)
    if shared := [each for each in found if each.others]:
        output.note(f"{_about_others(shared)}: {', '.join(_name(each, keys) for each in shared)}")


def question(store: Store, subject: str, record: str, destroyed_key: str | None) -> str:
    """Return what is asked before a subject is erased; `record` is what is kept of that for good."""
    if destroyed_key is not None:
        what = f"what is under its destroyed key {destroyed_key}"
        return f"The record keeps for good: {record}. Erase the subject {subject!r}: {what}?"
    found = store.subjects.conversations(subject)
    shared = [each for each in found if each.others]
    others = f" {_about_others(shared)}." if shared else ""
    return (
        f"The record keeps for good: {record}.{others} "
        f"Erase the subject {subject!r}: the key, and {counted(len(found), 'conversation')}?"
    )


def _about_others(shared: Sequence[SubjectConversation]) -> str:
    what = "is about others too, and goes" if len(shared) == 1 else "are about others too, and go"
    return f"{counted(len(shared), 'conversation')} {what} for them as well"


def _name(each: SubjectConversation, keys: Mapping[UUID, str]) -> str:
    return flat(keys.get(each.conversation_id) or str(each.conversation_id))


def _due_row(each: SubjectConversation, keys: Mapping[UUID, str]) -> tuple[Cell, ...]:
    hold = None if each.hold is None else str(each.hold.hold_id)
    return str(each.conversation_id), keys.get(each.conversation_id), each.events, hold
