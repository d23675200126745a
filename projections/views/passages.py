"""The events of a stretch of a log, by conversation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from uuid import UUID

from hansard.domain.log import RecordedEvent
from hansard.projections.views.view import Passage, View


def passages(events: Iterable[RecordedEvent], view: View) -> list[Passage]:
    """Return what a view takes of these events, conversation by conversation, each in order."""
    return taken(by_conversation(events), view)


def by_conversation(events: Iterable[RecordedEvent]) -> list[Passage]:
    """Return these events conversation by conversation, each in order, before any view chooses."""
    found: dict[UUID, list[RecordedEvent]] = {}
    for event in events:
        found.setdefault(event.conversation_id, []).append(event)
    return [
        Passage(of[0].client_header().tenant, conversation_id, tuple(of))
        for conversation_id, of in found.items()
    ]


def taken(found: Sequence[Passage], view: View) -> list[Passage]:
    """Return what a view takes of passages."""
    if not view.types:
        return list(found)
    chosen: list[Passage] = []
    for passage in found:
        events = tuple(event for event in passage.events if event.type in view.types)
        if events:
            chosen.append(
                passage if len(events) == len(passage.events) else replace(passage, events=events)
            )
    return chosen


def part_of(conversation_id: UUID, parts: int) -> int:
    """Return the part of its shard that a conversation belongs to, for ever: by its last byte.

    The last byte of every UUID that is made at random or by digest is evenly spread (RFC 9562).
    """
    return conversation_id.bytes[15] % parts
