"""What became of appends whose answer was lost, and which were sent again."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from onrecord.domain.log import Append, Duplicate, Log, NewEvent, Recorded, RecordedEvent, Verdict


def own_verdicts(log: Log, appends: Sequence[Append], verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the verdicts that the lost answer would have told, as far as they can be known.

    The log looks at ids first: so an append that was recorded the first time is a duplicate now,
    whatever version it expected, and one that was not is decided anew. A duplicate is told as
    recorded where its events stand in the log byte for byte, salts too: a salt is drawn once, so
    nobody but this append brought them. The second append of the same events in one batch stays a
    duplicate.
    """
    own, seen = list[Verdict](), set[UUID]()
    for append, verdict in zip(appends, verdicts, strict=True):
        ids = {event.event_id for event in append.events}
        if isinstance(verdict, Duplicate) and seen.isdisjoint(ids):
            own.append(_recorded(log, append, verdict) or verdict)
        else:
            own.append(verdict)
        seen |= ids
    return own


def _recorded(log: Log, append: Append, told: Duplicate) -> Recorded | None:
    stored = list(log.read(append.conversation_id, after=told.first - 1, until=told.last))
    if len(stored) != len(append.events) or not stored:
        return None
    if not all(map(_is_same, append.events, stored)):
        return None
    return Recorded(told.first, told.last, stored[-1].position)


def _is_same(sent: NewEvent, stored: RecordedEvent) -> bool:
    """Whether an event is the one that was sent; what was erased since is known by its header."""
    if (sent.event_id, sent.header) != (stored.event_id, stored.header):
        return False
    return stored.body is None or (sent.salt, sent.body) == (stored.salt, stored.body)
