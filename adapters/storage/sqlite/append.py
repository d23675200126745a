"""Appending inside a transaction that is open: look up what is known, decide, write."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final
from uuid import UUID

from onrecord.adapters.storage.append import (
    Known,
    Place,
    Recording,
    another_tenants,
    keyed_digest,
    must_be_apart,
    must_be_encrypted,
    record,
    referred,
    refusal,
    under_destroyed_key,
)
from onrecord.adapters.storage.sqlite.connection import Row, Session, Value
from onrecord.adapters.storage.sqlite.held_files import LogEnd
from onrecord.domain.blobs import digest_of
from onrecord.domain.encryption.mark import Bodies, bodies_of
from onrecord.domain.erasure.destroyed import KeyDestroyed
from onrecord.domain.errors import ConversationForgotten
from onrecord.domain.head import Head
from onrecord.domain.log import (
    Append,
    BlobMissing,
    CatalogueEntry,
    NewEvent,
    RecordedEvent,
    Verdict,
)

SHARD: Final = 0
"""A SQLite log has one shard."""

HIGHEST: Final = 2**63 - 1
"""What stands for no upper bound."""

_HEADERS: Final = 1_000
_NO_CALLS: Final = "{}"
_json: Final = json.JSONEncoder(separators=(",", ":")).encode


def recorded_event(row: Row) -> RecordedEvent:
    """Return the event of a row of `select_conversation`, `select_log` or `select_pointed`."""
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


def head_of(row: Sequence[Any] | None) -> Head:
    """Return the head of a row of `select_head`; an empty one for none, or for one that is NULL."""
    if row is None or row[0] is None:
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


def catalogue_line(row: Row) -> CatalogueEntry:
    """Return the line of the catalogue of a row of `select_conversations`."""
    conversation_id, started_at, recorded_at, *head = row
    return CatalogueEntry(
        UUID(bytes=conversation_id), head_of(tuple(head)), started_at, recorded_at
    )


def append_all(
    session: Session, digest_key: bytes, end: LogEnd, appends: Sequence[Append]
) -> list[Verdict]:
    """Return a verdict for each request, in order; what is recorded moves the end."""
    must_be_apart(appends)
    return [_append(session, digest_key, end, append) for append in appends]


def _append(session: Session, digest_key: bytes, end: LogEnd, append: Append) -> Verdict:
    place = _place(session, append)
    onces = [_once(digest_key, event) for event in append.events]
    known = [
        _known(session, append.conversation_id, event, once)
        for event, once in zip(append.events, onces, strict=True)
    ]
    if (refused := refusal(append, known, place)) is not None:
        return refused
    if (missing := _missing(session, append)) is not None:
        return missing
    if not place.begun and (gone := _destroyed(session, append)) is not None:
        return gone
    if end.is_encrypted:
        must_be_encrypted(append)
    recording = record(
        append, place.head, shard=SHARD, position=end.position, recorded_at=end.recorded_at
    )
    write(session, append, recording, onces)
    end.position, end.leaf = recording.events[-1].position, recording.events[-1].leaf
    return recording.verdict()


def _place(session: Session, append: Append) -> Place:
    """Return where it goes; applications of `eventsourcing` may begin with version 0, expecting -1.

    Raises StorageReadOnly where that is another tenant's.
    """
    row = session.one("select_place", append.conversation_id.bytes)
    if row is None:
        return Place(Head(version=-1) if append.expected_version == -1 else Head())
    owner, forgotten, *head = row
    if owner != append.tenant.bytes:
        raise another_tenants()
    return Place(head_of(tuple(head)), bool(forgotten), True)


def _missing(session: Session, append: Append) -> BlobMissing | None:
    """Return which blob is not there; a sweep comes before or after this transaction, not amid it."""
    owner = append.conversation_id.bytes
    for ordinal, blob in enumerate(referred(append)):
        if session.one("select_blob", owner, digest_of(blob)) is None:
            return BlobMissing(ordinal)
    return None


def _destroyed(session: Session, append: Append) -> KeyDestroyed | None:
    def owner(stream: UUID) -> UUID | None:
        row = session.one("select_place", stream.bytes)
        return None if row is None else UUID(bytes=row[0])

    return under_destroyed_key(append, owner)


def is_said_in_clear(session: Session) -> bool:
    """Return whether conversations are in clear in a log; it looks at all events."""
    return bodies_of(_types_and_headers(session)) is Bodies.IN_CLEAR


def _types_and_headers(session: Session) -> Iterator[tuple[str, bytes]]:
    after = 0
    while rows := session.all("select_headers", after, _HEADERS):
        yield from ((event_type, header) for _, event_type, header in rows)
        after = rows[-1][0]


def must_take(session: Session, tenant: UUID, conversation_id: UUID) -> None:
    """Raise unless a conversation takes what a tenant brings; a new one takes anybody's.

    StorageReadOnly where it is another tenant's or kept for operators, ConversationForgotten where
    it was forgotten.
    """
    must_be_apart([Append(tenant, conversation_id, ())])
    row = session.one("select_place", conversation_id.bytes)
    if row is not None and row[0] != tenant.bytes:
        raise another_tenants()
    if row is not None and row[1]:
        raise ConversationForgotten


def read_head(session: Session, conversation_id: UUID) -> Head:
    """Return where a conversation stands."""
    return head_of(session.one("select_head", conversation_id.bytes))


def write(
    session: Session, append: Append, recording: Recording, onces: Iterable[bytes | None]
) -> None:
    """Write the events of a recording, the head after them, and that they refer to blobs."""
    for new, event, once in zip(append.events, recording.events, onces, strict=True):
        session.run("insert_event", *event_row(event, new, once))
        for blob in new.blobs:
            session.run("refer_to_blob", append.conversation_id.bytes, digest_of(blob))
    first, last = recording.events[0], recording.events[-1]
    session.run("upsert_head", *head_row(recording.head, append.tenant, first, last))
    if recording.head.closed:
        session.run("close_head", append.conversation_id.bytes)


def _once(digest_key: bytes, event: NewEvent) -> bytes | None:
    return None if event.once is None else keyed_digest(digest_key, event.once)


def _known(
    session: Session, conversation_id: UUID, event: NewEvent, once: bytes | None
) -> Known | None:
    row = session.one("known_by_id", event.event_id.bytes)
    if row is None and once is not None:
        row = session.one("known_by_once", conversation_id.bytes, once)
    if row is None:
        return None
    owner, *rest = row
    return Known(UUID(bytes=owner), *rest)
