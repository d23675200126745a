"""`onrecord verify`: whether the store still holds what it committed to."""

from __future__ import annotations

import sys

from onrecord.adapters.cli import output
from onrecord.adapters.cli.naming import named
from onrecord.adapters.cli.quantities import counted
from onrecord.adapters.store import Store
from onrecord.adapters.verifying import Verified
from onrecord.projections.verification import Fault


def verify(store: Store, key: str | None, *, as_json: bool) -> bool:
    """Check a conversation, or all of the store; whether all of it holds."""
    verified = store.verify(None if key is None else named(store, key).conversation_id)
    if as_json:
        output.json_line(_document(verified))
        return verified.is_whole
    for fault in verified.faults:
        output.plain(fault.conversation_id, fault.version or None, fault.why)
    summary = _summary(verified)
    if verified.is_whole:
        sys.stdout.write(f"{summary}: all of it holds.\n")
    else:
        output.told(f"onrecord: {summary}: {counted(len(verified.faults), 'fault')}")
    return verified.is_whole


def _summary(verified: Verified) -> str:
    erased = f", {verified.erased:,} of them erased" if verified.erased else ""
    conversations = counted(verified.conversations, "conversation")
    return f"{counted(verified.events, 'event')} of {conversations}{erased}"


def _document(verified: Verified) -> dict[str, object]:
    return {
        "events": verified.events,
        "erased": verified.erased,
        "conversations": verified.conversations,
        "faults": [_listed(fault) for fault in verified.faults],
        "whole": verified.is_whole,
    }


def _listed(fault: Fault) -> dict[str, object]:
    return {
        "conversation": str(fault.conversation_id),
        "version": fault.version or None,
        "why": fault.why,
    }
