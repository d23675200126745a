"""What a log takes no more: a conversation that begins under a key that is destroyed.

All events of a conversation are under the keys that its first one names. So the first events tell which
conversations go with a key, and a log looks at no other as it is appended.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KeyDestroyed:
    """Key number `ordinal` (from 0) of those that the first event names is destroyed; nothing changed.

    Draft the event anew, under another key of the subject.
    """

    ordinal: int
