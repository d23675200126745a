"""Events made ready for the log: named, stamped, encoded and sized up; pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, cast
from uuid import UUID

from pydantic import BaseModel

from onrecord.domain import events
from onrecord.domain.admission import need_of
from onrecord.domain.blobs import referenced
from onrecord.domain.content import Blob, Native
from onrecord.domain.encoding import VERSIONS, encode, name_of
from onrecord.domain.events import Event
from onrecord.domain.head import effect_of
from onrecord.domain.header import NO_METADATA, ClientHeader, header_bytes
from onrecord.domain.log import NewEvent

# A body that names a blob holds one of these keys, as itself: its JSON escapes neither.
_NAMES_DIGEST: Final = b'"sha256"'
_NAMES_BLOB: Final = b'"$onrecord.blob"'


class Stamp(NamedTuple):
    """What an event gets from outside: its id, its time, its salt, where it belongs and who did it.

    `event_id` is a UUIDv7, `occurred_at` microseconds since 1970-01-01 UTC, `salt` 16 random bytes,
    `actor` a keyed digest in hex.
    """

    event_id: UUID
    occurred_at: int
    salt: bytes
    tenant: UUID
    conversation_id: UUID
    actor: str | None = None
    correlation_id: UUID | None = None
    causation_id: UUID | None = None
    metadata: Mapping[str, str] = NO_METADATA


def draft(event: Event, stamp: Stamp) -> NewEvent:
    """Return the event ready for the log; MalformedJson where a value of it has no JSON form."""
    name, body = name_of(event), encode(event)
    header = ClientHeader(
        event_id=stamp.event_id,
        tenant=stamp.tenant,
        conversation_id=stamp.conversation_id,
        type=name,
        schema_version=VERSIONS[name],
        occurred_at=stamp.occurred_at,
        actor=stamp.actor,
        correlation_id=stamp.correlation_id,
        causation_id=stamp.causation_id,
        metadata=stamp.metadata,
    )
    return NewEvent(
        event_id=stamp.event_id,
        type=name,
        schema_version=VERSIONS[name],
        header=header_bytes(header),
        salt=stamp.salt,
        body=body,
        effect=effect_of(event),
        once=once_of(event),
        blobs=blobs_of(event) if _NAMES_DIGEST in body or _NAMES_BLOB in body else (),
        needs=need_of(event),
    )


def once_of(event: Event) -> str | None:
    """Return the name of the fact that a conversation can hold only once, if the event is one."""
    match event:
        case (
            events.MessageRecorded(message_id=str() as message_id)
            | events.SignalReceived(message_id=str() as message_id)
        ):
            return f"message:{message_id}"
        case events.ToolResultRecorded(line=None):
            name = f"result:{event.call_id}"
            return name if event.call is None else f"{name}@{event.call}"
        case events.ResponseCompleted() | events.ResponseInterrupted():
            return f"response:{event.response}"
        case _:
            return None


def blobs_of(event: Event) -> tuple[Blob, ...]:
    """Return the blobs that an event refers to, each once, in order."""
    blobs: dict[Blob, None] = {}
    _find_blobs(event, blobs)
    return tuple(blobs)


def _find_blobs(value: object, blobs: dict[Blob, None]) -> None:
    match value:
        case str() | None:
            return
        case Blob():
            blobs[value] = None
        case Native():
            blobs.update(dict.fromkeys(referenced(value.value)))
        case BaseModel():
            for member in vars(value).values():
                _find_blobs(member, blobs)
        case tuple():
            for item in cast("tuple[object, ...]", value):
                _find_blobs(item, blobs)
        case _:
            return
