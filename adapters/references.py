"""Requests that go on from what the provider holds: a response by its id, a conversation by its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast
from uuid import UUID

from onrecord.adapters.compared import Compared
from onrecord.adapters.paths import Path, known_events
from onrecord.adapters.recording import Related
from onrecord.adapters.side_lines import closing_of, line_of
from onrecord.domain.log import RecordedEvent
from onrecord.projections.matching.align import align
from onrecord.projections.matching.units import Piece
from onrecord.projections.matching.recorded_units import RecordedUnit
from onrecord.projections.matching.recorded_units import recorded_units


def by_reference(compared: Compared) -> Related:
    """Return how a request goes on that names what it goes on from."""
    recent = compared.last_events()
    compared.sides.take_in(recent)
    found = next((e for e in _answers(compared, recent) if _is_meant(compared, e)), None)
    closing = closing_of(found) if found else None
    if found is None or closing is None:
        return _unknown_reference(compared)
    line = line_of(found)
    since = [e for e in recent if e.version > found.version and line_of(e) == line]
    units = _since(compared, found.version) if line is None else _units(since)
    new = align(compared.units(), units).new
    # A summary is asked for beside the line, until the program goes on from it.
    is_last = not compared.asked.compacts and all(e.type != "request.sent" for e in since)
    pieces = compared.pieces(new) if is_last else compared.asked.pieces
    return _referring(compared, found.version, line, pieces, closing.request, is_last=is_last)


def _answers(compared: Compared, recent: list[RecordedEvent]) -> Iterator[RecordedEvent]:
    """Yield what may be meant, the last event first, and the main line's last answer at the end.

    That may have been long ago: the events since are those of other calls.
    """
    yield from reversed(recent)
    answered = compared.standing.answered
    if answered:
        yield from compared.log.read(compared.own, after=answered - 1, until=answered)


def _since(compared: Compared, version: int) -> list[RecordedUnit]:
    """Return what was said on the main line after a version, since its last request."""
    return [told for told in compared.standing.since if told.version > version]


def _units(recorded: list[RecordedEvent]) -> list[RecordedUnit]:
    return recorded_units(known_events(event.told() for event in recorded))


def _referring(
    compared: Compared,
    version: int,
    line: UUID | None,
    new: tuple[Piece, ...],
    parent: UUID | None,
    *,
    is_last: bool,
) -> Related:
    side = None if line is None else compared.sides.get(line)
    if side is not None and side.is_adopted:
        line = side = None
        is_last = False
    path = compared.paths.main() if side is None else compared.paths.of(side, compared.sides)
    if path is None or (line is not None and side is None):
        return Related("unrelated", new=new, is_new=True)
    if is_last and side is None and _is_present(compared, path, version):
        return Related("reference", new=new, parent=parent or compared.standing.last_id)
    if is_last and side is not None:
        return compared.extends(path, new, parent or side.last.request, "reference")
    place = path.as_of_place(version) if _is_present(compared, path, version) else None
    branch = compared.branch(parent, version, place, new)
    return replace(branch, relation="reference")


def _unknown_reference(compared: Compared) -> Related:
    # A conversation of the provider's may have been made for this very request.
    is_unknown = compared.asked.refers_to is not None
    new = compared.asked.pieces
    if compared.standing.last is None:
        return Related("reference", new=new, is_unknown=is_unknown)
    return Related("unrelated", new=new, is_new=True, is_unknown=is_unknown)


def _is_present(compared: Compared, path: Path, version: int) -> bool:
    return any(
        stretch.after < version <= stretch.until
        for stretch in path.stretches
        if stretch.conversation_id == compared.own
    )


def _is_meant(compared: Compared, recorded: RecordedEvent) -> bool:
    event = closing_of(recorded)
    if event is None:
        return False
    if compared.asked.refers_to is not None:
        return event.provider_id == compared.asked.refers_to
    thread: Any = event.envelope.get("conversation")
    held = cast("dict[str, Any]", thread).get("id") if isinstance(thread, dict) else thread
    return held is not None and held == compared.asked.thread
