"""An entry of the audit: who did what to which conversation, in words and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Final, NamedTuple

from onrecord.domain.errors import counted
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.retention.retention_records import class_text

if TYPE_CHECKING:
    from onrecord.adapters.presentation.redaction_entries import Redaction
    from onrecord.projections.views.audit import AuditEntry, ErasureDeed, HoldDeed, RetentionDeed

_ACTOR_DIGITS: Final = 8
REDACTED: Final = "content.redacted"
"""The type of the event that is a redaction."""


class AuditCells(NamedTuple):
    """What is listed of an entry of the audit, in the order of its columns."""

    recorded_at: int
    actor: str | None
    conversation: str
    version: int
    type: str
    model: str | None
    tool: str | None
    about: str | None
    on_behalf_of: str | None
    outcome: str | None


def audit_cells(entry: AuditEntry, name: str) -> AuditCells:
    """Return what is listed of an entry; `name` is that of its conversation.

    The stream of what operators did has no name: what they did it to is meant.
    """
    on = entry.erasure or entry.hold or entry.retention
    return AuditCells(
        recorded_at=entry.recorded_at,
        actor=_person(entry.actor_name, entry.actor),
        conversation=name if on is None else str(on.conversation_id or "all"),
        version=entry.version,
        type=entry.type,
        model=entry.model,
        tool=entry.tool,
        about=_about(entry),
        on_behalf_of=_person(entry.on_behalf_of_name, entry.on_behalf_of),
        outcome=entry.outcome,
    )


def _about(entry: AuditEntry) -> str | None:
    """Return what an operator's fact or a redaction says."""
    if (redaction := redaction_of(entry)) is not None:
        reason = f": {redaction.short_reason}" if redaction.short_reason else ""
        return f"version {redaction.version}{reason}"
    return _kept_text(entry) if entry.erasure is None else _erasure_text(entry.erasure)


def redaction_of(entry: AuditEntry) -> Redaction | None:
    """Return what a redaction says; None of other entries, and where it is erased or redacted itself."""
    if entry.type != REDACTED:
        return None
    # Here: it imports `projections.views.audit`, which the command line begins without.
    from onrecord.adapters.presentation.redaction_entries import RedactionEntry

    return entry.redaction if isinstance(entry, RedactionEntry) else None


def _person(name: str | None, digest: str | None) -> str | None:
    """Return the name of somebody, or the first digits of its digest once it is forgotten."""
    return name or (None if digest is None else digest[:_ACTOR_DIGITS])


def _kept_text(entry: AuditEntry) -> str | None:
    """Return what was done about a hold or a retention class, by whom and why."""
    if entry.hold is not None:
        matter = f" for {entry.hold.matter!r}" if entry.hold.matter else ""
        return f"{entry.hold.actor}{matter}: {entry.hold.reason}"
    if entry.retention is None:
        return None
    of = entry.retention
    label = (
        "" if of.label is None else f" for the label {'='.join(filter(None, (of.label, of.value)))}"
    )
    if of.keep is None:
        return f"{of.actor}: taken back{label}, {of.reason}"
    return f"{of.actor}: {class_text(of.keep)}{label}, {of.rule}"


def _erasure_text(erasure: ErasureDeed) -> str:
    if erasure.hold is not None:
        return f"refused: the legal hold {erasure.hold} keeps it"
    if erasure.events is None:
        what = f" (the name of {erasure.named[:_ACTOR_DIGITS]})" if erasure.named else ""
        if erasure.subject:
            what = f" (the subject {erasure.subject[:_ACTOR_DIGITS]}, {erasure.rule})"
        return f"{erasure.actor}{what}: {erasure.reason}"
    if erasure.forks is None:
        return f"{counted(erasure.events, 'event')} erased; whether forks stay cannot be told"
    stay = f"; forks that stay: {', '.join(map(str, erasure.forks))}" if erasure.forks else ""
    return f"{counted(erasure.events, 'event')} erased{stay}"


def facts_document(entry: AuditEntry) -> JsonObject:
    """Return what an operator's fact or a redaction says as JSON: ids as text, null where there is none."""
    if entry.erasure is None:
        return {"erasure": None, **_kept(entry)}
    document = asdict(entry.erasure)
    forks = entry.erasure.forks
    ids = {
        "conversation_id": str(entry.erasure.conversation_id),
        "forks": None if forks is None else list(map(str, forks)),
    }
    ids["hold"] = None if entry.erasure.hold is None else str(entry.erasure.hold)
    return {"erasure": document | ids, **_kept(entry)}


def _kept(entry: AuditEntry) -> JsonObject:
    """Return what was done about a hold or a retention class, or what a redaction says, as JSON."""
    redaction = redaction_of(entry)
    return {
        "hold": _document(entry.hold),
        "retention": _document(entry.retention),
        "redaction": None if redaction is None else asdict(redaction),
    }


def _document(deed: HoldDeed | RetentionDeed | None) -> JsonObject | None:
    if deed is None:
        return None
    on = deed.conversation_id
    return asdict(deed) | {"conversation_id": None if on is None else str(on)}
