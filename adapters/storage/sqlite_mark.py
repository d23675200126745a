"""How far a SQLite file went, by what is written beside it: the high-water mark of its log.

The mark is written after each commit, without a flush of its own: it may lag behind the file, and
is never ahead of it. So a file that is not as far as its mark, or holds another event there, was
set back, replaced or cut. Such a mark is kept among those that were lost, for `onrecord verify`.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import Final, NamedTuple

_BODY: Final = struct.Struct(">qq16s32s")
_SUM: Final = struct.Struct(">I")
SIZE: Final = _BODY.size + _SUM.size
"""How many bytes a mark takes."""

NO_LEAF: Final = bytes(32)
"""The leaf of no event: that of a log that is empty."""


@dataclass(slots=True)
class LogEnd:
    """Where a log ends, and which it is: its incarnation, and the position and leaf of its last event.

    `recorded_at` is the time of that event, or of the next one.
    """

    incarnation: bytes
    position: int
    recorded_at: int
    leaf: bytes


class Mark(NamedTuple):
    """How far a log went: its last position, the leaf there, and its incarnation.

    `begun` is the position at which there was no mark yet: what was cut before that is not seen.
    """

    position: int
    begun: int
    incarnation: bytes
    leaf: bytes

    def packed(self) -> bytes:
        """Return its bytes, with their sum: a write may be torn when the power fails."""
        body = _BODY.pack(self.position, self.begun, self.incarnation, self.leaf)
        return body + _SUM.pack(zlib.crc32(body))

    def is_before(self, end: LogEnd, leaf_there: bytes | None) -> bool:
        """Return whether a log that ends so went on from here; `leaf_there` is the one at `position`."""
        return self.position <= end.position and (leaf_there or NO_LEAF) == self.leaf


def unpacked(data: bytes) -> Mark | None:
    """Return the mark that bytes hold; None where they hold none."""
    if len(data) != SIZE:
        return None
    body, written = data[: _BODY.size], data[_BODY.size :]
    if _SUM.pack(zlib.crc32(body)) != written:
        return None
    return Mark._make(_BODY.unpack(body))
