"""All that is recorded of a subject, in clear: JSON lines for the one who asks what is kept of them.

The lines are those of an export, but the bodies are text, while digests and leaves commit to what is
stored. A line before each conversation says which one it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from uuid import UUID

from onrecord.adapters.encryption.encrypted_log import readable_in, stored_of
from onrecord.adapters.streams.lineage import Lineages, key_of
from onrecord.adapters.transfer.export import (
    blob_lines,
    blobs_in,
    byte_members,
    bytes_among,
    closed,
    place_members,
    undamaged,
)
from onrecord.domain.log import Backend

FORMAT: Final = 1


def subject_lines(backend: Backend, subject: str, conversations: Sequence[UUID]) -> Iterator[bytes]:
    """Yield the lines of what is recorded in conversations, and a last one that digests all before it.

    `subject` is its keyed digest in hex. CorruptRecord where an event is damaged as it is stored, or a
    document is missing.
    """
    return closed(_lines(backend, subject, conversations))


def _lines(
    backend: Backend, subject: str, conversations: Sequence[UUID]
) -> Iterator[Mapping[str, object]]:
    yield {
        "onrecord": "export of a subject",
        "format": FORMAT,
        "subject": subject,
        "conversations": len(conversations),
    }
    for conversation_id in conversations:
        yield from _conversation(backend, conversation_id)


def _conversation(backend: Backend, conversation_id: UUID) -> Iterator[Mapping[str, object]]:
    stored = stored_of(backend)
    until = stored.head(conversation_id).version
    key = key_of(backend, conversation_id)
    yield {"conversation": str(conversation_id), "key": key, "events": until}
    owners = [
        segment.conversation_id
        for segment in reversed(Lineages(backend, conversation_id).whole(until))
    ]
    seen = set[str]()
    for encrypted in undamaged(stored, conversation_id, until):
        recorded = readable_in(backend, encrypted)
        for blob in blobs_in(recorded):
            if blob.sha256 not in seen:
                seen.add(blob.sha256)
                yield from blob_lines(blob, bytes_among(backend, owners, blob))
        yield {**place_members(recorded), **byte_members(recorded)}
