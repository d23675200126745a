"""What views of an encrypted log read, and what they may hold."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from onrecord.adapters.encryption.encrypted_log import EncryptedLog, without_bodies
from onrecord.adapters.views.ports import Reading
from onrecord.domain.errors import CorruptRecord
from onrecord.domain.log import Backend, RecordedEvent
from onrecord.projections.views.registry import TextPolicy


@dataclass(frozen=True, slots=True)
class Opening:
    """What the views of a log are opened with.

    `named` tells names of conversations and of actors, `reading` decrypts events, `texts` says which
    views may hold text.
    """

    named: Backend
    reading: Reading
    texts: TextPolicy


def opening_of(log: Backend, allowed: Collection[str]) -> Opening:
    """Return what the views of a log are opened with; `allowed` may hold text where it is encrypted."""
    texts = TextPolicy(isinstance(log, EncryptedLog), frozenset(allowed))
    # Without keys of subjects, those of conversations are not told.
    return Opening(without_bodies(log, uses_keys=True), reading_of(log), texts)


def reading_of(log: Backend) -> Reading:
    """Return what gives events with their bodies as text.

    One that cannot be decrypted stays as it is, so that it is parked, and holds up no other conversation.
    """
    if not isinstance(log, EncryptedLog):
        return list

    def readable(event: RecordedEvent) -> RecordedEvent:
        try:
            return log.readable(event)
        except CorruptRecord:
            return event

    def reading(events: Sequence[RecordedEvent]) -> list[RecordedEvent]:
        return list(map(readable, events))

    return reading
