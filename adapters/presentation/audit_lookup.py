"""What the log alone knows of an entry of the audit: who did what operators do, what a redaction says."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from onrecord.adapters.presentation.audit_entries import REDACTED
from onrecord.adapters.store import Store, backend_of
from onrecord.adapters.upkeep.erasing import erasures_of

if TYPE_CHECKING:
    from onrecord.projections.views.audit import AuditEntry


def whole_entry(store: Store, entry: AuditEntry) -> AuditEntry:
    """Return an entry with what only the log tells: who did what operators do, what a redaction says.

    Operators are in no directory of actors: the fact itself names them.
    """
    if entry.type == REDACTED:
        # Here: it imports `projections.views.audit`, which the command line begins without.
        from onrecord.adapters.presentation.redaction_entries import with_redaction

        return with_redaction(store, entry)
    deed = entry.erasure or entry.hold or entry.retention
    if deed is None or entry.actor_name is not None:
        return entry
    return replace(entry, actor_name=deed.actor or _ender(store, entry))


def without_key(store: Store, entry: AuditEntry) -> AuditEntry:
    """Return the whole entry without the key of its conversation."""
    return replace(whole_entry(store, entry), key=None)


def _ender(store: Store, entry: AuditEntry) -> str | None:
    """Return who ended an erasure, where it is who intended it: the outcome itself names nobody."""
    backend = backend_of(store)
    if entry.erasure is None:
        return None
    erasures = erasures_of(backend.read, store.tenant, entry.erasure.conversation_id)
    names = (erasure.intention.actor for erasure in erasures)
    return next((name for name in names if backend.digest(name).hex() == entry.actor), None)
