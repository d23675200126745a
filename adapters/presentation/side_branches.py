"""Side branches beside a timeline: how much a timeline leaves out, and the instructions of sub-agents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING
from uuid import UUID

from onrecord.adapters.streams.event_reading import as_on_main, line_of
from onrecord.domain.admission import refers_back
from onrecord.domain.content import Blob
from onrecord.domain.errors import OnrecordError, counted
from onrecord.domain.events import InstructionsSet, Relation, RequestSent
from onrecord.domain.log import RecordedEvent
from onrecord.projections.history import timeline_text
from onrecord.projections.history.side_branches import WHY
from onrecord.projections.history.timeline import Row, Standing
from onrecord.projections.matching.template import RequestReplay, sent_in

if TYPE_CHECKING:
    from onrecord.adapters.wire.requests import WireRequest


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


# The instructions of requests on side branches, which are recorded in the requests alone.


def with_instructions(rows: Iterable[Row], instructions: Mapping[int, str]) -> Iterator[Row]:
    """Yield rows; before a request of a side branch the instructions that went with it."""
    for row in rows:
        if row.kind == "request" and row.version in instructions:
            yield Row(
                version=row.version,
                exchange=row.exchange,
                recorded_at=row.recorded_at,
                speaker="system",
                kind="instructions",
                text=instructions[row.version],
                marks=row.marks,
                line=row.line,
            )
        yield row


def side_branch_instructions(
    read: Callable[[], Iterable[RecordedEvent]], blob_of: Callable[[Blob], bytes]
) -> dict[int, str]:
    """Return the instructions of requests on side branches, by version, where they are others.

    That is, others than were in force, or than those of the branch's request before. `read` begins
    to read the events; they are read twice, so that no body is held longer than it is referred to.
    """
    requests = RequestReplay(sent_in(read()), blob_of)
    instructions: dict[int, str] = {}
    in_force: dict[UUID | None, str] = {None: ""}
    for recorded in read():
        event, replayed = recorded.event(), requests.take(recorded)
        if isinstance(event, InstructionsSet) and event.line is None:
            in_force[None] = timeline_text.instructions(event.content)
        if not isinstance(event, RequestSent) or event.line is None or replayed is None:
            continue
        text = _instructions(event, replayed[1])
        if text and text != in_force.get(event.line, in_force[None]):
            instructions[recorded.version] = in_force[event.line] = text
    return instructions


def _instructions(sent: RequestSent, body: bytes) -> str | None:
    """Return the instructions in the body of a request as text; None where there are none."""
    from onrecord.adapters.wire.requests import instructions_set
    from onrecord.adapters.wire.wires import wire_of

    wire = wire_of(sent.api)
    request: WireRequest | None = None
    if wire is not None and body:
        with suppress(OnrecordError):
            request = wire.read_request(body, sent.endpoint)
    if request is None or request.system is None:
        return None
    (events, _) = instructions_set(request)
    (instructions,) = (event for event in events if isinstance(event, InstructionsSet))
    return timeline_text.instructions(instructions.content)
