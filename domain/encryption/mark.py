"""The mark of a log that is encrypted."""

from __future__ import annotations

from typing import Protocol


class Markable(Protocol):
    """A log that can be marked as encrypted, for good.

    Then it takes in clear nothing that a conversation says, whoever appends it: StorageReadOnly.
    """

    def is_encrypted(self) -> bool:
        """Return whether the log is marked as encrypted."""
        ...

    def mark_encrypted(self) -> bool:
        """Mark the log as encrypted, unless its conversations are in clear; return whether it is marked.

        Nobody appends between the look at the events and the mark. One encrypted event outweighs those in
        clear that somebody added without keys. StorageReadOnly for a role that may not.
        """
        ...
