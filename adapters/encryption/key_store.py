"""Where the wrapped keys of subjects are kept: outside the database of the log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from onrecord.domain.encryption.wrapped import (
    DestroyedKey,
    Generation,
    Rewrapping,
    Wrapped,
    WrappedKey,
)


class GenerationClosed(Exception):
    """A key was wrapped under a generation that takes no more: wrap it again, under the current one."""


class KeyStore(Protocol):
    """Wrapped keys by id, and by the digest of their subject. What returns is durable.

    Threads and processes may share it. No key is in it in clear, and no name of a subject.
    """

    def find(self, subject: bytes) -> WrappedKey | None:
        """Return the key of a subject; None where it has none, or none any more."""
        ...

    def get(self, key_id: str) -> WrappedKey | DestroyedKey | None:
        """Return the key of an id, or when it was destroyed; None where the store never had it."""
        ...

    def add(self, key: WrappedKey) -> WrappedKey:
        """Keep a key, and return the one that its subject has: another's, if that was quicker.

        GenerationClosed where its generation takes no more.
        """
        ...

    def destroy(self, key_id: str, at: int) -> DestroyedKey | None:
        """Destroy a key: its bytes are overwritten, and whose it was is forgotten.

        Return when it was destroyed, which may be earlier; None where the store never had it. The bytes are
        in no file of the store afterwards, once `scrub` returned.
        """
        ...

    def replace(self, rewrappings: Sequence[Rewrapping]) -> int:
        """Have keys wrapped under other generations, all in one step, unless one is not as it was.

        Return how many are wrapped so then: the same, where a lost answer has the step done again.
        GenerationClosed, and none is, where a new generation takes no more.
        """
        ...

    def under(self, generations: Sequence[str], limit: int) -> list[WrappedKey]:
        """Return keys that are wrapped under some generations, so many at most."""
        ...

    def generations(self) -> list[Generation]:
        """Return the generations that keys were ever wrapped under, by name."""
        ...

    def close_generation(self, name: str) -> None:
        """Take no more keys under a generation."""
        ...

    def note_retired(self, name: str, at: int, undoable_until: int | None) -> None:
        """Note that a closed generation is gone, and until when that can be undone; the first note counts."""
        ...

    def scrub(self) -> None:
        """Write anew what holds the store, so that no bytes of what was destroyed or replaced are left.

        StorageBusy where a reader still needs them: then do it again.
        """
        ...

    def close(self) -> None:
        """Free what the store has open."""
        ...


def known_key(row: Sequence[Any] | None) -> WrappedKey | DestroyedKey | None:
    """Return what a row of a database says of a key: id, subject, generation, bytes, made and destroyed at."""
    if row is None:
        return None
    key_id, *_, destroyed_at = row
    return wrapped_key(row) if destroyed_at is None else DestroyedKey(key_id, destroyed_at)


def wrapped_key(row: Sequence[Any]) -> WrappedKey:
    """Return the key of such a row, which is not destroyed."""
    key_id, subject, generation, data, created_at, _ = row
    return WrappedKey(key_id, subject, Wrapped(generation, data), created_at)


def live_key(row: Sequence[Any] | None) -> WrappedKey | None:
    """Return the key of a row, unless it was destroyed."""
    known = known_key(row)
    return known if isinstance(known, WrappedKey) else None
