"""Large bytes cut into pieces that fit a row, and put together again with proof."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Final

from onrecord.domain.content import Blob
from onrecord.domain.errors import CorruptRecord

PIECE_SIZE: Final = 1024 * 1024
"""The most bytes of a blob that one row holds."""


def pieces(chunks: Iterable[bytes], size: int = PIECE_SIZE) -> Iterator[bytes]:
    """Yield the same bytes in pieces of `size`, the last one shorter; nothing for no bytes."""
    held = bytearray()
    for chunk in chunks:
        rest = memoryview(chunk)
        while rest:
            room = size - len(held)
            held += rest[:room]
            rest = rest[room:]
            if len(held) == size:
                yield bytes(held)
                held.clear()
    if held:
        yield bytes(held)


def verified(stored: Iterable[bytes], blob: Blob) -> Iterator[bytes]:
    """Yield a blob's pieces; CorruptRecord at the end, if they are not the bytes it refers to."""
    digest, size = hashlib.sha256(), 0
    for piece in stored:
        digest.update(piece)
        size += len(piece)
        yield piece
    if (digest.hexdigest(), size) != (blob.sha256, blob.size):
        raise CorruptRecord(
            "bytes of a document are missing or do not match their digest: restore them from a backup"
        )
