"""`onrecord verify`: whether the store still holds what it committed to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import Final

from onrecord.adapters import app
from onrecord.adapters.cli import output
from onrecord.adapters.cli.output import counted, named
from onrecord.adapters.cli.transfer import progress_of
from onrecord.adapters.storage.clocks import clock_doubts
from onrecord.adapters.store import Store
from onrecord.adapters.upkeep.verifying import Verified
from onrecord.domain.header import Root
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


# `onrecord migrate`: bring a store to this release's schema.


def migrate(url: str | None, *, as_json: bool) -> None:
    """Migrate a store and say how many steps that took."""
    steps = app.migrate(url)
    if as_json:
        output.json_line({"steps": steps})
    elif steps:
        output.sentence(f"Done, in {counted(steps, 'step')}.")
    else:
        output.sentence("Nothing to do: the schema is this release's.")


# `onrecord sweep`: delete the documents that no event refers to, and what forgetting left on the
# disk.

_NAMED: Final = 2
"""How many files are named in a sentence, at the most: a schema has many more tables."""


def sweep(store: Store, hours: float, *, rewrite: bool, as_json: bool) -> None:
    """Delete what has waited for its event for so many hours, and say what is left to do."""
    done = store.sweep(timedelta(hours=hours), rewrite=rewrite)
    if as_json:
        left = {
            "rewritten": list(done.rewritten),
            "residue": list(done.residue),
            "doubts": list(done.doubts),
        }
        output.json_line({"swept": done.documents} | left)
    else:
        output.sentence(" ".join((*_rewritten(done.rewritten), _deleted(done.documents))))
    for sentence in (*done.residue, *done.doubts):
        output.told(f"onrecord: {sentence}")


def _rewritten(names: Sequence[str]) -> Iterator[str]:
    """Yield what was written anew, if anything was."""
    if names:
        what = " and ".join(names) if len(names) <= _NAMED else counted(len(names), "table")
        held = "it" if len(names) == 1 else "them"
        yield f"Wrote {what} anew: nothing of what was forgotten is left in {held}."


def _deleted(documents: int) -> str:
    if documents:
        return f"{counted(documents, 'document')} deleted that no event refers to."
    return "No unreferenced documents to delete."
