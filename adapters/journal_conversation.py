"""What a journal needs of the conversation that it writes."""

from __future__ import annotations

from typing import Protocol
from uuid import UUID

from onrecord.adapters.lineage import Lineages, Stretch
from onrecord.adapters.writing import Done
from onrecord.domain.events import Event
from onrecord.domain.head import Head
from onrecord.domain.log import Backend, NewEvent


class Conversation(Protocol):
    """A conversation that a journal writes; a `Stream` has it."""

    backend: Backend
    tenant: UUID
    key: str

    @property
    def conversation_id(self) -> UUID:
        """The conversation's id."""
        ...

    def head(self) -> Head:
        """Return where the conversation stands."""
        ...

    def lineage(self, version: int, head: Head | None = None) -> tuple[Stretch, ...]:
        """Return what the conversation is made of at a version."""
        ...

    def lineages(self) -> Lineages:
        """Return what tells what the conversation is made of."""
        ...

    def draft(
        self, event: Event, causation_id: UUID | None = None, *, event_id: UUID | None = None
    ) -> NewEvent:
        """Return an event of this conversation ready for the log."""
        ...

    def append_drafted(
        self, drafted: tuple[NewEvent, ...], expected_version: int | None = None
    ) -> Done:
        """Record drafted events; VersionConflict or IdempotencyMismatch where it cannot be."""
        ...
