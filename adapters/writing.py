"""Events on their way into the log: stamped with this moment, and what the log says to them."""

from __future__ import annotations

import os
import time
from typing import TypeAlias, assert_never
from uuid import UUID

from uuid_utils.compat import uuid7

from hansard.domain.draft import Stamp, draft
from hansard.domain.errors import ConversationForgotten, IdempotencyMismatch, VersionConflict
from hansard.domain.events import Event
from hansard.domain.header import SALT_SIZE
from hansard.domain.log import (
    Append,
    Conflict,
    Duplicate,
    Forgotten,
    Log,
    Mismatch,
    NewEvent,
    Recorded,
)

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
    )
    return draft(event, stamp)


def append_to(log: Log, append: Append) -> Done:
    """Append, and return what was done.

    VersionConflict, IdempotencyMismatch or ConversationForgotten if nothing was.
    """
    (verdict,) = log.append((append,))
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
        case _:
            assert_never(verdict)
