"""Stored events of the `eventsourcing` library as events of the log, whatever the backend.

A stored event's topic is the event's type, its state the body, its originator the conversation.
Where the topic is a stored name of ours, the event does to the head what it always does.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final
from uuid import UUID

from eventsourcing.persistence import IntegrityError, ProgrammingError, StoredEvent
from uuid_utils.compat import uuid7

from onrecord.domain.admission import Refused, need_of
from onrecord.domain.draft import blobs_of, once_of
from onrecord.domain.encoding import VERSIONS, Unrecognised, decode
from onrecord.domain.erasures import is_operators
from onrecord.domain.head import effect_of
from onrecord.domain.header import CODEC, SALT_SIZE, ClientHeader, header_bytes
from onrecord.domain.log import Append, Forgotten, NewEvent, Recorded, Verdict

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
