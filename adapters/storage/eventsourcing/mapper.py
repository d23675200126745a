"""A mapper for `eventsourcing`: MAPPER_TOPIC=onrecord.adapters.storage.eventsourcing.mapper:ConversationMapper.

It writes a conversation's events as Onrecord itself does: the topic is the stored name, the state
the body, byte for byte. So both read what the other wrote. Events of other kinds are mapped as
the library maps them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast
from uuid import UUID

from eventsourcing.domain import DomainEventProtocol
from eventsourcing.persistence import Mapper, StoredEvent

from onrecord.adapters.storage.eventsourcing.appends import conversation_of
from onrecord.domain.encoding import NAMES, VERSIONS, decode, encode, name_of
from onrecord.domain.events import Event


@dataclass(frozen=True, slots=True)
class ConversationEvent:
    """An event of a conversation as the library wants it: with its place."""

    originator_id: UUID
    originator_version: int
    event: Event


class ConversationMapper(Mapper[UUID]):
    """Maps ConversationEvents to stored events whose state is the body, and back."""

    def to_stored_event(self, domain_event: DomainEventProtocol[UUID]) -> StoredEvent:
        """Return the stored event; MalformedJson where a value of it has no JSON form."""
        if not isinstance(domain_event, ConversationEvent):
            return super().to_stored_event(domain_event)
        return StoredEvent(
            domain_event.originator_id,
            domain_event.originator_version,
            name_of(domain_event.event),
            encode(domain_event.event),
        )

    def to_domain_event(self, stored_event: StoredEvent) -> DomainEventProtocol[UUID]:
        """Return the event; CorruptRecord where the state is not what the topic says."""
        topic = stored_event.topic
        if topic not in NAMES:
            return super().to_domain_event(stored_event)
        return ConversationEvent(
            conversation_of(stored_event.originator_id),
            stored_event.originator_version,
            # A known name in its present version is recognised, or an error.
            cast("Event", decode(topic, VERSIONS[topic], stored_event.state)),
        )
