"""The verbs by which a store erases what a conversation says."""

from __future__ import annotations

from typing import Protocol
from uuid import UUID


class Erasure(Protocol):
    """What takes content back; that something was recorded stays provable."""

    def forget(self, conversation_id: UUID) -> int:
        """Erase bodies, salts, blobs and the key of a conversation; return how many events.

        Headers, digests and leaves stay, so the ledger still verifies. If it had begun, it takes
        nothing any more from then on. Forgetting again finishes what could not be, and is free otherwise.
        StorageReadOnly for a stream of the operators, which is kept, and for who may not erase.
        """
        ...

    def may_forget(self) -> bool:
        """Return whether whoever connected may erase: on PostgreSQL, an eraser or the owner."""
        ...

    def residue(self) -> tuple[str, ...]:
        """Say where bytes that were erased may still be on the disk, and what to do about it.

        A sentence each; none if nowhere. Only who reads the files of the log finds them.
        """
        ...

    def rewrite(self) -> tuple[str, ...]:
        """Write anew what may hold bytes that were erased, once for any number of erasures.

        Return the names of the files or tables that were written and hold no such bytes any more.
        What this role may not write, or others use, stays: `residue` says what.
        """
        ...

    def erasures(self) -> int:
        """Return how often something was erased: what was read under a lower number may be gone."""
        ...

    def erased(self, after: int) -> list[UUID]:
        """Return the conversations of the erasures that come after so many, in order."""
        ...
