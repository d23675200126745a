"""`onrecord verify`: whether the store still holds what it committed to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from onrecord.adapters.cli import output
from onrecord.adapters.cli.naming import named
from onrecord.adapters.cli.quantities import counted
from onrecord.adapters.cli.transfer import progress_of
from onrecord.adapters.clock_doubts import clock_doubts
from onrecord.adapters.store import Store
from onrecord.adapters.verifying import Verified
from onrecord.domain.merkle import Root
from onrecord.projections.verification.verification import Fault


def verify(
    store: Store, key: str | None, roots: Sequence[Root], *, views: bool, as_json: bool
) -> bool:
    """Check a conversation, or all of the store; whether all of it holds."""
    which = None if key is None else named(store, key).conversation_id
    with progress_of("Verifying") as progress:
        verified = store.verify(which, roots=roots, views=views, progress=progress)
    doubts = clock_doubts(store.backend)
    if as_json:
        output.json_line(_document(verified) | {"doubts": list(doubts)})
        return verified.is_whole
    if verified.unfinished:
        begun = counted(len(verified.unfinished), "erasure")
        advice = "whoever may erase finishes it: run `onrecord sweep`"
        output.told(f"onrecord: {begun} begun and not finished: {advice}")
    for fault in verified.faults:
        output.plain(fault.conversation_id, fault.version or None, fault.why)
    summary = _summary(verified)
    if verified.is_whole:
        output.sentence(f"{summary}: all of it holds.")
    else:
        output.told(f"onrecord: {summary}: {counted(len(verified.faults), 'fault')}")
    for line in (*_told(verified), *(f"onrecord: {doubt}" for doubt in doubts)):
        output.told(line)
    return verified.is_whole


def _told(verified: Verified) -> Iterator[str]:
    """Yield what else is to be said, a line each; it stands beside the faults, for a person."""
    yield from (f"checked: {what}" for what in verified.checked)
    yield from (f"not checked: {what}" for what in verified.unchecked)
    yield from (f"root: {root}" for root in verified.roots)


def _summary(verified: Verified) -> str:
    erased = f", {verified.erased:,} of them erased" if verified.erased else ""
    conversations = counted(verified.conversations, "conversation")
    erasures = verified.recorded_erasures
    besides = f" and {counted(erasures, 'recorded erasure')}" if erasures else ""
    return f"{counted(verified.events, 'event')} of {conversations}{besides}{erased}"


def _document(verified: Verified) -> dict[str, object]:
    return {
        "events": verified.events,
        "erased": verified.erased,
        "conversations": verified.conversations,
        "recorded_erasures": verified.recorded_erasures,
        "faults": [_listed(fault) for fault in verified.faults],
        "roots": [str(root) for root in verified.roots],
        "checked": list(verified.checked),
        "unchecked": list(verified.unchecked),
        "views": [asdict(view) for view in verified.views],
        "unfinished_erasures": [str(found) for found in verified.unfinished],
        "whole": verified.is_whole,
    }


def _listed(fault: Fault) -> dict[str, object]:
    return {
        "conversation": None if fault.conversation_id is None else str(fault.conversation_id),
        "version": fault.version or None,
        "why": fault.why,
    }
