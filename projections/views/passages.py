"""The events of a stretch of a log, by conversation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from uuid import UUID

from onrecord.domain.errors import CorruptRecord
from onrecord.domain.log import RecordedEvent
from onrecord.projections.views.view import Passage, View

Owner = Callable[[UUID], UUID | None]
"""Tells whose a conversation is, by what a log keeps of that beside its headers."""


def passages(
    events: Iterable[RecordedEvent], view: View, owner: Owner | None = None
) -> list[Passage]:
    """Return what a view takes of these events, conversation by conversation, each in order."""
    return taken(by_conversation(events, owner), view)


def by_conversation(events: Iterable[RecordedEvent], owner: Owner | None = None) -> list[Passage]:
    """Return these events conversation by conversation, each in order, before any view chooses.

    Where a header that would say whose they are cannot be read, `owner` is asked; CorruptRecord if
    that does not know either.
    """
    found: dict[UUID, list[RecordedEvent]] = {}
    for event in events:
        found.setdefault(event.conversation_id, []).append(event)
    return [
        Passage(_tenant(of[0], owner), conversation_id, tuple(of))
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


def _tenant(event: RecordedEvent, owner: Owner | None) -> UUID:
    try:
        return event.client_header().tenant
    except CorruptRecord:
        found = None if owner is None else owner(event.conversation_id)
        if found is None:
            raise
        return found
