"""Side branches on the screen: how much a timeline leaves out, and what sub-agents were told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING
from uuid import UUID

from onrecord.adapters.terminal.output import counted
from onrecord.domain.content import Blob
from onrecord.domain.errors import OnrecordError
from onrecord.domain.events import InstructionsSet, Relation
from onrecord.domain.log import RecordedEvent
from onrecord.projections.history import timeline_text
from onrecord.projections.history.side_branches import WHY, SideBranchFold
from onrecord.projections.history.timeline import Row, Standing, loss_of
from onrecord.projections.matching.template import (
    Sent,
    Stored,
    held_blobs,
    references_of,
    replay,
    sent_in,
)

if TYPE_CHECKING:
    from onrecord.adapters.wire.requests import WireRequest


def left_out(recorded: Iterable[RecordedEvent], losses: Standing) -> str:
    """Say how many events are no history, and why; nothing where all are."""
    branches, given_up = SideBranchFold(), 0
    for event in recorded:
        lost = loss_of(event, losses)
        branches.take(event, lost)
        given_up += lost == "given up"
    aside: dict[Relation, list[int]] = {}
    for branch in branches:
        if count := branch.events - branch.kept - branch.given_up:
            aside.setdefault(branch.relation, []).append(count)
    total = given_up + sum(map(sum, aside.values()))
    if not total:
        return ""
    parts = [f"{counted(given_up, 'event')} given up when the conversation went on elsewhere"]
    parts = parts if given_up else []
    parts += [_part(relation, counts) for relation, counts in aside.items()]
    verb = "is" if total == 1 else "are"
    return f"{counted(total, 'event')} {verb} not history and not shown: {'; '.join(parts)}"


def _part(relation: Relation, counts: Sequence[int]) -> str:
    """Say how many events of side branches began for one reason; of each the count."""
    branches = "a side branch:" if len(counts) == 1 else f"{len(counts)} side branches, each"
    return f"{counted(sum(counts), 'event')} on {branches} {WHY[relation]}"


# What the requests of side branches were told, which is recorded in the requests alone.


def with_instructions(rows: Iterable[Row], told: Mapping[int, str]) -> Iterator[Row]:
    """Yield rows; before a request of a side branch the instructions that were `told` in it."""
    for row in rows:
        if row.kind == "request" and row.version in told:
            yield Row(
                version=row.version,
                exchange=row.exchange,
                recorded_at=row.recorded_at,
                speaker="system",
                kind="instructions",
                text=told[row.version],
                marks=row.marks,
                line=row.line,
            )
        yield row


def instructions_told(
    recorded: Iterable[RecordedEvent], read_blob: Callable[[Blob], bytes]
) -> dict[int, str]:
    """Return the instructions of requests on side branches, by version, where they are others.

    That is, others than were in force, or than the branch's request before told.
    """
    events = list(recorded)
    needed = {used for sent in sent_in(events) for used in references_of(sent.event.template)}
    bodies = {event.event_id: event.body for event in events if event.body is not None}
    requests: dict[UUID, bytes] = {}
    stored = Stored({used: bodies[used] for used in needed & bodies.keys()}, requests)
    told: dict[int, str] = {}
    in_force: dict[UUID | None, str] = {None: ""}
    for event in events:
        happened = event.event()
        if isinstance(happened, InstructionsSet) and happened.line is None:
            in_force[None] = timeline_text.instructions(happened.content)
        for sent in sent_in((event,)):
            line = sent.event.line
            if line is None and sent.request not in needed:
                continue
            body = requests[sent.request] = _body(sent, stored, read_blob)
            text = None if line is None else _instructions(sent, body)
            if text and text != in_force.get(line, in_force[None]):
                told[sent.version] = in_force[line] = text
    return told


def _body(sent: Sent, stored: Stored, read_blob: Callable[[Blob], bytes]) -> bytes:
    """Return the body of a request; nothing where a part of it is not here any more."""
    try:
        blobs = {blob.sha256: read_blob(blob) for blob in held_blobs(sent)}
    except OnrecordError:
        return b""
    return replay(sent, Stored(stored.bodies, stored.requests, blobs))[1]


def _instructions(sent: Sent, body: bytes) -> str | None:
    """Return the instructions in the body of a request as text; None where there are none."""
    from onrecord.adapters.wire.requests import instructions_set
    from onrecord.adapters.wire.wires import wire_of

    wire = wire_of(sent.event.api)
    request: WireRequest | None = None
    if wire is not None and body:
        with suppress(OnrecordError):
            request = wire.read_request(body, sent.event.endpoint)
    if request is None or request.system is None:
        return None
    (events, _) = instructions_set(request)
    (said,) = (event for event in events if isinstance(event, InstructionsSet))
    return timeline_text.instructions(said.content)
