"""Appending inside a transaction that is open: look up what is known, decide, write."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

from onrecord.adapters.storage.keyed_digest import keyed_digest
from onrecord.adapters.storage.recording import (
    Known,
    Place,
    Recording,
    another_tenants,
    must_be_apart,
    record,
    referred,
    refusal,
)
from onrecord.adapters.storage.sqlite_connection import Session
from onrecord.adapters.storage.sqlite_mark import LogEnd
from onrecord.adapters.storage.sqlite_rows import SHARD, event_row, head_of, head_row
from onrecord.domain.errors import ConversationForgotten
from onrecord.domain.head import Head
from onrecord.domain.log import Append, BlobMissing, NewEvent, Verdict


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
        if session.one("select_blob", owner, bytes.fromhex(blob.sha256)) is None:
            return BlobMissing(ordinal)
    return None


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
            owner, digest = append.conversation_id.bytes, bytes.fromhex(blob.sha256)
            session.run("refer_to_blob", owner, digest)
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
