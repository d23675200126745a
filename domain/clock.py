"""What the times of a log are worth: they come from clocks, and clocks are set.

The order of a log is its positions. Times are what a clock said at each append: they never fall in
a shard, unless the clock was set back by more than a day. Then what came before was stamped by a
clock that was ahead, and the log goes on with the clock as it is: one wrong stamp does not make all
later ones wrong. docs/decisions/ says why.
"""

from __future__ import annotations

from typing import Final

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
