"""What later events make of a conversation's events: given up, aside, redacted, summed up."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple
from uuid import UUID

from onrecord.adapters.streams.lineage import (
    Adoption,
    Compaction,
    adoptions_before,
    amendments,
    lineage,
)
from onrecord.domain.log import Log
from onrecord.projections.history.side_branches import Lost
from onrecord.projections.history.timeline import Row, Standing


class HistoryChanges(NamedTuple):
    """What later events make of a conversation's own events.

    `losses` tells why an event is no history. The versions in `redacted` are left out of requests.
    `compaction` is the summary that counts, if it is one of this conversation.
    """

    losses: Standing
    redacted: Container[int]
    compaction: Compaction | None


def changes_at(log: Log, conversation: UUID, version: int) -> HistoryChanges:
    """Return what the events up to a version make of each other."""
    main = lineage(log, conversation, version)
    segments = [s for s in main if s.conversation_id == conversation]
    amending = amendments(log, main)
    # What amends the history holds for it wherever it was recorded.
    own = (event for event in amending.recorded() if event.conversation_id == conversation)
    holding = {event.version for event in own}
    adoptions = list(adoptions_before(log, conversation, version))

    def lost(at: int, line: UUID | None) -> Lost | None:
        if at in holding or any(s.line == line and s.has(at) for s in segments):
            return None
        return "given up" if line is None or any(_took(a, at, line) for a in adoptions) else "aside"

    redacted = {at for owner, at in amending.redacted if owner == conversation}
    compaction = amending.compaction
    is_own = compaction is not None and compaction.recorded.conversation_id == conversation
    return HistoryChanges(lost, redacted, compaction if is_own else None)


def _took(adoption: Adoption, at: int, line: UUID) -> bool:
    begun = adoption.event.begun
    return adoption.event.adopted == line and begun is not None and begun <= at < adoption.version


def with_redactions(rows: Iterable[Row], redacted: Container[int]) -> Iterator[Row]:
    """Yield rows, those of redacted versions with a mark."""
    for row in rows:
        is_redacted = row.version in redacted and row.kind != "line"
        yield replace(row, marks=(*row.marks, "redacted")) if is_redacted else row
