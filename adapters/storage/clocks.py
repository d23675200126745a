"""What clocks say to a log, and what its times are worth: they come from clocks, and clocks are set.

The order of a log is its positions. Times are what a clock said at each append: they never fall in
a shard, unless the clock was set back by more than a day. Then what came before was stamped by a
clock that was ahead, and the log goes on with the clock as it is: one wrong stamp does not make all
later ones wrong. docs/decisions/ says why.
"""

from __future__ import annotations

import contextlib
import logging
import time
import warnings
from dataclasses import replace
from typing import Final

from onrecord.domain.log import Backend

logger = logging.getLogger("onrecord")

DAY: Final = 86_400_000_000
"""In microseconds, as all times here."""

FARTHEST_BACK: Final = DAY
"""How far a clock may fall behind the last event and be taken for slow."""

FARTHEST_AHEAD: Final = 366 * DAY
"""How long after the last event the next one may come without a doubt about the clock."""


def stamped(last: int, now: int) -> int:
    """Return the time of an event that comes after one of a time `last`, where a clock says `now`."""
    return now if last - now > FARTHEST_BACK else max(last, now)


def jump(last: int, now: int) -> str | None:
    """Return a sentence about a clock that jumped since the last event; None if it did not.

    `last` is 0 where there is none.
    """
    if not last:
        return None
    if last - now > FARTHEST_BACK:
        return (
            f"the clock is {_days(last - now)} behind the last event: one of the two times is wrong"
        )
    if now - last > FARTHEST_AHEAD:
        return f"the clock is {_days(now - last)} past the last event: check that it is right"
    return None


def _days(microseconds: int) -> str:
    days = microseconds // DAY
    return "a day" if days == 1 else f"{days:,} days"


class WatchedClock:
    """The time of day, for one who appends; that it jumped is said once a store."""

    def __init__(self) -> None:
        """Begin with nothing noticed."""
        self._noticed: str | None = None
        self._has_warned = False

    def stamp(self, last: int) -> int:
        """Return the time of the next event behind one of a time `last`; 0 if there is none."""
        now = time.time_ns() // 1000
        if self._noticed is None:
            self._noticed = jump(last, now)
        return stamped(last, now)

    def say_jump(self) -> None:
        """Warn of a jump that was noticed: when no lock is held, for who listens may append too.

        Raises nothing, for the events are recorded.
        """
        if self._noticed is None or self._has_warned:
            return
        self._has_warned = True
        # Here, for the spool needs the log's own modules.
        from onrecord.adapters.recording.spool import RecordingWarning

        logger.warning(self._noticed)
        with contextlib.suppress(RecordingWarning):
            warnings.warn(self._noticed, RecordingWarning, stacklevel=3)


def clock_doubts(backend: Backend) -> tuple[str, ...]:
    """Return a sentence for each shard whose last event the clock is far from; none if all is well."""
    now = backend.clock()
    lasts = [
        event
        for end in backend.cursors()
        if end.position
        for event in backend.read_log(replace(end, position=end.position - 1), 1)
    ]
    doubts = (jump(event.recorded_at, now) for event in lasts)
    return tuple(dict.fromkeys(why for why in doubts if why is not None))
