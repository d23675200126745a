"""Blobs in dictionaries, each owned by a conversation; whoever uses them holds the store's lock."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from onrecord.domain.content import Blob
from onrecord.domain.inventory import StoredBlob


@dataclass(slots=True)
class _Stored:
    data: tuple[bytes, ...]
    stored_at: int
    referenced: bool = False


class MemoryBlobs:
    """Large bytes by the conversation that owns them and their digest."""

    def __init__(self) -> None:
        """Begin with none."""
        self._stored: dict[tuple[UUID, str], _Stored] = {}

    def put(self, owner: UUID, blob: Blob, data: tuple[bytes, ...]) -> None:
        """Keep the pieces of a blob; those that are there already stay, and are new again."""
        now = _monotonic()
        self._stored.setdefault((owner, blob.sha256), _Stored(data, now)).stored_at = now

    def get(self, owner: UUID, blob: Blob) -> tuple[bytes, ...] | None:
        """Return the pieces of a blob, or None."""
        stored = self._stored.get((owner, blob.sha256))
        return None if stored is None else stored.data

    def refer(self, owner: UUID, blobs: Iterable[Blob]) -> None:
        """Take note that an event refers to blobs: no sweep takes them."""
        for blob in blobs:
            if (stored := self._stored.get((owner, blob.sha256))) is not None:
                stored.referenced = True

    def sweep(self, age: int) -> int:
        """Delete what no event refers to and was stored so long ago; return how many went."""
        before, last = len(self._stored), _monotonic() - age
        self._stored = {
            place: stored
            for place, stored in self._stored.items()
            if stored.referenced or stored.stored_at > last
        }
        return before - len(self._stored)

    def stored(self, owner: UUID, tenant: UUID) -> dict[StoredBlob, tuple[bytes, ...]]:
        """Return the blobs of a conversation as rows, each with its pieces."""
        return {
            StoredBlob(
                digest, tenant, 0, bytes.fromhex(digest), None, held.referenced, held.stored_at
            ): held.data
            for (holder, digest), held in self._stored.items()
            if holder == owner
        }

    def forget(self, owner: UUID) -> None:
        """Delete all that a conversation owns."""
        self._stored = {place: held for place, held in self._stored.items() if place[0] != owner}


def _monotonic() -> int:
    return time.monotonic_ns() // 1000
