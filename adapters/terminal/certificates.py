"""A certificate of erasure for somebody who reads it, and the conversations that would go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from onrecord.adapters.terminal import output
from onrecord.domain.errors import counted
from onrecord.domain.header import timestamp

if TYPE_CHECKING:
    from onrecord.adapters.subjects.certificate import ErasureCertificate
    from onrecord.adapters.subjects.store_subjects import SubjectConversation


def write_certificate(certificate: ErasureCertificate, *, as_json: bool) -> None:
    """Write a certificate: drawn on a terminal as text, else as one line of JSON."""
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
        else f"a KMS can undo it until {timestamp(until)}"
    )
    lines = [
        "Certificate of erasure",
        f"  erasure        {of.erasure_id}",
        f"  subject        {of.subject} (keyed digest)",
        f"  key            {of.key}, destroyed",
        f"  generations    {', '.join(of.retired) or 'none'} retired; {undoable}",
        f"  erased         {counted(of.events, 'event')} of {counted(of.conversations, 'conversation')}",
        f"  by             {of.actor}, {timestamp(of.intended_at)} to {timestamp(of.completed_at)}",
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


def write_due(
    found: Sequence[SubjectConversation], keys: Mapping[UUID, str], *, as_json: bool
) -> None:
    """Write the conversations of a subject, each with its key and the hold that keeps it."""
    for each in found:
        key = keys.get(each.conversation_id)
        hold = None if each.hold is None else str(each.hold.hold_id)
        if as_json:
            output.json_line(
                {
                    "conversation": str(each.conversation_id),
                    "key": key,
                    "events": each.events,
                    "hold": hold,
                }
            )
        else:
            output.plain(each.conversation_id, key, each.events, hold)
