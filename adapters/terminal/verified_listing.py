"""What `onrecord verify` prints: faults as rows, and for a person what was checked and sealed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from onrecord.adapters.presentation.verification import sealed_line, verified_summary
from onrecord.adapters.terminal import output
from onrecord.domain.errors import counted

if TYPE_CHECKING:
    from onrecord.adapters.upkeep.verified import Verified


def write_verified(verified: Verified, doubts: Iterable[str]) -> None:
    """Write the faults, and beside them, for a person, what else is to be said."""
    if verified.unfinished:
        unfinished = counted(len(verified.unfinished), "erasure")
        advice = "whoever may erase finishes it: run `onrecord sweep`"
        output.note(f"onrecord: {unfinished} begun and not finished: {advice}")
    for fault in verified.faults:
        output.plain(fault.conversation_id, fault.version or None, fault.why)
    counts = verified_summary(verified)
    if verified.is_whole:
        output.sentence(f"{counts}: all of it holds.")
    elif verified.faults:
        output.note(f"onrecord: {counts}: {counted(len(verified.faults), 'fault')}")
    else:
        output.note(f"onrecord: {counts}: no fault, but the seals could not be checked")
    for heading, lines in (
        ("checked", verified.checked),
        ("not checked", verified.unchecked),
        ("root", verified.roots),
        ("seal", map(sealed_line, verified.seals)),
        ("onrecord", doubts),
    ):
        for line in lines:
            output.note(f"{heading}: {line}")
