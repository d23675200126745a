"""Stored events of the `eventsourcing` library as events of the log, whatever the backend.

A stored event's topic is the event's type, its state the body, its originator the conversation.
Where the topic is a stored name of ours, the event does to the head what it always does.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, cast
from uuid import UUID

from eventsourcing.domain import AggregateCreated, AggregateEvent, DomainEventProtocol
from eventsourcing.persistence import IntegrityError, Mapper, ProgrammingError, StoredEvent
from eventsourcing.utils import get_topic
from uuid_utils.compat import uuid7

from onrecord.domain.admission import Refused, need_of
from onrecord.domain.encoding import NAMES, VERSIONS, Unrecognised, decode, encode, name_of
from onrecord.domain.events import Event
from onrecord.domain.head import effect_of
from onrecord.domain.header import (
    CODEC,
    SALT_SIZE,
    ClientHeader,
    header_bytes,
    microseconds_of,
    time_of,
)
from onrecord.domain.log import Append, Forgotten, NewEvent, Recorded, Verdict
from onrecord.domain.new_events import blobs_of, once_of
from onrecord.domain.operators import is_operators

OTHER_CODEC: Final = "eventsourcing"
"""Says that a body is the state that a mapper of the library made, in whatever form."""


def conversation_of(originator_id: UUID | str) -> UUID:
    """Return the conversation of an originator; ProgrammingError unless its id is a UUID."""
    if isinstance(originator_id, UUID):
        return originator_id
    raise ProgrammingError("an originator needs a UUID as its id: leave ORIGINATOR_ID_TYPE at uuid")


def appends_of(
    tenant: UUID, stored_events: Sequence[StoredEvent], actor: str | None = None
) -> list[Append]:
    """Return stored events as requests to append, in their order.

    `actor` is the keyed digest of who acts, in hex. The first version of a conversation is 0 or 1: a request that begins at 0 expects -1.
    IntegrityError where versions that stand together are not dense.
    """
    return [
        _append(tenant, conversation_of(originator_id), list(together), actor)
        for originator_id, together in groupby(stored_events, lambda event: event.originator_id)
    ]


def must_be_recorded(verdicts: Sequence[Verdict]) -> list[int]:
    """Return the positions of all events that were recorded; IntegrityError unless all were."""
    return [position for verdict in verdicts for position in _positions(verdict)]


def _append(
    tenant: UUID, conversation_id: UUID, together: list[StoredEvent], actor: str | None
) -> Append:
    versions = [event.originator_version for event in together]
    first = versions[0]
    if versions != list(range(first, first + len(versions))) or first < 0:
        raise IntegrityError("versions of an originator must follow one another")
    new = tuple(_new_event(tenant, conversation_id, event, actor) for event in together)
    return Append(tenant, conversation_id, new, expected_version=first - 1)


def _new_event(
    tenant: UUID, conversation_id: UUID, stored: StoredEvent, actor: str | None
) -> NewEvent:
    schema_version = VERSIONS.get(stored.topic, 1)
    event = decode(stored.topic, schema_version, stored.state)
    foreign = isinstance(event, Unrecognised) and not is_operators(stored.topic)
    header = ClientHeader(
        event_id=uuid7(),
        tenant=tenant,
        conversation_id=conversation_id,
        type=stored.topic,
        schema_version=schema_version,
        occurred_at=time.time_ns() // 1000,
        codec=OTHER_CODEC if foreign else CODEC,
        actor=actor,
    )
    return NewEvent(
        event_id=header.event_id,
        type=stored.topic,
        schema_version=schema_version,
        header=header_bytes(header),
        salt=secrets.token_bytes(SALT_SIZE),
        body=stored.state,
        effect=effect_of(event),
        once=None if isinstance(event, Unrecognised) else once_of(event),
        blobs=() if isinstance(event, Unrecognised) else blobs_of(event),
        needs=need_of(event),
    )


def _positions(verdict: Verdict) -> Iterator[int]:
    if isinstance(verdict, Forgotten):
        raise IntegrityError("the originator was forgotten: use another id")
    if isinstance(verdict, Refused):
        raise IntegrityError("the originator has begun, or is closed: it takes no such event")
    if not isinstance(verdict, Recorded):
        raise IntegrityError("the originator has other events at these versions")
    events = verdict.last - verdict.first + 1
    yield from range(verdict.position - events + 1, verdict.position + 1)


# A mapper for `eventsourcing`: MAPPER_TOPIC=onrecord.eventsourcing:Mapper.
#
# It writes a conversation's events as Onrecord itself does: the topic is the stored name, the
# state the body, byte for byte. So both read what the other wrote. Events of other kinds are
# mapped as the library maps them.


@dataclass(frozen=True, slots=True)
class ConversationEvent:
    """An event of a conversation as the library wants it: with its place."""

    originator_id: UUID
    originator_version: int
    event: Event


class ConversationMapper(Mapper[UUID]):
    """Maps ConversationEvents to stored events whose state is the body, and back."""

    TOPIC = "onrecord.eventsourcing:Mapper"
    """By it an application's environment names it, wherever it is defined."""

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


# Events of our own aggregates as facts: the log keeps the place, and the body the time.

_PLACE: Final = frozenset(("originator_id", "originator_version", "originator_topic", "timestamp"))
"""What the library adds to an event."""


def fact_of(domain_event: DomainEventProtocol[UUID]) -> dict[str, Any]:
    """Return the members of an aggregate's event as a body has them: its time is `at`."""
    members: dict[str, Any] = dict(vars(domain_event))
    at = microseconds_of(members["timestamp"])
    return {name: value for name, value in members.items() if name not in _PLACE} | {"at": at}


def aggregate_event(
    kind: type[AggregateEvent], aggregate: type, stored: StoredEvent, fact: Mapping[str, Any]
) -> DomainEventProtocol[UUID]:
    """Return an event of an aggregate from where it is stored, and the members of its body."""
    members = dict(fact)
    at: int = members.pop("at")
    if issubclass(kind, AggregateCreated):
        members["originator_topic"] = get_topic(aggregate)
    return kind(
        originator_id=conversation_of(stored.originator_id),
        originator_version=stored.originator_version,
        timestamp=time_of(at),
        **members,
    )
