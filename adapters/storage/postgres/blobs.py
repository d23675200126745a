"""Blobs in PostgreSQL: in rows of at most 1 MiB, which are sealed when all of them came."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar
from uuid import UUID

from psycopg.types.numeric import Int8
from uuid_utils.compat import uuid7

from onrecord.adapters.storage.append import verified
from onrecord.adapters.storage.postgres.connections import Connections
from onrecord.domain.blobs import digest_of
from onrecord.domain.content import Blob, KeyedBlob
from onrecord.domain.errors import CorruptRecord

B = TypeVar("B", Blob, KeyedBlob)


def put(
    connections: Connections,
    tenant: UUID,
    conversation_id: UUID,
    arriving: Iterable[bytes],
    reference: Callable[[], B],
) -> B:
    """Store pieces as they come, durably; `reference` says what refers to them when all came."""
    place: tuple[UUID, UUID, UUID] = (tenant, conversation_id, uuid7())
    number = -1
    for number, piece in enumerate(arriving):
        connections.ask("put_chunk", (*place, number, piece))
    if number < 0:
        connections.ask("put_chunk", (*place, 0, b""))
    blob = reference()
    connections.ask("seal_blob", (*place, digest_of(blob), Int8(blob.size)))
    return blob


def get(connections: Connections, conversation_id: UUID, blob: Blob | KeyedBlob) -> Iterator[bytes]:
    """Yield the bytes of a blob in pieces of at most 1 MiB; CorruptRecord if it is missing."""
    rows = connections.ask("blob", (conversation_id, digest_of(blob)))
    if not rows:
        raise CorruptRecord("the bytes of a document are missing: restore them from a backup")
    shard, blob_id = rows[0]
    yield from verified(_chunks(connections, shard, blob_id), blob)


def _chunks(connections: Connections, shard: int, blob_id: UUID) -> Iterator[bytes]:
    number = 0
    while (rows := connections.ask("chunk", (shard, blob_id, number))) and rows[0][0]:
        yield rows[0][0]
        number += 1
