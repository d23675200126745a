"""What binds a log to another one that its conversations were moved from: pairs of leaves, and `log.moved`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from uuid import UUID

from onrecord.domain.errors import CorruptRecord
from onrecord.domain.log import RecordedEvent
from onrecord.domain.marks.marked_ids import move_id, operators_of
from onrecord.domain.operators import LogMoved, decode_fact
from onrecord.projections.retention.operators_streams import is_foreign


def pair_leaf(old: bytes, new: bytes) -> bytes:
    """Return the leaf that stands for an event in two logs: SHA-256(0x00 || its old leaf || its new one)."""
    return hashlib.sha256(b"\x00" + old + new).digest()


def moves_of(events: Iterable[RecordedEvent], operators: UUID) -> list[LogMoved]:
    """Return what a stream of an operators' stream tells of moves, the first one first.

    None where the operators of another tenant wrote it. CorruptRecord where its events cannot be read, or
    are of something else than the stream.
    """
    events = list(events)
    return [] if is_foreign(events, operators) else [_move(event, operators) for event in events]


def must_be_moves(events: Iterable[RecordedEvent], operators: UUID) -> None:
    """Raise CorruptRecord where a stream does not tell of moves from one log."""
    moves_of(events, operators)


def _move(event: RecordedEvent, operators: UUID) -> LogMoved:
    fact = decode_fact(event.type, event.schema_version, event.body or b"")
    if not isinstance(fact, LogMoved):
        raise CorruptRecord("a stream of moves tells of something else")
    is_own = move_id(fact.tenant, fact.origin) == event.conversation_id
    if not is_own or operators_of(fact.tenant) != operators:
        raise CorruptRecord("a move stands in a stream of another log or tenant")
    return fact
