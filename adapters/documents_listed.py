"""The documents of a conversation, read from what a store holds, and their bytes."""

from __future__ import annotations

from collections.abc import Iterator

from onrecord.adapters.lineage import Stretch
from onrecord.adapters.reading import blob_among, told_whole
from onrecord.domain.blobs import referenced, restore
from onrecord.domain.content import Native
from onrecord.domain.errors import CorruptRecord
from onrecord.domain.log import Backend, Blobs
from onrecord.projections.history.documents import HeldDocument
from onrecord.projections.history.documents import documents
from onrecord.projections.history.document_bytes import bytes_of


def documents_held(backend: Backend, stretches: tuple[Stretch, ...]) -> tuple[HeldDocument, ...]:
    """Return the documents of these stretches, in order."""

    def whole(native: Native) -> Native:
        blobs = tuple(referenced(native.value))
        if not blobs:
            return native
        held = {blob.sha256: blob_among(backend, stretches, blob) for blob in blobs}
        return Native(api=native.api, value=restore(native.value, held))

    return documents(told_whole(backend, stretches), whole)


def pieces_of(
    blobs: Blobs, stretches: tuple[Stretch, ...], held: HeldDocument
) -> Iterator[bytes] | None:
    """Return the bytes of a document in pieces of at most 1 MiB; None for one at an address."""
    if held.blob is None:
        return None
    if held.document.blob is None:
        return iter((bytes_of(held.document, {}),))
    for owner in dict.fromkeys(stretch.conversation_id for stretch in reversed(stretches)):
        pieces = blobs.get_blob(owner, held.document.blob)
        try:
            first = next(pieces, b"")
        except CorruptRecord:
            continue
        return _from(first, pieces)
    raise CorruptRecord("the bytes of a document are missing: restore them from a backup")


def _from(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest
