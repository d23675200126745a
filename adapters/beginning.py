"""How a conversation began: under which key, and what it goes on from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from onrecord.adapters.lineage import BEGINNING
from onrecord.domain.events import ConversationForked, ConversationStarted
from onrecord.domain.log import Log

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
    began = Beginning()
    for recorded in log.read(conversation_id, limit=BEGINNING):
        match recorded.event() if recorded.type in _BEGINNINGS else None:
            case ConversationStarted() as started:
                began = replace(began, key=started.key)
            case ConversationForked() as forked:
                began = replace(began, origin=forked.origin)
            case _:
                break
    return began
