"""What a log takes no more: a conversation that begins under a key that is destroyed.

All events of a conversation are under the keys that its first one names. So the first events tell which
conversations go with a key, and a log looks at no other as it is appended.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from onrecord.domain.encryption.bodies import key_name_in
from onrecord.domain.encryption.keys import key_ids_of
from onrecord.domain.errors import CorruptRecord


@dataclass(frozen=True, slots=True)
class KeyDestroyed:
    """Key number `ordinal` (from 0) of those that the first event names is destroyed; nothing changed.

    Draft the event anew, under another key of the subject.
    """

    ordinal: int


def keys_looked_for(header: bytes) -> tuple[str, ...]:
    """Return the ids of the keys that a header names, in their order: a log parses no headers.

    None for an event in clear, whatever its metadata says, and for a name that is none of keys.
    """
    name = key_name_in(header)
    with suppress(CorruptRecord):
        return () if name is None else key_ids_of(name)
    return ()
