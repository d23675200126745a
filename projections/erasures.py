"""Erasures as the operators' streams tell of them: who, when, why, how much, and which forks stay."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from uuid import UUID

from onrecord.domain.erasures import (
    ErasureCompleted,
    ErasureIntended,
    decode_fact,
    is_operators,
)
from onrecord.domain.errors import CorruptRecord
from onrecord.domain.log import RecordedEvent


@dataclass(frozen=True, slots=True)
class ErasureEntry:
    """An erasure of a conversation; `outcome` is None while it is unfinished.

    `erasure_id` is the id of its stream.
    """

    erasure_id: UUID
    intention: ErasureIntended
    outcome: ErasureCompleted | None = None

    @property
    def conversation_id(self) -> UUID:
        """Return the id of the conversation that was to be erased."""
        return self.intention.conversation_id


def erasure_entry(events: Iterable[RecordedEvent]) -> ErasureEntry | None:
    """Return the erasure that a stream tells of; None for a stream of something else.

    CorruptRecord where its events cannot be read, or do not make an erasure.
    """
    entry: ErasureEntry | None = None
    for event in events:
        if not is_operators(event.type) or event.body is None:
            return None
        match decode_fact(event.type, event.schema_version, event.body):
            case ErasureIntended() as intention if entry is None:
                entry = ErasureEntry(event.conversation_id, intention)
            case ErasureCompleted() as outcome if entry is not None and entry.outcome is None:
                entry = replace(entry, outcome=outcome)
            case _:
                raise CorruptRecord("the events of an erasure are not in their order")
    return entry
