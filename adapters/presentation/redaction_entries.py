"""Redactions in lists of the audit: which event went, and why, as the log has it at that moment.

The view keeps neither: they are content of the conversation, and go when that is erased, or when the redaction
itself is redacted.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, fields
from typing import Final

from onrecord.adapters.store import Store, backend_of
from onrecord.adapters.views.late_redactions import redactions_behind, versions_redacted
from onrecord.domain.errors import CorruptRecord
from onrecord.domain.events import ContentRedacted
from onrecord.domain.log import Log
from onrecord.projections.views.audit import AuditEntry

_LONGEST: Final = 200
"""Characters of a reason in a list."""


@dataclass(frozen=True, slots=True)
class Redaction:
    """What a redaction says: the version of the event that it leaves out, and why."""

    version: int
    reason: str | None = None

    @property
    def short_reason(self) -> str | None:
        """Return how the reason begins, as a list shows it; None where there is none."""
        if self.reason is None or len(self.reason) <= _LONGEST:
            return self.reason or None
        return f"{self.reason[: _LONGEST - 1]}…"


@dataclass(frozen=True, slots=True)
class RedactionEntry(AuditEntry):
    """An entry of the audit that is a redaction; `redaction` is None once it is erased or redacted itself."""

    redaction: Redaction | None = None


def with_redaction(store: Store, entry: AuditEntry) -> RedactionEntry:
    """Return the entry of a redaction with what that says, read from the log."""
    known = {each.name: getattr(entry, each.name) for each in fields(AuditEntry)}
    return RedactionEntry(**known, redaction=_redaction(store, entry))


def _redaction(store: Store, entry: AuditEntry) -> Redaction | None:
    backend = backend_of(store)
    read = backend.read(entry.conversation_id, after=entry.version - 1, until=entry.version)
    with suppress(CorruptRecord):  # One that cannot be read is still listed.
        for recorded in read:
            event = recorded.event()
            if isinstance(event, ContentRedacted) and not _is_redacted(backend, entry):
                return Redaction(event.version, event.reason)
    return None


def _is_redacted(log: Log, entry: AuditEntry) -> bool:
    """Return whether an event is redacted by now, as the log has it."""
    redactions = redactions_behind(log, entry.conversation_id, entry.position)
    redacted = versions_redacted(redactions).get(str(entry.conversation_id), frozenset())
    return entry.version in redacted
