"""Conversations that were recorded anew in another log: what must be the same, and what binds both logs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias
from uuid import UUID

from onrecord.domain.encryption.bodies import ENCRYPTED
from onrecord.domain.errors import CorruptRecord
from onrecord.domain.header import CODEC, ON_BEHALF_OF, ClientHeader, header_bytes, parse_header
from onrecord.domain.log import RecordedEvent
from onrecord.domain.marks.marked_ids import move_id, operators_of
from onrecord.domain.operators import LogMoved, decode_fact
from onrecord.projections.retention.operators_streams import is_foreign

ActorOf: TypeAlias = Callable[[str], str]
"""Returns the keyed digest that an actor has in the other log, in hex, of the one in this log."""

SameActor: TypeAlias = Callable[[str, str], bool]
"""Says whether two keyed digests, in hex, of this log and of the other one, are of one actor."""

_CODECS: Final = (CODEC, ENCRYPTED)


def pair_leaf(old: bytes, new: bytes) -> bytes:
    """Return the leaf that stands for an event in two logs: SHA-256(0x00 || its old leaf || its new one)."""
    return hashlib.sha256(b"\x00" + old + new).digest()


def moved_header(header: bytes, actor_of: ActorOf) -> bytes:
    """Return the bytes of a header as another log has it: who acted by its own digests, all else the same."""
    old = parse_header(header)
    new = _moved(old, actor_of)
    return header if new == old else header_bytes(new)


def difference(old: RecordedEvent, new: RecordedEvent, is_same: SameActor) -> str | None:
    """Return what of an event is not the same in another log, its body in clear there; None where all is.

    What was erased in one of the two is compared by its header alone.
    """
    if (old.event_id, old.type, old.schema_version) != (new.event_id, new.type, new.schema_version):
        return "it is another event there"
    if not _is_same_header(parse_header(old.header), parse_header(new.header), is_same):
        return "its header says something else there"
    if old.body is not None and new.body is not None and old.body != new.body:
        return "its body says something else there"
    return None


def _is_same_header(old: ClientHeader, new: ClientHeader, is_same: SameActor) -> bool:
    if new.codec not in _CODECS:
        return False
    mine, other = (_without_actors(header) for header in (old, new))
    actors = ((old.actor, new.actor), (old.on_behalf_of, new.on_behalf_of))
    return mine == other and all(
        one == another or (one is not None and another is not None and is_same(one, another))
        for one, another in actors
    )


def _without_actors(header: ClientHeader) -> ClientHeader:
    metadata = {name: text for name, text in header.metadata.items() if name != ON_BEHALF_OF}
    return header._replace(actor=None, metadata=metadata, codec=CODEC, key_id=None)


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


def _moved(header: ClientHeader, actor_of: ActorOf) -> ClientHeader:
    actor = None if header.actor is None else actor_of(header.actor)
    metadata: Mapping[str, str] = header.metadata
    if header.on_behalf_of is not None:
        metadata = {**metadata, ON_BEHALF_OF: actor_of(header.on_behalf_of)}
    return header._replace(actor=actor, metadata=metadata)
