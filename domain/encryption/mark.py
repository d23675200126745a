"""The mark of a log that is encrypted, and what decides whether it may have it."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto
from typing import Protocol

from onrecord.domain.encryption.bodies import is_unencrypted, key_name_in


class Bodies(Enum):
    """How the conversations of a log are stored, as far as its events tell."""

    UNTOLD = auto()
    IN_CLEAR = auto()
    ENCRYPTED = auto()


def bodies_of(events: Iterable[tuple[str, bytes]]) -> Bodies:
    """Return how conversations are stored, by the types and client headers of their events.

    One encrypted event outweighs those in clear that somebody without keys added. Events of operators
    and of other applications are in clear in any log, and tell nothing.
    """
    bodies = Bodies.UNTOLD
    for event_type, header in events:
        if key_name_in(header) is not None:
            return Bodies.ENCRYPTED
        if is_unencrypted(event_type, header):
            bodies = Bodies.IN_CLEAR
    return bodies


class Markable(Protocol):
    """A log that can be marked as encrypted, for good.

    Then it takes in clear nothing that a conversation says, whoever appends it: StorageReadOnly. To
    append again what it has in clear from before is no error: it is Duplicate there too. A document in clear
    is refused as well.
    """

    def is_encrypted(self) -> bool:
        """Return whether the log is marked as encrypted."""
        ...

    def may_mark(self) -> bool:
        """Return whether the role that connected may mark the log."""
        ...

    def mark_encrypted(self) -> bool:
        """Mark the log as encrypted, unless its conversations are in clear; return whether it is marked.

        Nobody appends between the look at the events and the mark. One encrypted event outweighs those in
        clear that somebody added without keys. StorageReadOnly for a role that may not.
        """
        ...
