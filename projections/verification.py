"""What must hold of a log, whoever wrote it: each event as committed to, each head as it folds.

It finds damage. A forger who may rewrite every row and computes all hashes anew is found only by
whoever kept a leaf elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Final, TypeAlias
from uuid import UUID

from onrecord.domain.errors import CorruptRecord
from onrecord.domain.events import Event
from onrecord.domain.head import Head, advance, effect_of
from onrecord.domain.header import body_digest, leaf, recorded_header
from onrecord.domain.log import RecordedEvent
from onrecord.domain.registry import Erased, Unrecognised

Happened: TypeAlias = Event | Unrecognised | Erased
"""What an event tells, as far as it can be told."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that does not hold, of the event at a version, or of the whole (version 0)."""

    conversation_id: UUID
    version: int
    why: str


@dataclass(frozen=True, slots=True)
class Folded:
    """A conversation as its events leave it.

    `is_known` is False once an event was erased, or is of a newer release: its effect is not known.
    """

    conversation_id: UUID
    head: Head = field(default_factory=Head)
    is_known: bool = True


_CERTAIN: Final = ("version", "exchange")


def happened_in(event: RecordedEvent) -> Happened | None:
    """Return what happened; None where the body does not have the shape of its type."""
    try:
        return event.event()
    except CorruptRecord:
        return None


def event_faults(event: RecordedEvent, happened: Happened | None) -> Iterator[Fault]:
    """Yield what does not hold of an event alone: its leaf, its digest, its header, its body."""
    committed = recorded_header(event.header, event.version, event.position, event.recorded_at)
    if event.leaf != leaf(committed, event.digest):
        yield _fault(event, "its leaf is not that of its header, place and digest")
    if (event.body is None) != (event.salt is None):
        yield _fault(event, "its body and its salt are not erased together")
    elif event.body is not None and event.salt is not None:
        if event.digest != body_digest(event.salt, event.body):
            yield _fault(event, "its digest is not that of its salt and body")
        elif happened is None:
            yield _fault(event, "its body does not have the shape of its type")
    yield from _header_faults(event)


def position_fault(event: RecordedEvent, before: int) -> Fault | None:
    """Return what is wrong with the place of an event in its shard, behind a position."""
    if event.position == before + 1:
        return None
    return _fault(event, f"it is at position {event.position}, the one before it at {before}")


def fold_event(
    folded: Folded, event: RecordedEvent, happened: Happened | None
) -> tuple[Folded, Fault | None]:
    """Return the conversation after its next event, and what is wrong with the event's place."""
    expected = folded.head.version + 1
    fault = None
    if event.version != expected:
        fault = _fault(event, f"version {expected} should stand here")
        folded = replace(folded, head=replace(folded.head, version=event.version - 1))
    if happened is None or isinstance(happened, Erased | Unrecognised):
        head = replace(folded.head, version=event.version, exchange=event.exchange)
        return replace(folded, head=head, is_known=False), fault
    head = advance(folded.head, effect_of(happened))
    if event.exchange != head.exchange:
        if folded.is_known and fault is None:
            fault = _fault(event, f"it is in exchange {event.exchange}, not {head.exchange}")
        head = replace(head, exchange=event.exchange)
    return replace(folded, head=head), fault


def head_faults(folded: Folded, head: Head) -> Iterator[Fault]:
    """Yield where the head that a log keeps is not what the events fold to."""
    names = [member.name for member in fields(Head)] if folded.is_known else _CERTAIN
    wrong = [name for name in names if getattr(folded.head, name) != getattr(head, name)]
    if wrong:
        why = f"its head is not what its events come to: {', '.join(wrong)}"
        yield Fault(folded.conversation_id, 0, why)


def _header_faults(event: RecordedEvent) -> Iterator[Fault]:
    try:
        header = event.client_header()
    except CorruptRecord:
        yield _fault(event, "its header cannot be read")
        return
    told = (header.event_id, header.conversation_id, header.type, header.schema_version)
    if told != (event.event_id, event.conversation_id, event.type, event.schema_version):
        yield _fault(event, "its header is that of another event")


def _fault(event: RecordedEvent, why: str) -> Fault:
    return Fault(event.conversation_id, event.version, why)
