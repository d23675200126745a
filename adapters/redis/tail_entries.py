"""A recorded event as an entry of a tail, and back: every field as the log has it."""

from __future__ import annotations

import struct
from typing import Any, Final, NamedTuple, cast
from uuid import UUID

from onrecord.adapters.redis.sealed import opened, seal
from onrecord.adapters.storage.append import Proof
from onrecord.domain.log import RecordedEvent

FIELD: Final = b"event"
"""The only field of an entry."""

AT_ONCE: Final = 100
"""How many entries are sent at once: few enough for an answer in time, were they all large."""

_FIXED: Final = struct.Struct(">16s16s16sqqqq6i")
_NONE: Final = -1


class Entry(NamedTuple):
    """An event, and whose it is: readers of one tenant need not ask the log."""

    tenant: UUID
    event: RecordedEvent


def tail_key(incarnation: UUID, shard: int) -> str:
    """Return the key of a shard's tail."""
    return f"onrecord:{incarnation}:tail:{shard}"


def sealed_entry(prove: Proof, key: str, entry: Entry) -> bytes:
    """Return an entry as the tail of that key has it."""
    event = entry.event
    parts = (event.type.encode(), event.header, event.digest, event.leaf, event.salt, event.body)
    fixed = _FIXED.pack(
        entry.tenant.bytes,
        event.conversation_id.bytes,
        event.event_id.bytes,
        event.version,
        event.exchange,
        event.schema_version,
        event.recorded_at,
        *(_NONE if part is None else len(part) for part in parts),
    )
    packed = fixed + b"".join(part for part in parts if part is not None)
    return seal(prove, f"{key} {event.position}", packed)


def entries_in(prove: Proof, key: str, shard: int, answer: Any) -> list[Entry]:
    """Return the entries of an answer to XREAD, up to the first that is not of this log's making.

    `answer` is as the driver has it; None where nothing came.
    """
    found: list[Entry] = []
    for place, fields in _rows(answer):
        position = int(place.partition(b"-")[0])
        packed = opened(prove, f"{key} {position}", fields.get(FIELD, b""))
        if packed is None:
            break
        found.append(_entry(shard, position, packed))
    return found


def _rows(answer: Any) -> list[tuple[bytes, dict[bytes, bytes]]]:
    if not answer:
        return []
    ((_, rows),) = answer  # One tail was asked for.
    return cast("list[tuple[bytes, dict[bytes, bytes]]]", rows)


def _entry(shard: int, position: int, packed: bytes) -> Entry:
    tenant, conversation, event_id, version, exchange, schema, recorded_at, *lengths = (
        _FIXED.unpack_from(packed)
    )
    parts: list[bytes | None] = []
    at = _FIXED.size
    for length in lengths:
        parts.append(None if length == _NONE else packed[at : at + length])
        at += max(length, 0)
    name, header, digest, leaf, salt, body = parts
    event = RecordedEvent(
        shard=shard,
        position=position,
        conversation_id=UUID(bytes=conversation),
        version=version,
        exchange=exchange,
        event_id=UUID(bytes=event_id),
        type=cast("bytes", name).decode(),
        schema_version=schema,
        recorded_at=recorded_at,
        header=cast("bytes", header),
        digest=cast("bytes", digest),
        leaf=cast("bytes", leaf),
        salt=salt,
        body=body,
    )
    return Entry(UUID(bytes=tenant), event)
