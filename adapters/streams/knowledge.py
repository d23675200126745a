"""What a conversation knows already: asked of its log without recording anything."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from onrecord.adapters.streams.stream import Done, Stream
from onrecord.domain.errors import IdempotencyMismatch, VersionConflict
from onrecord.domain.events import Event
from onrecord.domain.log import NewEvent

Knowledge: TypeAlias = Literal["new", "same", "other"]
"""What is known of a fact that can be recorded once: nothing, just that, or something else."""

_NEVER: Final = 0
"""No conversation that has begun is at this version: what expects it there is not recorded."""


def recorded_before(stream: Stream, drafted: tuple[NewEvent, ...]) -> Done | None:
    """Return where a conversation that has begun has all of these events; None where they are new.

    IdempotencyMismatch where an id stands for other content. An append is told of what it repeats
    before it is told of the version, which no event has here.
    """
    try:
        return stream.append_drafted(drafted, _NEVER)
    except VersionConflict:
        return None


def knowledge_of(stream: Stream, event: Event) -> Knowledge:
    """Return what a conversation that has begun knows of an event that it can record once."""
    try:
        known = recorded_before(stream, (stream.draft(event),))
    except IdempotencyMismatch:
        return "other"
    return "new" if known is None else "same"
