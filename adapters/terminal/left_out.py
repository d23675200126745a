"""How many events a timeline leaves out, and why they are no history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from uuid import UUID

from onrecord.adapters.streams.event_reading import as_on_main, line_of
from onrecord.domain.admission import refers_back
from onrecord.domain.errors import counted
from onrecord.domain.events import Relation, RequestSent
from onrecord.domain.log import RecordedEvent
from onrecord.projections.history.side_branches import WHY
from onrecord.projections.history.timeline import Standing


class LeftOut:
    """The events that a timeline leaves out, since they are no history: counted as others are read."""

    def __init__(self, losses: Standing) -> None:
        """Begin with none; `losses` tells of each event why it is no history."""
        self._losses = losses
        self._given_up = 0
        self._aside: Counter[UUID] = Counter()
        """How many events are on each side branch."""
        self._relations: dict[UUID, Relation] = {}

    def history(self, recorded: Iterable[RecordedEvent]) -> Iterator[RecordedEvent]:
        """Yield the events that are history, each as if it had been on the main branch."""
        for event in recorded:
            line = line_of(event)
            if line is not None and line == event.event_id:
                self._begin(event, line)
            lost = self._losses(event.version, line)
            if line is not None and lost == "aside":
                self._aside[line] += 1
            elif lost is not None:
                self._given_up += 1
            elif line is None or event.body is None:
                yield event
            else:
                yield as_on_main(event, event.body)

    def _begin(self, recorded: RecordedEvent, line: UUID) -> None:
        event = recorded.event()
        if isinstance(event, RequestSent) and refers_back(event, recorded.version):
            self._relations[line] = event.relation

    def sentence(self) -> str:
        """Say how many events are no history, and why; nothing where all are."""
        aside: dict[Relation, list[int]] = {}
        for line, count in self._aside.items():
            aside.setdefault(self._relations.get(line, "branches"), []).append(count)
        total = self._given_up + self._aside.total()
        if not total:
            return ""
        given_up = counted(self._given_up, "event")
        parts = [f"{given_up} given up when the conversation went on elsewhere"]
        parts = parts if self._given_up else []
        parts += [_part(relation, counts) for relation, counts in aside.items()]
        verb = "is" if total == 1 else "are"
        return f"{counted(total, 'event')} {verb} not history and not shown: {'; '.join(parts)}"


def _part(relation: Relation, counts: Sequence[int]) -> str:
    """Say how many events of side branches began for one reason; of each the count."""
    branches = "a side branch:" if len(counts) == 1 else f"{len(counts)} side branches, each"
    return f"{counted(sum(counts), 'event')} on {branches} {WHY[relation]}"
