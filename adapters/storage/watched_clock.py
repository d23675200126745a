"""The clock that stamps events where the process itself is the database."""

from __future__ import annotations

import contextlib
import logging
import time
import warnings

from onrecord.domain.clock import jump, stamped

logger = logging.getLogger("onrecord")


class WatchedClock:
    """The time of day, for one who appends; that it jumped is said once a store."""

    def __init__(self) -> None:
        """Begin with nothing noticed."""
        self._noticed: str | None = None
        self._said = False

    def stamp(self, last: int) -> int:
        """Return the time of the next event behind one of a time `last`; 0 if there is none."""
        now = time.time_ns() // 1000
        if self._noticed is None:
            self._noticed = jump(last, now)
        return stamped(last, now)

    def say_jump(self) -> None:
        """Warn of a jump that was noticed: when no lock is held, for who listens may append too."""
        if self._noticed is not None and not self._said:
            self._said = True
            say_jump(self._noticed)


def say_jump(why: str) -> None:
    """Warn of a clock that jumped; raises nothing, for the events are recorded."""
    # Here, for the spool needs the log's own modules.
    from onrecord.adapters.wire.spool import RecordingWarning

    logger.warning(why)
    with contextlib.suppress(RecordingWarning):
        warnings.warn(why, RecordingWarning, stacklevel=4)
