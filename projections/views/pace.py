"""How long a worker waits for news, and how much it takes at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from onrecord.domain.log import RecordedEvent

SHORTEST_WAIT: Final = 0.002
"""Seconds until the log is looked at again right after there was something new."""

LONGEST_WAIT: Final = 0.2
"""Seconds between two looks at a log in which nothing happens; a hint ends the wait."""

_BYTES: Final = 8 * 2**20
_SECONDS: Final = 0.5
_FEWEST, _MOST = 64, 4096


def wait_after(idle: int) -> float:
    """Return how many seconds to wait after so many looks in a row that found nothing."""
    return min(SHORTEST_WAIT * 2.0 ** min(idle, 16), LONGEST_WAIT)


def size_of(events: Iterable[RecordedEvent]) -> int:
    """Return how many bytes of headers and bodies events have."""
    return sum(len(event.header) + len(event.body or b"") for event in events)


class Room:
    """How many positions the next batch may span, so that it fits in memory and is soon done.

    It goes by the last ones: 8 MiB of headers and bodies, and half a second, are aimed at, for an
    erasure waits for a batch, and so does what is new.
    """

    def __init__(self, positions: int = 512) -> None:
        """Begin carefully, for nothing is known yet."""
        self._positions = positions

    @property
    def positions(self) -> int:
        """Return how many positions it may be."""
        return self._positions

    def took(self, positions: int, size: int, seconds: float) -> None:
        """Learn from a batch that spanned so many positions, held so many bytes and took so long."""
        in_bytes = positions * _BYTES / max(size, 1)
        # What takes long whatever it holds is not sooner done in small pieces.
        in_time = max(positions * _SECONDS / max(seconds, 1e-6), _FEWEST)
        # It may shrink at once, and grows step by step, for one small batch proves little.
        self._positions = int(max(1, min(in_bytes, in_time, self._positions * 2, _MOST)))

    def failed(self) -> None:
        """Take less next time: a batch that takes too long is given up by the server, again and again."""
        self._positions = max(self._positions // 4, 1)
