"""The clock that stamps events where the process itself is the database."""

from __future__ import annotations

import contextlib
import logging
import time
import warnings
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from onrecord.domain.clock import jump, stamped
from onrecord.domain.log import Backend

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
    from onrecord.adapters.recording.spool import RecordingWarning

    logger.warning(why)
    with contextlib.suppress(RecordingWarning):
        warnings.warn(why, RecordingWarning, stacklevel=4)


# The time that has passed, by a clock that nobody sets: the machine's, since it started.
#
# The time of day jumps: it is set by hand, by a service, by a battery that died. How long a
# document has waited is told by both, where both can tell, and the shorter time holds.

_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
# Not clock_gettime(2): what fakes the time of a process (libfaketime) fakes all clocks of that call.
_UPTIME: Final = Path("/proc/uptime")


class Elapsed(NamedTuple):
    """Which start of the machine it is (None where it does not tell), and how long ago that was.

    `microseconds` since then.
    """

    boot: str | None
    microseconds: int


def elapsed() -> Elapsed:
    """Return how long the machine has run."""
    boot = _boot()
    if boot is None:
        return Elapsed(None, 0)
    seconds, _, fraction = _UPTIME.read_text("ascii").split()[0].partition(".")
    return Elapsed(boot, int(seconds) * 1_000_000 + int(f"{fraction:0<6}"[:6]))


@cache
def _boot() -> str | None:
    try:
        _UPTIME.read_text("ascii")
        return _BOOT.read_text("ascii").strip()
    except OSError:
        return None


# What there is to say of a store's clock: how it stands to the last events.


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
