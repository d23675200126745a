"""Erasures as the operators' streams tell of them: who, when, why, how much, and which forks stay.

One that a legal hold refused tells of that hold instead.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from uuid import UUID

from onrecord.domain.errors import CorruptRecord
from onrecord.domain.log import RecordedEvent
from onrecord.domain.marks.marked_ids import destroyed_key_id, erasure_id, operators_of
from onrecord.domain.operators import (
    ErasureCompleted,
    ErasureIntended,
    ErasureRefused,
    SubjectKeyDestroyed,
    decode_fact,
)
from onrecord.projections.retention.operators_streams import is_foreign


@dataclass(frozen=True, slots=True)
class ErasureEntry:
    """An erasure of a conversation; `outcome` is None while it is unfinished, and where it was refused.

    `erasure_id` is the id of its stream, `position` that of its intent in the shard. `refusal` is there
    where a hold stands before that position.
    """

    erasure_id: UUID
    intention: ErasureIntended
    outcome: ErasureCompleted | None = None
    refusal: ErasureRefused | None = None
    position: int = 0

    @property
    def conversation_id(self) -> UUID:
        """Return the id of the conversation that was to be erased."""
        return self.intention.conversation_id

    @property
    def is_over(self) -> bool:
        """Whether it was completed or refused: nothing of it is left to do."""
        return self.outcome is not None or self.refusal is not None


def erasure_entry(events: Iterable[RecordedEvent], operators: UUID) -> ErasureEntry | None:
    """Return the erasure that a stream of an operators' stream tells of; None where it has no events.

    CorruptRecord where its events cannot be read, or do not make the erasure that the stream is of.
    An eraser writes them with what program it likes: what they say of another tenant, conversation or
    number is no erasure of those.
    """
    entry: ErasureEntry | None = None
    events = list(events)
    if is_foreign(events, operators):
        raise CorruptRecord("the operators of another tenant wrote it")
    for event in events:
        match decode_fact(event.type, event.schema_version, event.body or b""):
            case ErasureIntended() as intention if entry is None:
                entry = ErasureEntry(event.conversation_id, intention, position=event.position)
                _must_be_of_its_stream(entry, operators)
            case ErasureCompleted() as outcome if entry is not None and _ends(entry, outcome):
                entry = replace(entry, outcome=outcome)
            case ErasureRefused() as refusal if entry is not None and _ends(entry, refusal):
                entry = replace(entry, refusal=refusal)
            case _:
                raise CorruptRecord("the events of an erasure are not in their order")
    return entry


def must_be_a_destroyed_key(events: Iterable[RecordedEvent], operators: UUID) -> None:
    """Raise CorruptRecord where a stream does not say once that the key is destroyed that it is of."""
    events = list(events)
    if is_foreign(events, operators):
        raise CorruptRecord("the operators of another tenant wrote it")
    for event in events:
        fact = decode_fact(event.type, event.schema_version, event.body or b"")
        if not isinstance(fact, SubjectKeyDestroyed) or event is not events[0]:
            raise CorruptRecord("the stream of a destroyed key tells of something else")
        stream = destroyed_key_id(fact.tenant, fact.key)
        if stream != event.conversation_id or operators_of(fact.tenant) != operators:
            raise CorruptRecord("it tells of another key than its stream is of")


def _must_be_of_its_stream(entry: ErasureEntry, operators: UUID) -> None:
    intention = entry.intention
    stream = erasure_id(intention.tenant, intention.conversation_id, intention.number)
    if stream != entry.erasure_id or operators_of(intention.tenant) != operators:
        raise CorruptRecord("an erasure tells of another conversation than its stream is of")


def _ends(entry: ErasureEntry, outcome: ErasureCompleted | ErasureRefused) -> bool:
    intention = entry.intention
    is_of_it = (outcome.tenant, outcome.conversation_id) == (
        intention.tenant,
        intention.conversation_id,
    )
    return not entry.is_over and is_of_it
