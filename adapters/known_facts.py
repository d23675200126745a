"""What a conversation knows already: asked of its log without recording anything."""

from __future__ import annotations

from typing import Final, Literal, Protocol, TypeAlias

from onrecord.adapters.writing import Done
from onrecord.domain.errors import IdempotencyMismatch, VersionConflict
from onrecord.domain.events import Event

Knowledge: TypeAlias = Literal["new", "same", "other"]
"""What is known of a fact that can be recorded once: nothing, just that, or something else."""

_NEVER: Final = 0
"""No conversation that has begun is at this version: what expects it there is not recorded."""


class Conversation(Protocol):
    """What is needed of a conversation to ask it; a `Stream` has it."""

    def append(self, *said: Event, expected_version: int | None = None) -> Done:
        """Record events; VersionConflict or IdempotencyMismatch where that cannot be."""
        ...


def knowledge_of(talk: Conversation, event: Event) -> Knowledge:
    """Return what a conversation that has begun knows of an event that it can record once.

    An append is told of what it repeats before it is told of the version, which no event has here.
    """
    try:
        talk.append(event, expected_version=_NEVER)
    except VersionConflict:
        return "new"
    except IdempotencyMismatch:
        return "other"
    return "same"
