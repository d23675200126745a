"""The time that has passed, by a clock that nobody sets: the machine's, since it started.

The time of day jumps: it is set by hand, by a service, by a battery that died. How long a document
has waited is told by both, where both can tell, and the shorter time holds.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

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
