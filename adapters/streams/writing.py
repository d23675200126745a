"""Events on their way into the log: stamped with this moment, and what the log says to them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar, assert_never
from uuid import UUID

from uuid_utils.compat import uuid7

from onrecord.adapters.streams.lineage import BEGINNING
from onrecord.domain import conversation
from onrecord.domain.admission import Refused, error_of
from onrecord.domain.draft import Stamp, draft
from onrecord.domain.errors import (
    ConversationForgotten,
    DocumentMissing,
    IdempotencyMismatch,
    VersionConflict,
)
from onrecord.domain.events import ConversationForked, ConversationStarted, Event
from onrecord.domain.header import NO_METADATA, SALT_SIZE
from onrecord.domain.log import (
    Append,
    BlobMissing,
    Conflict,
    Duplicate,
    Forgotten,
    Log,
    Mismatch,
    NewEvent,
    Recorded,
    Verdict,
)

if TYPE_CHECKING:
    from onrecord.adapters.streams.stream import Stream

T = TypeVar("T")

Done: TypeAlias = Recorded | Duplicate
"""What an append says: recorded now, or recorded before."""


def stamped(
    event: Event,
    *,
    tenant: UUID,
    conversation_id: UUID,
    actor: str | None,
    causation_id: UUID | None = None,
    event_id: UUID | None = None,
    metadata: Mapping[str, str] = NO_METADATA,
) -> NewEvent:
    """Return an event ready for the log, with an id, a salt and the time of this moment."""
    stamp = Stamp(
        event_id=event_id or uuid7(),
        occurred_at=time.time_ns() // 1000,
        salt=os.urandom(SALT_SIZE),
        tenant=tenant,
        conversation_id=conversation_id,
        actor=actor,
        causation_id=causation_id,
        metadata=metadata,
    )
    return draft(event, stamp)


def append_first(
    stream: Stream, drafted: tuple[NewEvent, ...], expected_version: int | None
) -> Done:
    """Append as a holder's first; begin the conversation unless someone did before."""
    start = conversation.start(stream.head(), stream.key)
    if not start:
        return stream.append_drafted(drafted, expected_version)
    events = (*(stream.draft(event) for event in start), *drafted)
    try:
        return stream.append_drafted(events, expected_version or 0)
    except VersionConflict:
        if expected_version is not None:
            raise
        return stream.append_drafted(drafted)


def stored_again(record: Callable[[], T]) -> T:
    """Do what stores documents and records them; once more where a sweep came between the two."""
    try:
        return record()
    except DocumentMissing:
        return record()


def append_to(log: Log, append: Append) -> Done:
    """Append, and return what was done.

    VersionConflict, IdempotencyMismatch, ConversationForgotten, DocumentMissing, ConversationClosed
    or InvalidContent if nothing was.
    """
    (verdict,) = log.append((append,))
    return _done(append, verdict)


async def append_to_async(log: Log, append: Append) -> Done:
    """Append without holding up the event loop; returns and raises as `append_to`."""
    (verdict,) = await log.append_async((append,))
    return _done(append, verdict)


def _done(append: Append, verdict: Verdict) -> Done:
    match verdict:
        case Recorded() | Duplicate():
            return verdict
        case Conflict():
            raise VersionConflict(append.expected_version or 0, verdict.current)
        case Mismatch():
            raise IdempotencyMismatch(
                f"a {append.events[verdict.ordinal].type} of the same id was recorded before, "
                "with other content: use a new id for a new fact"
            )
        case Forgotten():
            raise ConversationForgotten
        case BlobMissing():
            raise DocumentMissing
        case Refused():
            raise error_of(append.events[verdict.ordinal].needs)
        case _:
            assert_never(verdict)


# How a conversation began: under which key, and what it goes on from.

_BEGINNINGS: Final = ("conversation.started", "conversation.forked")


@dataclass(frozen=True, slots=True)
class Beginning:
    """The key of a conversation, None before its first event and once it was forgotten.

    `origin` is the conversation that it was forked from, if it was.
    """

    key: str | None = None
    origin: UUID | None = None


def is_forgotten(log: Log, conversation_id: UUID) -> bool:
    """Whether what a conversation said was erased; False where it has not begun."""
    return any(event.body is None for event in log.read(conversation_id, limit=1))


def beginning_of(log: Log, conversation_id: UUID) -> Beginning:
    """Return how a conversation began."""
    beginning = Beginning()
    for recorded in log.read(conversation_id, limit=BEGINNING):
        match recorded.event() if recorded.type in _BEGINNINGS else None:
            case ConversationStarted() as started:
                beginning = replace(beginning, key=started.key)
            case ConversationForked() as forked:
                beginning = replace(beginning, origin=forked.origin)
            case _:
                break
    return beginning
