"""`onrecord sweep`: delete the documents that no event refers to, and what forgetting left on the disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

from onrecord.adapters.cli import output
from onrecord.adapters.cli.quantities import counted
from onrecord.adapters.store import Store

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
