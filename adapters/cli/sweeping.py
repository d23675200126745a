"""`onrecord sweep`: delete the documents that no event refers to."""

from __future__ import annotations

import sys
from datetime import timedelta

from onrecord.adapters.cli import output
from onrecord.adapters.cli.quantities import counted
from onrecord.adapters.store import Store


def sweep(store: Store, hours: float, *, as_json: bool) -> None:
    """Delete what has waited for its event for so many hours, and say how much that was."""
    swept = store.sweep(older_than=timedelta(hours=hours))
    if as_json:
        output.json_line({"swept": swept})
    elif swept:
        sys.stdout.write(f"{counted(swept, 'blob')} deleted that no event refers to.\n")
    else:
        sys.stdout.write("Nothing to delete: an event refers to each blob, or may yet.\n")
