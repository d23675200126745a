"""The aggregates of a legal hold and of a retention class: what holds of them, whoever acts."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from eventsourcing.domain import Aggregate, event

from onrecord.domain.errors import InvalidInput
from onrecord.domain.marks.marked_ids import hold_id
from onrecord.domain.operators import LONGEST_RETENTION, RetentionClass


class Hold(Aggregate):
    """A legal hold on a conversation of a tenant, or on all of them.

    What holds of it: somebody places it, by name, for a matter and a reason; it is lifted once, by
    somebody who says why.
    """

    class Placed(Aggregate.Created):
        """Somebody placed it."""

        tenant: UUID
        conversation_id: UUID | None
        number: int
        matter: str
        actor: str
        reason: str

    class Lifted(Aggregate.Event):
        """Somebody lifted it."""

        tenant: UUID
        conversation_id: UUID | None
        actor: str
        reason: str

    @event(Placed)
    def __init__(
        self,
        tenant: UUID,
        conversation_id: UUID | None,
        number: int,
        matter: str,
        actor: str,
        reason: str,
    ) -> None:
        """Place it; `number` counts the holds on the same from 0."""
        if not (matter.strip() and actor.strip() and reason.strip()):
            raise InvalidInput(
                "a hold needs its matter, who places it and why: give matter=, actor= and reason="
            )
        self.tenant = tenant
        self.conversation_id = conversation_id
        self.number = number
        self.matter = matter
        self.is_lifted = False

    @staticmethod
    def create_id(tenant: UUID, conversation_id: UUID | None, number: int) -> UUID:
        """Return the id that follows from what it is on, and which one it is."""
        return hold_id(tenant, conversation_id, number)

    def lift(self, actor: str, reason: str) -> None:
        """Lift it, for good."""
        if self.is_lifted:
            raise InvalidInput("the hold was lifted already: place another one")
        if not (actor.strip() and reason.strip()):
            raise InvalidInput("to lift a hold needs who does it and why: give actor= and reason=")
        self._lift(self.tenant, self.conversation_id, actor, reason)

    @event(Lifted)
    def _lift(self, tenant: UUID, conversation_id: UUID | None, actor: str, reason: str) -> None:
        self.is_lifted = True


class Retention(Aggregate):
    """The retention class of a tenant, of a conversation, or of those that bear a label.

    What holds of it: somebody sets it, by name, and says which rule it follows. It is a class that
    has a name, or a number of days. Somebody may take it back, and says why; `keep` is None then.
    """

    class Begun(Aggregate.Created):
        """Somebody set it for the first time."""

        tenant: UUID
        conversation_id: UUID | None
        label: str | None
        value: str | None
        keep: RetentionClass
        actor: str
        rule: str

    class Changed(Aggregate.Event):
        """Somebody set it anew."""

        tenant: UUID
        conversation_id: UUID | None
        label: str | None
        value: str | None
        keep: RetentionClass
        actor: str
        rule: str

    class Cleared(Aggregate.Event):
        """Somebody took it back."""

        tenant: UUID
        conversation_id: UUID | None
        label: str | None
        value: str | None
        actor: str
        reason: str

    @event(Begun)
    def __init__(
        self,
        tenant: UUID,
        conversation_id: UUID | None,
        label: str | None,
        value: str | None,
        keep: RetentionClass,
        actor: str,
        rule: str,
    ) -> None:
        """Set it for the first time."""
        _must_be_sound(keep, actor, rule)
        self.tenant = tenant
        self.conversation_id = conversation_id
        self.label = label
        self.value = value
        self.keep: RetentionClass | None = keep

    @classmethod
    def begin(cls, id_: UUID, *of: Any) -> Retention:
        """Return a new one, with its id: that of a label follows from the key of the log too."""
        names = ("tenant", "conversation_id", "label", "value", "keep", "actor", "rule")
        begun: Retention = cls._create(cls.Begun, id=id_, **dict(zip(names, of, strict=True)))
        return begun

    def change(self, keep: RetentionClass, actor: str, rule: str) -> None:
        """Set it anew."""
        _must_be_sound(keep, actor, rule)
        of = self.tenant, self.conversation_id, self.label, self.value
        self._change(*of, keep, actor, rule)

    @event(Changed)
    def _change(
        self,
        tenant: UUID,
        conversation_id: UUID | None,
        label: str | None,
        value: str | None,
        keep: RetentionClass,
        actor: str,
        rule: str,
    ) -> None:
        self.keep = keep

    def clear(self, actor: str, reason: str) -> None:
        """Take it back; it may be set again."""
        if self.keep is None:
            raise InvalidInput("the retention class was taken back already: set another one")
        if not (actor.strip() and reason.strip()):
            raise InvalidInput(
                "to take a retention class back needs who does it and why: give actor= and reason="
            )
        self._clear(self.tenant, self.conversation_id, self.label, self.value, actor, reason)

    @event(Cleared)
    def _clear(
        self,
        tenant: UUID,
        conversation_id: UUID | None,
        label: str | None,
        value: str | None,
        actor: str,
        reason: str,
    ) -> None:
        self.keep = None


def _must_be_sound(keep: RetentionClass, actor: str, rule: str) -> None:
    if not (actor.strip() and rule.strip()):
        raise InvalidInput(
            "a retention class needs who sets it and which rule it follows: give actor= and rule="
        )
    if isinstance(keep, int) and not 1 <= keep <= LONGEST_RETENTION:
        raise InvalidInput(f"conversations are kept for 1 to {LONGEST_RETENTION:,} days")
