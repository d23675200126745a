"""The instructions of requests on side branches, which are recorded in the requests alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING
from uuid import UUID

from onrecord.domain.content import Blob
from onrecord.domain.errors import OnrecordError
from onrecord.domain.events import InstructionsSet, RequestSent
from onrecord.domain.log import RecordedEvent
from onrecord.projections.history import timeline_text
from onrecord.projections.history.timeline import Row
from onrecord.projections.matching.template import RequestReplay, sent_in

if TYPE_CHECKING:
    from onrecord.adapters.wire.requests import WireRequest


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
