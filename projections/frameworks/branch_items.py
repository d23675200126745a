"""What a branch of a framework's session holds: items of the stream that it left, and its own behind them.

A branch is a stream. The first thing that it keeps says where it comes from, so that a branch costs one
event, however much came before it. What becomes of its origin later does not change it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from onrecord.domain.encoding import Erased, Unrecognised
from onrecord.domain.events import ContentRedacted, Event
from onrecord.domain.items import StatePut
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.frameworks.current_items import CurrentItems

ORIGIN: Final = "origin"
"""The name under which a branch keeps where it comes from."""


class Origin(NamedTuple):
    """The stream that a branch left; the branch has its items that came before a version."""

    stream: str
    before: int

    def value(self) -> JsonObject:
        """Return the origin as a branch keeps it."""
        return {"stream": self.stream, "before": self.before}


def origin_of(event: Event) -> Origin | None:
    """Return where a branch comes from, if this event says that."""
    match event:
        case StatePut(value={"stream": str(stream), "before": int(before)}) if event.key == ORIGIN:
            return Origin(stream, before)
        case _:
            return None


@dataclass(slots=True)
class BranchItems(CurrentItems):
    """What a branch holds, as far as events were taken, the last one first.

    `begun` is the version at which the branch left its origin, if that was met (0: it was not, or the
    stream is no branch). State is the branch's own.
    """

    begun: int = 0
    _redacted: set[int] = field(default_factory=set[int])

    def take(self, version: int, event: Event | Unrecognised | Erased) -> None:
        """Take the event that comes before all that were taken."""
        match event:
            case StatePut(stream=self.stream, framework=self.framework) if (
                event.line is None and (origin := origin_of(event)) is not None
            ):
                if not self.is_complete:
                    self._go_on_in(origin, version)
            case StatePut() if self.begun:
                return
            case _:
                if isinstance(event, ContentRedacted):
                    self._redacted.add(event.version)
                CurrentItems.take(self, version, event)

    def _go_on_in(self, origin: Origin, version: int) -> None:
        """Take the origin's items from here on: as it stood, but for what was redacted since."""
        self.begun = self.begun or version
        self.stream = origin.stream
        self._kept.append((version, ((0, origin.before - 1),)))
        self._withdrawn = set(self._redacted)
        self._amended.clear()
