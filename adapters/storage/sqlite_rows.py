"""Rows of SQLite to values and back."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Final
from uuid import UUID

from onrecord.adapters.storage.sqlite_connection import Row, Value
from onrecord.domain.head import Head
from onrecord.domain.log import Conversation, NewEvent, RecordedEvent

SHARD: Final = 0
"""A SQLite log has one shard."""

HIGHEST: Final = 2**63 - 1
"""What stands for no upper bound."""

_NO_CALLS: Final = "{}"
_json: Final = json.JSONEncoder(separators=(",", ":")).encode


def recorded_event(row: Row) -> RecordedEvent:
    """Return the event of a row of `select_conversation`, `select_log` or `select_latest`."""
    position, conversation_id, version, exchange, event_id, *rest = row
    return RecordedEvent(
        SHARD,
        position,
        _conversation_id(conversation_id),
        version,
        exchange,
        UUID(bytes=event_id),
        *rest,
    )


@lru_cache(maxsize=64)
def _conversation_id(data: bytes) -> UUID:
    """Return the id; a page holds the same one again and again, and making one takes its time."""
    return UUID(bytes=data)


def event_row(event: RecordedEvent, new: NewEvent, once: bytes | None) -> tuple[Value, ...]:
    """Return the columns of `event`, in the order of the table."""
    return (
        event.position,
        event.conversation_id.bytes,
        event.version,
        event.exchange,
        new.effect.points,
        event.event_id.bytes,
        event.type,
        event.schema_version,
        event.recorded_at,
        once,
        event.header,
        event.digest,
        event.leaf,
        event.salt,
        event.body,
    )


def head_of(row: Row | None) -> Head:
    """Return the head of a row of `select_head`; an empty one for none."""
    if row is None:
        return Head()
    version, exchange, open_calls, *pointers, closed, read, written = row
    instructions, tools, request, adopted, amended = pointers
    return Head(
        version=version,
        exchange=exchange,
        open_calls={} if open_calls == _NO_CALLS else json.loads(open_calls),
        instructions=instructions,
        tools=tools,
        request=request,
        adopted=adopted,
        amended=amended,
        closed=bool(closed),
        input_tokens=read,
        output_tokens=written,
    )


def head_row(
    head: Head, tenant: UUID, first: RecordedEvent, last: RecordedEvent
) -> tuple[Value, ...]:
    """Return the columns of `conversation_head`, in the order of the table."""
    return (
        last.conversation_id.bytes,
        tenant.bytes,
        last.position,
        first.recorded_at,
        last.recorded_at,
        head.version,
        head.exchange,
        _json(dict(head.open_calls)) if head.open_calls else _NO_CALLS,
        head.instructions,
        head.tools,
        head.request,
        head.adopted,
        head.amended,
        int(head.closed),
        head.input_tokens,
        head.output_tokens,
    )


def catalogue_line(row: Row) -> Conversation:
    """Return the line of the catalogue of a row of `select_conversations`."""
    conversation_id, started_at, recorded_at, *head = row
    return Conversation(UUID(bytes=conversation_id), head_of(tuple(head)), started_at, recorded_at)
