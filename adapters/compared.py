"""A request beside the conversation that it is sent in: what of both is compared, made once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from uuid import UUID

from onrecord.adapters.capture.sent import Sent
from onrecord.adapters.lineage import Lineages
from onrecord.adapters.paths import Path, Paths
from onrecord.adapters.recording import Related, Standing
from onrecord.adapters.side_lines import SideLine, SideLines, line_of
from onrecord.domain.events import LineAdopted, Relation
from onrecord.domain.log import Log, RecordedEvent
from onrecord.projections.matching.align import Alignment
from onrecord.projections.matching.units import Piece
from onrecord.projections.matching.units import digests_of
from onrecord.projections.matching.units import Unit
from onrecord.projections.matching.units import unit_of_piece


class Compared:
    """One request, and one conversation as it stands; reads only what is asked for."""

    def __init__(
        self,
        log: Log,
        lineages: Lineages,
        own: UUID,
        sides: SideLines,
        standing: Standing,
        asked: Sent,
    ) -> None:
        """Compare what is asked with what is known of the conversation `own`."""
        self.log = log
        self.lineages = lineages
        self.own = own
        self.sides = sides
        self.standing = standing
        self.asked = asked
        self.version = standing.head.version
        self.paths = Paths(log, lineages, own, self.version)
        self._known_units: list[Unit] | None = None
        self._known_digests: list[str] | None = None
        self._recent: list[RecordedEvent] | None = None

    def extends(
        self, path: Path, new: tuple[Piece, ...], parent: UUID, relation: Relation = "extends"
    ) -> Related:
        """Return how a request goes on from a side line: that is history then, if it may be."""
        side = path.sides[-1]
        if path.sides[0].after is None or self._is_left(path):
            return Related(relation, new=new, side=side, parent=parent)
        return Related(
            relation,
            new=new,
            parent=parent,
            adopts=tuple(self._adoptions(path.sides)),
            stretches=path.stretches,
            otherwise=side,
        )

    def _is_left(self, path: Path) -> bool:
        """Whether the main line went on without these side lines, and is what goes on now.

        It is not once they have gone on twice since, unless it only waits.
        """
        standing, side = self.standing, path.sides[-1]
        if standing.last_version <= min(one.parted for one in path.sides):
            return False
        waits = standing.in_flight or bool(standing.head.open_calls)
        return waits or side.last.version <= standing.last_version

    def _adoptions(self, sides: Sequence[SideLine]) -> Iterator[LineAdopted]:
        """Yield what makes lines history, each behind the one that it left."""
        as_of = sides[0].as_of
        for place, side in enumerate(sides, 1):
            yield LineAdopted(
                adopted=side.line, begun=side.begun, after=side.after or 0, as_of=as_of
            )
            as_of = self.version + place

    def branch(
        self,
        parent: UUID | None,
        after: int,
        as_of: int | None,
        new: tuple[Piece, ...] = (),
    ) -> Related:
        """Return the place of a side line that begins with the request."""
        return Related("branches", new=new, parent=parent, is_new=True, after=after, as_of=as_of)

    def last_events(self) -> list[RecordedEvent]:
        """Return the last events of the conversation, on any line."""
        if self._recent is None:
            self._recent = self.paths.recent()
        return self._recent

    def units(self) -> list[Unit]:
        """Return the units of the request."""
        if self._known_units is None:
            self._known_units = self.units_from(0)
        return self._known_units

    def units_from(self, place: int) -> list[Unit]:
        """Return the units of the request from a block on."""
        return [unit_of_piece(self.asked.api, piece) for piece in self.asked.pieces[place:]]

    def begins_as(self, blocks: int, history: str | None) -> bool:
        """Whether the first blocks of the request have this digest."""
        if self._known_digests is None:
            self._known_digests = digests_of(self.asked.pieces)
        return blocks < len(self._known_digests) and self._known_digests[blocks] == history

    def pieces(self, places: Sequence[int], start: int = 0) -> tuple[Piece, ...]:
        """Return the blocks of the request at places, counted from a block on."""
        return tuple(self.asked.pieces[start + place] for place in places)

    def new_pieces(self, found: Alignment, start: int = 0) -> tuple[Piece, ...]:
        """Return the blocks that are new, results under the ids that their calls are recorded by."""
        return new_pieces(self.asked.pieces[start:], found)

    def of_line(self, side: SideLine) -> Iterator[RecordedEvent]:
        """Yield what was recorded on a side line after its last request."""
        recorded = self.log.read(self.own, after=side.last.version, until=self.version)
        return (event for event in recorded if line_of(event) == side.line)


def new_pieces(pieces: Sequence[Piece], found: Alignment) -> tuple[Piece, ...]:
    """Return those of the pieces that are new, results under the ids of their recorded calls."""
    return tuple(
        pieces[place]._replace(call=found.calls[place]) if place in found.calls else pieces[place]
        for place in found.new
    )
