"""The events of a stretch of a log, by conversation."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from hansard.domain.log import RecordedEvent
from hansard.projections.views.view import Passage, View, takes


def passages(events: Iterable[RecordedEvent], view: View) -> list[Passage]:
    """Return what a view takes of these events, conversation by conversation, each in order."""
    found: dict[UUID, list[RecordedEvent]] = {}
    for event in events:
        if takes(view, event):
            found.setdefault(event.conversation_id, []).append(event)
    return [
        Passage(of[0].client_header().tenant, conversation_id, tuple(of))
        for conversation_id, of in found.items()
    ]


def part_of(conversation_id: UUID, parts: int) -> int:
    """Return the part of its shard that a conversation belongs to, for ever: by its last byte.

    The last byte of every UUID that is made at random or by digest is evenly spread (RFC 9562).
    """
    return conversation_id.bytes[15] % parts
