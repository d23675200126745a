"""What a log takes no more: a conversation that begins under a key that is destroyed.

All events of a conversation are under the keys that its first one names. So the first events tell which
conversations go with a key, and a log looks at no other as it is appended.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_NAMED: Final = re.compile(rb'"key":"([A-Za-z0-9_+-]+)"')


@dataclass(frozen=True, slots=True)
class KeyDestroyed:
    """Key number `ordinal` (from 0) of those that the first event names is destroyed; nothing changed.

    Draft the event anew, under another key of the subject.
    """

    ordinal: int


def keys_looked_for(header: bytes) -> list[str]:
    """Return the ids of the keys that a header may name, in their order: a log parses no headers.

    What looks like one in the metadata of an event that is not encrypted is the id of no key.
    """
    found = _NAMED.search(header)
    return [] if found is None else found[1].decode().split("+")
