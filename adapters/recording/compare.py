"""A request beside the conversation that it is sent in: what of both is compared, made once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, cast
from uuid import UUID

from onrecord.adapters.recording.paths import Path, Paths, units_of
from onrecord.adapters.recording.plan import Match
from onrecord.adapters.recording.state import ConversationState, SideBranch, SideBranches
from onrecord.adapters.streams.event_reading import closing_of, line_of
from onrecord.adapters.streams.lineage import Lineages
from onrecord.adapters.wire.requests import Sent
from onrecord.domain.events import LineAdopted, Relation
from onrecord.domain.log import Log, RecordedEvent
from onrecord.projections.matching.align import Alignment, align
from onrecord.projections.matching.units import Piece, Unit, digests_of, unit_of_piece


class Comparison:
    """One request, and one conversation as it stands; reads only what is asked for."""

    def __init__(
        self,
        log: Log,
        lineages: Lineages,
        own: UUID,
        sides: SideBranches,
        state: ConversationState,
        sent: Sent,
    ) -> None:
        """Compare what is asked with what is known of the conversation `own`."""
        self.log = log
        self.lineages = lineages
        self.own = own
        self.sides = sides
        self.state = state
        self.sent = sent
        self.version = state.head.version
        self.paths = Paths(log, lineages, own, self.version)

    @cached_property
    def units(self) -> list[Unit]:
        """The units of the request, one a block."""
        return [unit_of_piece(self.sent.api, piece) for piece in self.sent.pieces]

    @cached_property
    def _digests(self) -> list[str]:
        """The digests of the request's first blocks: of none, of one, and so on."""
        return digests_of(self.sent.pieces)

    def begins_as(self, blocks: int, history: str | None) -> bool:
        """Whether the first blocks of the request have this digest."""
        return blocks < len(self._digests) and self._digests[blocks] == history

    def pieces_at(self, places: Iterable[int]) -> tuple[Piece, ...]:
        """Return the blocks of the request at places."""
        return tuple(self.sent.pieces[place] for place in places)

    def extends(
        self, path: Path, new: tuple[Piece, ...], parent: UUID, relation: Relation = "extends"
    ) -> Match:
        """Return how a request goes on from a side branch: that is history then, if it may be."""
        side = path.sides[-1]
        if path.sides[0].after is None or self._is_left(path):
            return Match(relation, new=new, side=side, parent=parent)
        return Match(
            relation,
            new=new,
            parent=parent,
            adopts=tuple(self._adoptions(path.sides)),
            stretches=path.stretches,
            otherwise=side,
        )

    def _is_left(self, path: Path) -> bool:
        """Whether the main branch went on without these side branches, and is what goes on now.

        It is not once they have gone on twice since, unless it only waits.
        """
        state, side = self.state, path.sides[-1]
        if state.last_version <= min(branch.parted for branch in path.sides):
            return False
        waits = state.in_flight or bool(state.head.open_calls)
        return waits or side.last.version <= state.last_version

    def _adoptions(self, sides: Sequence[SideBranch]) -> Iterator[LineAdopted]:
        """Yield what makes lines history, each behind the one that it left."""
        as_of = sides[0].as_of
        for place, side in enumerate(sides, 1):
            yield LineAdopted(
                adopted=side.line, begun=side.begun, after=side.after or 0, as_of=as_of
            )
            as_of = self.version + place


def branch(
    parent: UUID | None,
    after: int,
    as_of: int | None,
    new: tuple[Piece, ...] = (),
    relation: Relation = "branches",
) -> Match:
    """Return the place of a side branch that begins with the request."""
    return Match(relation, new=new, parent=parent, is_new=True, after=after, as_of=as_of)


def new_pieces(pieces: Sequence[Piece], alignment: Alignment) -> tuple[Piece, ...]:
    """Return those of the pieces that are new, results under the ids of their recorded calls."""
    return tuple(
        pieces[place]._replace(call=alignment.calls[place])
        if place in alignment.calls
        else pieces[place]
        for place in alignment.new
    )


# Requests that go on from what the provider holds: a response by its id, a conversation by its
# own.


def by_reference(compared: Comparison) -> Match:
    """Return how a request goes on that names what it goes on from."""
    recent = compared.paths.recent()
    compared.sides.take_in(recent)
    answer = next((e for e in _answers(compared, recent) if _is_meant(compared, e)), None)
    closing = closing_of(answer) if answer else None
    if answer is None or closing is None:
        return _unknown_reference(compared)
    line = line_of(answer)
    since = [e for e in recent if e.version > answer.version and line_of(e) == line]
    if line is None:
        units = [unit for unit in compared.state.since if unit.version > answer.version]
    else:
        units = units_of(event.told() for event in since)
    new = align(compared.units, units).new
    # A summary is asked for beside the line, until the program goes on from it.
    is_last = not compared.sent.compacts and all(e.type != "request.sent" for e in since)
    pieces = compared.pieces_at(new) if is_last else compared.sent.pieces
    return _referring(compared, answer.version, line, pieces, closing.request, is_last=is_last)


def _answers(compared: Comparison, recent: list[RecordedEvent]) -> Iterator[RecordedEvent]:
    """Yield what may be meant, the last event first, and the main branch's last answer at the end.

    That may have been long ago: the events since are those of other calls.
    """
    yield from reversed(recent)
    answered = compared.state.answered
    if answered:
        yield from compared.log.read(compared.own, after=answered - 1, until=answered)


def _referring(
    compared: Comparison,
    version: int,
    line: UUID | None,
    new: tuple[Piece, ...],
    parent: UUID | None,
    *,
    is_last: bool,
) -> Match:
    side = None if line is None else compared.sides.get(line)
    if side is not None and side.is_promoted:
        line = side = None
        is_last = False
    path = compared.paths.main() if side is None else compared.paths.of(side, compared.sides)
    if path is None or (line is not None and side is None):
        return Match("unrelated", new=new, is_new=True)
    if is_last and side is None and _is_present(compared, path, version):
        return Match("reference", new=new, parent=parent or compared.state.last_id)
    if is_last and side is not None:
        return compared.extends(path, new, parent or side.last.request, "reference")
    place = path.as_of_place(version) if _is_present(compared, path, version) else None
    return branch(parent, version, place, new, "reference")


def _unknown_reference(compared: Comparison) -> Match:
    # A conversation of the provider's may have been made for this very request.
    is_unknown = compared.sent.refers_to is not None
    new = compared.sent.pieces
    if compared.state.last is None:
        return Match("reference", new=new, is_unknown=is_unknown)
    return Match("unrelated", new=new, is_new=True, is_unknown=is_unknown)


def _is_present(compared: Comparison, path: Path, version: int) -> bool:
    return any(
        stretch.after < version <= stretch.until
        for stretch in path.stretches
        if stretch.conversation_id == compared.own
    )


def _is_meant(compared: Comparison, recorded: RecordedEvent) -> bool:
    event = closing_of(recorded)
    if event is None:
        return False
    if compared.sent.refers_to is not None:
        return event.provider_id == compared.sent.refers_to
    thread: Any = event.envelope.get("conversation")
    thread_id = cast("dict[str, Any]", thread).get("id") if isinstance(thread, dict) else thread
    return thread_id is not None and thread_id == compared.sent.thread
