"""The bytes of documents, which a service stores: sent as a whole, and read in pieces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from tempfile import SpooledTemporaryFile
from typing import Final
from uuid import UUID

from onrecord.adapters.storage.append import verified
from onrecord.adapters.storage.http.append_forms import BlobForm
from onrecord.adapters.storage.http.transport import MOST_BYTES, Ask, Transport
from onrecord.adapters.storage.steps import each_beside_loop
from onrecord.domain.blobs import digest_of
from onrecord.domain.content import Blob

_HELD: Final = 1 << 20
"""The most bytes of a document that are held in memory while they are sent; others wait in a file."""


def put(transport: Transport, path: str, tenant: UUID, chunks: Iterable[bytes]) -> Blob:
    """Store bytes and return the reference; storing them again changes nothing."""
    with SpooledTemporaryFile[bytes](max_size=_HELD) as file:
        for chunk in each_beside_loop(chunks):
            file.write(chunk)
        form = transport.form(Ask("POST", path, None, file, str(tenant)), BlobForm)
    return Blob(sha256=form.sha256, size=form.size)


def get(transport: Transport, path: str, blob: Blob) -> Iterator[bytes]:
    """Yield the bytes of a blob in pieces; CorruptRecord if they are missing or others."""
    # Twice its size, for whoever frames small pieces.
    most = 2 * blob.size + MOST_BYTES
    ask = Ask("GET", f"{path}/{digest_of(blob).hex()}", {"size": blob.size}, most=most)
    yield from verified(transport.stream(ask), blob)
