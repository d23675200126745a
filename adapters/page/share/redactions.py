"""What was redacted in a conversation, and the natures of its events: read from the log."""

from __future__ import annotations

from uuid import UUID

from onrecord.adapters.page.conversation.event_ranges import EventRange
from onrecord.adapters.page.share.hiding import Nature, Redactions, nature_of
from onrecord.adapters.presentation.conversations import NamedConversation
from onrecord.adapters.streams.lineage import LineSegment, amendments
from onrecord.domain.log import Backend


def redactions_of(backend: Backend, conversation: NamedConversation) -> Redactions:
    """Return what was redacted of a conversation, on whatever branch it was said so."""
    conversation_id = conversation.conversation_id
    whole = LineSegment(conversation_id, conversation.head.version)
    redacted = amendments(backend, (whole,)).redacted
    versions = frozenset(version for owner, version in redacted if owner == conversation_id)
    calls = {_call_id(backend, conversation_id, version) for version in versions}
    return Redactions(versions, frozenset(call for call in calls if call is not None))


def natures_in(
    backend: Backend, conversation_id: UUID, event_range: EventRange
) -> dict[int, Nature]:
    """Return the natures of the events of a range, by their versions."""
    read = backend.read(conversation_id, after=event_range.after, until=event_range.until)
    return {event.version: nature_of(event.event()) for event in read}


def _call_id(backend: Backend, conversation_id: UUID, version: int) -> str | None:
    natures = natures_in(backend, conversation_id, EventRange(version - 1, version))
    return next((nature.call_id for nature in natures.values()), None)
