"""How long the calls of tools waited for a person, by the events that ask and decide; pure."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from onrecord.domain.jsontext import JsonObject

ASKED: Final = "approval.requested"
DECIDED: Final = "approval.decided"


class Period(NamedTuple):
    """When a person was asked, and when the wait was over, in microseconds; None where it is not over."""

    asked_at: int
    ended_at: int | None


@dataclass(frozen=True, slots=True)
class Wait:
    """The periods in which a call waited for a person: one for each question, at least one.

    A period is over by a decision, or by the result of a call that nobody decided about.
    `is_denied` where a person denied the call.
    """

    periods: tuple[Period, ...]
    is_denied: bool = False

    @property
    def asked_at(self) -> int:
        """Return when a person was asked first."""
        return self.periods[0].asked_at

    @property
    def ended_at(self) -> int | None:
        """Return when the last period was over; None where it is not."""
        return self.periods[-1].ended_at

    @property
    def total(self) -> int:
        """Return how long all periods were that are over, in microseconds."""
        return sum(max(0, end - begin) for begin, end in self.periods if end is not None)


@dataclass(slots=True)
class Waits:
    """Takes in questions and decisions in order, and tells how long each call waited."""

    _times: defaultdict[tuple[int, int], list[int]] = field(
        default_factory=lambda: defaultdict(list)
    )
    _denied: set[int] = field(default_factory=set[int])

    def take(self, members: JsonObject, at: int) -> None:
        """Take in the next question or decision and its time; what was erased tells nothing."""
        if "call" in members and "line" not in members:
            self._times[members["call"], members["number"]].append(at)
            if members.get("decision") == "denied":
                self._denied.add(members["call"])

    def wait_for(self, call_version: int, result_at: int | None) -> Wait | None:
        """Return the wait of a call that had its result at a time, None if nobody was asked about it."""
        periods = list[Period]()
        while times := self._times.get((call_version, len(periods))):
            asked_at, *decided_at = times
            periods.append(Period(asked_at, decided_at[0] if decided_at else result_at))
        return Wait(tuple(periods), call_version in self._denied) if periods else None
