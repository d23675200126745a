"""A conversation in memory, as the store in dictionaries keeps it."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from onrecord.domain.head import Head, Pointer
from onrecord.domain.log import Conversation, RecordedEvent

NO_HEAD: Final = Head()
"""Where a conversation stands that has not begun."""


@dataclass(slots=True)
class Stream:
    """One conversation: its events, what its indexes point at, and what it owns."""

    tenant: UUID
    head: Head = NO_HEAD
    events: list[RecordedEvent] = field(default_factory=list[RecordedEvent])
    onces: dict[bytes, int] = field(default_factory=dict[bytes, int])
    pointed: dict[Pointer, list[int]] = field(default_factory=lambda: defaultdict(list))
    exchanges: list[int] = field(default_factory=list[int])
    forgotten: bool = False

    def keep(self, event: RecordedEvent, points: Pointer | None) -> None:
        """Take in an event that was recorded; a second time, it changes nothing."""
        self.events[event.version - 1 :] = [event]
        if points is not None:
            versions = self.pointed[points]
            versions[bisect_left(versions, event.version) :] = [event.version]
        if event.exchange > len(self.exchanges):
            self.exchanges.append(event.version)

    def listed(self, conversation_id: UUID) -> Conversation:
        """Return it as the catalogue has it."""
        first, last = self.events[0], self.events[-1]
        return Conversation(conversation_id, self.head, first.recorded_at, last.recorded_at)
