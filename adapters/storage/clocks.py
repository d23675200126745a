"""What clocks say to a log: the one that stamps its events, where the process itself is the database."""

from __future__ import annotations

import contextlib
import logging
import time
import warnings
from dataclasses import replace

from onrecord.domain.clock import jump, stamped
from onrecord.domain.log import Backend

logger = logging.getLogger("onrecord")


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
