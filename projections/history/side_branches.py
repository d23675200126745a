"""The side branches of a conversation as people read of them: where each stands, what became of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias
from uuid import UUID

from onrecord.domain.admission import refers_back
from onrecord.domain.encoding import Erased, Unrecognised
from onrecord.domain.errors import counted
from onrecord.domain.events import (
    LineAdopted,
    Relation,
    RequestSent,
    ResponseCompleted,
    ResponseInterrupted,
)
from onrecord.domain.log import RecordedEvent

Lost: TypeAlias = Literal["aside", "given up"]
"""Why an event is no history: it never was (`aside`), or a promotion replaced it."""


WHY: Final[Mapping[Relation, str]] = {
    "extends": "an answer beside the one that is history",
    "branches": "an edit, another answer or a repeated request",
    "view": "a request with a part of the conversation left out or rewritten",
    "reference": "a request that goes on from an answer that the provider keeps",
    "unrelated": "a request of its own, such as a sub-agent's or one for a title",
}
"""Why a side branch began, for those who read of it for the first time."""


@dataclass(slots=True)
class SideBranchSummary:
    """A side branch: `begun` is the version of its first event, `recorded_at` the time of that.

    `after` is the version that it goes on from (None: of none), `adopted` that of the event which
    made it part of the main branch (None: none did), `given_up` how many of its events are history
    no more, `kept` how many still are.
    """

    line: UUID
    begun: int
    exchange: int
    recorded_at: int
    relation: Relation = "branches"
    after: int | None = None
    events: int = 0
    adopted: int | None = None
    kept: int = 0
    given_up: int = 0

    @property
    def lost(self) -> Lost | None:
        """Why nothing of it is history; None if something is."""
        if self.kept:
            return None
        return "given up" if self.given_up else "aside"

    def __str__(self) -> str:
        """Say where it stands and what became of it."""
        place = "" if self.after is None else f" after version {self.after}"
        why = f"{self.relation}{place} ({WHY[self.relation]})"
        return f"{why}, {counted(self.events, 'event')}, {self._fate}"

    @property
    def _fate(self) -> str:
        match self.lost:
            case "aside":
                return "aside: the conversation never went on from it"
            case "given up":
                return "given up: the conversation went on from another place"
            case None:
                part = ", in part given up" if self.given_up else ""
                return f"history since version {self.adopted}{part}"


class SideBranchFold:
    """The fold: give it a conversation's events in order, ask for its side branches."""

    def __init__(self) -> None:
        """Begin with none."""
        self._lines: dict[UUID, SideBranchSummary] = {}
        self._requests: dict[UUID, int] = {}

    def __iter__(self) -> Iterator[SideBranchSummary]:
        """Yield the side branches in the order in which they began."""
        return iter(self._lines.values())

    def take(self, recorded: RecordedEvent, lost: Lost | None) -> None:
        """Take in the next event, and why it is no history (None: it is)."""
        event = recorded.event()
        if isinstance(event, Erased | Unrecognised):
            return
        version, event_id = recorded.version, recorded.event_id
        if isinstance(event, RequestSent):
            self._requests[event_id] = version
        if isinstance(event, LineAdopted) and refers_back(event, version):
            adopted = self._lines.get(event.adopted) if event.adopted else None
            if adopted is not None:
                adopted.adopted = version
        if event.line is None:
            return
        line = self._lines.setdefault(
            event.line,
            SideBranchSummary(event.line, version, recorded.exchange, recorded.recorded_at),
        )
        line.events += 1
        line.kept += lost is None
        line.given_up += lost == "given up"
        match event:
            case RequestSent() if event_id == event.line and refers_back(event, version):
                line.relation, line.after = event.relation, event.after
            case (
                ResponseCompleted(request=UUID() as request)
                | ResponseInterrupted(request=UUID() as request)
            ):
                # A side branch may begin with another answer to a request before it.
                answers = self._requests.get(request, line.begun)
                if line.after is None and answers < line.begun:
                    line.after = answers
            case _:
                return
