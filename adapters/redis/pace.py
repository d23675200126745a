"""Whether a Redis answers in time to be of use: asking one that is late costs more than it saves."""

from __future__ import annotations

from typing import Final

from onrecord.adapters.redis.breaker import Breaker

LATE_SECONDS: Final = 0.05
"""An answer that takes longer is late: a window of 5,000 messages is rendered in that time."""

LATE_IN_A_ROW: Final = 3
"""How many late answers it takes: one alone may be this process's own doing."""


class Pace:
    """Has a Redis left alone for a while whose answers come late, one after the other."""

    def __init__(self, shown: str) -> None:
        """Watch the Redis of that URL, which is shown."""
        self._breaker = Breaker(shown)
        self._late = 0

    def lets_ask(self) -> bool:
        """Whether the caller may ask; then it is to say how long an answer took, if one came."""
        return self._breaker.lets_ask()

    def took(self, seconds: float) -> None:
        """Take note of how long an answer took."""
        self._late = self._late + 1 if seconds > LATE_SECONDS else 0
        if self._late >= LATE_IN_A_ROW:
            self._breaker.failed(TimeoutError(f"its answers take over {LATE_SECONDS} seconds"))
        elif not self._late:
            self._breaker.answered()
