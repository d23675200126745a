"""Redactions in lists of the audit: which event went, and why, as the log has it at that moment.

The view keeps neither: they are content of the conversation, and go with it when that is erased.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, fields

from onrecord.adapters.store import Store, backend_of
from onrecord.domain.errors import CorruptRecord
from onrecord.domain.events import ContentRedacted
from onrecord.projections.views.audit import AuditEntry


@dataclass(frozen=True, slots=True)
class Redaction:
    """What a redaction says: the version of the event that it leaves out, and why."""

    version: int
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class RedactionEntry(AuditEntry):
    """An entry of the audit that is a redaction; `redaction` is None once the log has it no more."""

    redaction: Redaction | None = None


def with_redaction(store: Store, entry: AuditEntry) -> RedactionEntry:
    """Return the entry of a redaction with what that says, read from the log."""
    known = {each.name: getattr(entry, each.name) for each in fields(AuditEntry)}
    return RedactionEntry(**known, redaction=_redaction(store, entry))


def _redaction(store: Store, entry: AuditEntry) -> Redaction | None:
    read = backend_of(store).read(
        entry.conversation_id, after=entry.version - 1, until=entry.version
    )
    with suppress(CorruptRecord):  # One that cannot be read is still listed.
        for recorded in read:
            event = recorded.event()
            if isinstance(event, ContentRedacted):
                return Redaction(event.version, event.reason)
    return None
