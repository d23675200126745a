"""How long the calls of tools waited for a person, by the events that ask and decide; pure."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Final

from onrecord.domain.jsontext import JsonObject

ASKED: Final = "approval.requested"
DECIDED: Final = "approval.decided"


@dataclass(frozen=True, slots=True)
class Wait:
    """When a person was asked about a call first, when the last wait was over, and how long all were.

    Times are in microseconds. A wait is over by a decision, or by the result of a call that nobody decided about;
    `over` is None where neither is there.
    """

    asked: int
    over: int | None
    waited: int


@dataclass(slots=True)
class Waits:
    """Takes in questions and decisions in order, and tells how long each call waited."""

    _moments: defaultdict[tuple[int, int], list[int]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def take(self, members: JsonObject, moment: int) -> None:
        """Take in the next question or decision; what was erased tells nothing."""
        if "call" in members and "line" not in members:
            self._moments[members["call"], members["number"]].append(moment)

    def of(self, version: int, ended: int | None) -> Wait | None:
        """Return how long the call at a version waited, which `ended` with its result; None if it did not."""
        asked: int | None = None
        over: int | None = None
        waited, number = 0, 0
        while moments := self._moments.get((version, number)):
            begun, *decided = moments
            asked = begun if asked is None else asked
            over = decided[0] if decided else ended
            waited += max(0, over - begun) if over is not None else 0
            number += 1
        return None if asked is None else Wait(asked, over, waited)
