"""What was verified, in words and as JSON: the counts, the faults, and how far shards are sealed."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from onrecord.domain.errors import counted
from onrecord.domain.header import timestamp

if TYPE_CHECKING:
    from onrecord.adapters.upkeep.verified import Verified, VerifiedSeal
    from onrecord.projections.verification.verification import Fault


def sealed_line(seal: VerifiedSeal) -> str:
    """Return how far a shard is sealed at a place, in a line."""
    if not seal.is_checked:
        return f"shard {seal.shard} at {seal.place}: not checked"
    when = "" if seal.sealed_at is None else f" ({timestamp(seal.sealed_at)})"
    if seal.largest > seal.size:
        ends = f"{seal.size:,} of {seal.largest:,} sealed at {seal.place}{when}"
        return f"shard {seal.shard} holds up to {ends}"
    sealed = f"shard {seal.shard} is sealed to {seal.size:,} at {seal.place}{when}, {seal.pending:,} not yet"
    if seal.stamped_at is None:
        return sealed
    return f"{sealed}; an authority saw {seal.stamped:,} of them at {timestamp(seal.stamped_at)}"


def verified_summary(verified: Verified) -> str:
    """Return what was checked, in numbers."""
    erased = f", {verified.erased:,} of them erased" if verified.erased else ""
    conversations = counted(verified.conversations, "conversation")
    recorded = (
        *((verified.recorded_erasures, "erasure"), (verified.recorded_keys, "key")),
        (verified.recorded_holds, "hold"),
    )
    besides = "".join(f" and {counted(n, f'recorded {what}')}" for n, what in recorded if n)
    if classes := verified.recorded_classes:
        besides += f" and {classes:,} recorded retention class{'' if classes == 1 else 'es'}"
    return f"{counted(verified.events, 'event')} of {conversations}{besides}{erased}"


def verified_document(verified: Verified) -> dict[str, object]:
    """Return what was checked and found, as JSON has it."""
    return {
        "events": verified.events,
        "erased": verified.erased,
        "conversations": verified.conversations,
        "recorded_erasures": verified.recorded_erasures,
        "recorded_keys": verified.recorded_keys,
        "recorded_holds": verified.recorded_holds,
        "recorded_classes": verified.recorded_classes,
        "faults": [_fault_document(fault) for fault in verified.faults],
        "roots": [str(root) for root in verified.roots],
        "checked": list(verified.checked),
        "unchecked": list(verified.unchecked),
        "views": [asdict(view) for view in verified.views],
        "seals": [_seal_document(seal) for seal in verified.seals],
        "unfinished_erasures": [str(erasure) for erasure in verified.unfinished],
        "whole": verified.is_whole,
    }


def _seal_document(seal: VerifiedSeal) -> dict[str, object]:
    times = {
        name: None if time is None else timestamp(time)
        for name, time in (("sealed_at", seal.sealed_at), ("stamped_at", seal.stamped_at))
    }
    document = asdict(seal) | times | {"keys": list(seal.keys)}
    checked, pinned = document.pop("is_checked"), document.pop("is_pinned")
    return {**document, "pinned": pinned, "checked": checked}


def _fault_document(fault: Fault) -> dict[str, object]:
    return {
        "conversation": None if fault.conversation_id is None else str(fault.conversation_id),
        "version": fault.version or None,
        "why": fault.why,
    }
