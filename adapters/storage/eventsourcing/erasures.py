"""The aggregate of an erasure: what holds of it, whoever erases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from eventsourcing.domain import Aggregate, event

from onrecord.domain.erasure.targets import NO_SUBJECT, SubjectOutcome
from onrecord.domain.errors import InvalidInput
from onrecord.domain.marks.marked_ids import destroyed_key_id, erasure_id


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
        subject: str | None
        key: str | None
        rule: str | None
        part_of: UUID | None

    class Completed(Aggregate.Event):
        """All of it went."""

        tenant: UUID
        conversation_id: UUID
        events: int
        forks: tuple[UUID, ...] | None
        conversations: int | None
        retired: tuple[str, ...]
        undoable_until: int | None

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
        subject: str | None = None,
        key: str | None = None,
        rule: str | None = None,
        part_of: UUID | None = None,
    ) -> None:
        """Begin it; `number` counts the erasures of the conversation from 0.

        The rest is what an `ErasureTarget` has.
        """
        if not actor.strip() or not reason.strip():
            raise InvalidInput("an erasure needs who does it and why: give actor= and reason=")
        if subject is not None and not (rule or "").strip():
            raise InvalidInput(
                "the erasure of a subject needs the rule that it follows: give rule="
            )
        self.tenant = tenant
        self.conversation_id = conversation_id
        self.number = number
        self.actor = actor
        self.reason = reason
        self.named = named
        self.subject = subject
        self.key = key
        self.rule = rule
        self.part_of = part_of
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

    def complete(
        self,
        events: int,
        forks: Sequence[UUID] | None,
        subject: SubjectOutcome = NO_SUBJECT,
    ) -> None:
        """Say that all of it went: how many events, and which forks stay (None: nobody can tell)."""
        self._must_be_under_way()
        if forks is not None and self.conversation_id in forks:
            raise InvalidInput("what was erased cannot stay: name its forks only")
        staying = None if forks is None else tuple(dict.fromkeys(forks))
        self._complete(
            self.tenant,
            self.conversation_id,
            events,
            staying,
            subject.conversations,
            subject.retired,
            subject.undoable_until,
        )

    @event(Completed)
    def _complete(
        self,
        tenant: UUID,
        conversation_id: UUID,
        events: int,
        forks: tuple[UUID, ...] | None,
        conversations: int | None,
        retired: tuple[str, ...],
        undoable_until: int | None,
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


class LastAndNext(NamedTuple):
    """The last erasure of a conversation, None where there was none, and the number of the next one."""

    last: Erasure | None
    number: int


class DestroyedKey(Aggregate):
    """The key of a subject that is destroyed. What holds of it: it is destroyed once, for good."""

    class Destroyed(Aggregate.Created):
        """It goes, as a part of the erasure of that id."""

        tenant: UUID
        key: str
        erasure: UUID

    @event(Destroyed)
    def __init__(self, tenant: UUID, key: str, erasure: UUID) -> None:
        """Say that it goes."""
        self.tenant = tenant
        self.key = key
        self.erasure = erasure

    @staticmethod
    def create_id(tenant: UUID, key: str) -> UUID:
        """Return the id that follows from the key."""
        return destroyed_key_id(tenant, key)
