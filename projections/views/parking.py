"""What becomes of an event that a view cannot fold: when it is tried again, and when all stops.

The event is parked and its conversation waits behind it, in that view alone; everything else goes
on. A strict view has no holes: it stands still instead. Where event after event fails in the same
way it is not they who are at fault, so the view is stopped before it parks the whole log: the
circuit opens.
"""

from __future__ import annotations

from typing import Final

from onrecord.projections.views.step import Failure
from onrecord.projections.views.view import View

SECOND: Final = 1_000_000
"""Microseconds, the unit of every time here."""

LAST_ATTEMPT: Final = 7
"""How often an event is tried before it waits for a person: for a little over an hour in all."""

STRICT_ATTEMPTS: Final = 3
"""How often a strict view tries an event before it is stopped."""

CIRCUIT: Final = 20
"""How many conversations may be parked by one kind of error before the view is stopped."""


def retry_after(attempts: int) -> int | None:
    """Return how many microseconds after a failed attempt the next one is due; None is never.

    A second after the first, four times as long after each further one. `attempts` counts those
    that failed, from 1.
    """
    return None if attempts >= LAST_ATTEMPT else SECOND * 4 ** (attempts - 1)


def stands_still(view: View, attempts: int) -> bool:
    """Whether a strict view is stopped once an event has failed so often."""
    return view.strict and attempts >= STRICT_ATTEMPTS


def circuit_opens(conversations: int) -> bool:
    """Whether a view is stopped, so many of its conversations being parked by errors of one kind.

    Counted are those that were parked since the view was last resumed.
    """
    return conversations >= CIRCUIT


def why_it_stands_still(failure: Failure) -> str:
    """Return what is told of a strict view that was stopped at an event."""
    event = failure.event
    return (
        f"it has no holes and cannot fold event {event.version} ({event.type}) of conversation "
        f"{event.conversation_id}, at position {event.position} of shard {event.shard}: "
        f"{failure.error}. Mend what fails, then resume the view"
    )


def why_the_circuit_opened(kind: str, conversations: int) -> str:
    """Return what is told of a view that was stopped since many events failed alike."""
    return (
        f"{conversations} conversations are parked by errors of one kind, {kind}. Look at the "
        "parked events, mend what fails, then resume the view and retry them"
    )
