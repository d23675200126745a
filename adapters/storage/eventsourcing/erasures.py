"""The aggregate of an erasure: what holds of it, whoever erases."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from eventsourcing.domain import Aggregate, event

from onrecord.domain.errors import InvalidInput
from onrecord.domain.operators import erasure_id


class Erasure(Aggregate):
    """The erasure of one conversation of a tenant.

    What holds of it: somebody intends it, by name and for a reason; it is completed once, or refused
    once; what is erased is not among the forks that stay.
    """

    class Intended(Aggregate.Created):
        """Somebody is about to erase the conversation."""

        tenant: UUID
        conversation_id: UUID
        number: int
        actor: str
        reason: str
        named: str | None

    class Completed(Aggregate.Event):
        """All of it went."""

        tenant: UUID
        conversation_id: UUID
        events: int
        forks: tuple[UUID, ...] | None

    class Refused(Aggregate.Event):
        """A hold was placed before it was intended: nothing went."""

        tenant: UUID
        conversation_id: UUID
        hold: UUID

    @event(Intended)
    def __init__(
        self,
        tenant: UUID,
        conversation_id: UUID,
        number: int,
        actor: str,
        reason: str,
        named: str | None = None,
    ) -> None:
        """Begin it; `number` counts the erasures of the conversation from 0.

        `named` is the digest of the actor whose name is erased, where it is no conversation.
        """
        if not actor.strip() or not reason.strip():
            raise InvalidInput("an erasure needs who does it and why: give actor= and reason=")
        self.tenant = tenant
        self.conversation_id = conversation_id
        self.number = number
        self.actor = actor
        self.reason = reason
        self.named = named
        self.is_completed = False
        self.refused_by: UUID | None = None
        self.events = 0
        self.forks: tuple[UUID, ...] | None = ()

    @property
    def is_over(self) -> bool:
        """Whether it was completed or refused."""
        return self.is_completed or self.refused_by is not None

    @staticmethod
    def create_id(tenant: UUID, conversation_id: UUID, number: int) -> UUID:
        """Return the id that whoever begins the same erasure gives it too."""
        return erasure_id(tenant, conversation_id, number)

    def complete(self, events: int, forks: Sequence[UUID] | None) -> None:
        """Say that all of it went: how many events, and which forks stay (None: nobody can tell)."""
        self._must_be_under_way()
        if forks is not None and self.conversation_id in forks:
            raise InvalidInput("what was erased cannot stay: name its forks only")
        staying = None if forks is None else tuple(dict.fromkeys(forks))
        self._complete(self.tenant, self.conversation_id, events, staying)

    @event(Completed)
    def _complete(
        self, tenant: UUID, conversation_id: UUID, events: int, forks: tuple[UUID, ...] | None
    ) -> None:
        self.is_completed = True
        self.events = events
        self.forks = forks

    def refuse(self, hold: UUID) -> None:
        """Say that it does not take place: a hold was placed before it was intended."""
        self._must_be_under_way()
        self._refuse(self.tenant, self.conversation_id, hold)

    @event(Refused)
    def _refuse(self, tenant: UUID, conversation_id: UUID, hold: UUID) -> None:
        self.refused_by = hold

    def _must_be_under_way(self) -> None:
        if self.is_completed:
            raise InvalidInput("the erasure was completed already: nothing of it is left to do")
        if self.refused_by is not None:
            raise InvalidInput("the erasure was refused already, by a hold: intend another one")
