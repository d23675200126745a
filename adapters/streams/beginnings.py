"""How conversations began: under which key, and what each goes on from.

A key stands in the first event of its conversation and nowhere else in clear, so that it goes with
what is forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Final, NamedTuple
from uuid import UUID

from onrecord.adapters.streams.lineage import BEGINNING
from onrecord.domain.errors import CorruptRecord
from onrecord.domain.events import ConversationForked, ConversationStarted
from onrecord.domain.log import Log, RecordedEvent


class Beginning(NamedTuple):
    """The key of a conversation, None before its first event and once it was forgotten.

    `origin` is the conversation that it was forked from, if it was.
    """

    key: str | None = None
    origin: UUID | None = None


def beginning_of(log: Log, conversation_id: UUID) -> Beginning:
    """Return how a conversation began."""
    return _beginning(log.read(conversation_id, limit=BEGINNING))


def key_of(log: Log, conversation_id: UUID) -> str | None:
    """Return the key that a conversation began with; None once it was forgotten."""
    return _beginning(log.read(conversation_id, limit=1)).key


def keys_of(log: Log, conversation_ids: Iterable[UUID]) -> dict[UUID, str]:
    """Return the keys of those conversations that have one, as `key_of` does, asking the log once.

    One whose beginning is damaged is left out; all are where the log cannot be read.
    """
    wanted, keys = list(set(conversation_ids)), dict[UUID, str]()
    with suppress(CorruptRecord):
        for first in log.first_events(wanted) if wanted else ():
            with suppress(CorruptRecord):
                key = _beginning((first,)).key
                if key is not None:
                    keys[first.conversation_id] = key
    return keys


def is_forgotten(log: Log, conversation_id: UUID) -> bool:
    """Whether what a conversation said was erased; False where it has not begun."""
    return any(event.body is None for event in log.read(conversation_id, limit=1))


_BEGINNINGS: Final = ("conversation.started", "conversation.forked")


def _beginning(first: Iterable[RecordedEvent]) -> Beginning:
    """Return the beginning that the first events of a conversation tell."""
    beginning = Beginning()
    for recorded in first:
        match recorded.event() if recorded.type in _BEGINNINGS else None:
            case ConversationStarted() as started:
                beginning = beginning._replace(key=started.key)
            case ConversationForked() as forked:
                beginning = beginning._replace(origin=forked.origin)
            case _:
                break
    return beginning
