"""The side lines of a conversation as people read of them: where each stands, what became of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias
from uuid import UUID

from onrecord.domain.events import (
    LineAdopted,
    Relation,
    RequestSent,
    ResponseCompleted,
    ResponseInterrupted,
)
from onrecord.domain.log import RecordedEvent
from onrecord.domain.references import refers_back
from onrecord.domain.registry import Erased, Unrecognised

Lost: TypeAlias = Literal["aside", "given up"]
"""Why an event is no history: it never was (`aside`), or an adoption replaced it."""


@dataclass(slots=True)
class LineTold:
    """A side line: `begun` is the version of its first event, `recorded_at` the time of that.

    `after` is the version that it goes on from (None: of none), `adopted` that of the event which
    made it part of the main line (None: none did), `given_up` how many of its events are history
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
        part = ", in part given up" if self.given_up else ""
        fate = self.lost or f"history since version {self.adopted}{part}"
        return f"{self.relation}{place}, {_counted(self.events)}, {fate}"


class LinesTold:
    """The fold: give it a conversation's events in order, ask for its side lines."""

    def __init__(self) -> None:
        """Begin with none."""
        self._lines: dict[UUID, LineTold] = {}
        self._requests: dict[UUID, int] = {}

    def __iter__(self) -> Iterator[LineTold]:
        """Yield the side lines in the order in which they began."""
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
            event.line, LineTold(event.line, version, recorded.exchange, recorded.recorded_at)
        )
        line.events += 1
        line.kept += lost is None
        line.given_up += lost == "given up"
        match event:
            case RequestSent() if event_id == event.line and refers_back(event, version):
                line.relation, line.after = event.relation, event.after
            case ResponseCompleted() | ResponseInterrupted() if event.request != event.line:
                # Another answer to a request that has a line already.
                answers = self._requests.get(event.request) if event.request else None
                line.after = line.after if line.after is not None else answers
            case _:
                return


def _counted(events: int) -> str:
    return "1 event" if events == 1 else f"{events} events"
