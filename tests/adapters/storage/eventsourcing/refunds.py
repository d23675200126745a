"""An application of aggregates, which tests save beside conversations."""

from __future__ import annotations

from uuid import UUID

from eventsourcing.application import Application
from eventsourcing.domain import Aggregate, event

from onrecord import Conversation
from onrecord.eventsourcing import save_together

TENANT = UUID("018f0000-0000-7000-8000-00000000000a")


class Refund(Aggregate):
    """What a customer gets back: granted once."""

    @event("Requested")
    def __init__(self, cents: int) -> None:
        self.cents = cents
        self.granted_by = ""

    def grant(self, by: str) -> None:
        """Grant it."""
        if self.granted_by:
            raise ValueError
        self._grant(by)

    @event("Granted")
    def _grant(self, by: str) -> None:
        self.granted_by = by


class Refunds(Application[UUID]):
    """Refunds, beside the conversations in which they are asked for."""

    def request(self, cents: int) -> UUID:
        """Note a refund."""
        refund = Refund(cents)
        self.save(refund)
        return refund.id

    def find(self, refund_id: UUID) -> Refund:
        """Return a refund as it is recorded."""
        refund: Refund = self.repository.get(refund_id)
        return refund

    def grant(self, refund_id: UUID, by: str, chat: Conversation) -> None:
        """Grant a refund and say so, both or neither."""
        refund = self.find(refund_id)
        refund.grant(by)
        save_together(self, [refund], chat.user, f"granted by {by}", message_id=str(refund_id))


def environment(url: str) -> dict[str, str]:
    """Return what lets an application record in the log of a URL, as a tenant of its own."""
    database = "sqlite" if url.startswith("sqlite") else "postgres"
    return {
        "PERSISTENCE_MODULE": f"onrecord.eventsourcing.{database}",
        "ONRECORD_URL": url,
        "ONRECORD_TENANT": str(TENANT),
    }
