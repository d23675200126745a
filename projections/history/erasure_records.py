"""Erasures as the operators' streams tell of them: who, when, why, how much, and which forks stay."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from uuid import UUID

from onrecord.domain.errors import CorruptRecord
from onrecord.domain.log import RecordedEvent
from onrecord.domain.operators import (
    ErasureCompleted,
    ErasureIntended,
    decode_fact,
    erasure_id,
    operators_of,
)


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


def erasure_entry(events: Iterable[RecordedEvent], operators: UUID) -> ErasureEntry | None:
    """Return the erasure that a stream of an operators' stream tells of; None where it has no events.

    CorruptRecord where its events cannot be read, or do not make the erasure that the stream is of.
    An eraser writes them with what program it likes: what they say of another tenant, conversation or
    number is no erasure of those.
    """
    entry: ErasureEntry | None = None
    for event in events:
        match decode_fact(event.type, event.schema_version, event.body or b""):
            case ErasureIntended() as intention if entry is None:
                entry = ErasureEntry(event.conversation_id, intention)
                _must_be_of_its_stream(entry, operators)
            case ErasureCompleted() as outcome if entry is not None and _ends(entry, outcome):
                entry = replace(entry, outcome=outcome)
            case _:
                raise CorruptRecord("the events of an erasure are not in their order")
    return entry


def _must_be_of_its_stream(entry: ErasureEntry, operators: UUID) -> None:
    intention = entry.intention
    stream = erasure_id(intention.tenant, intention.conversation_id, intention.number)
    if stream != entry.erasure_id or operators_of(intention.tenant) != operators:
        raise CorruptRecord("an erasure tells of another conversation than its stream is of")


def _ends(entry: ErasureEntry, outcome: ErasureCompleted) -> bool:
    intention = entry.intention
    is_of_it = (outcome.tenant, outcome.conversation_id) == (
        intention.tenant,
        intention.conversation_id,
    )
    return entry.outcome is None and is_of_it
