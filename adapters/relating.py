"""How a request goes on from what is recorded, and on which line: the five outcomes.

What it says is compared with the main line's last request first: that reads no more than what came
since. Only if it does not go on from there, other lines and the ends of the main line are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final, cast
from uuid import UUID

from hansard.adapters.capture.sent import Sent
from hansard.adapters.lineage import Lineages
from hansard.adapters.paths import RECENT, Path, PathRead, Paths, known_events
from hansard.adapters.recording import Related, Standing, in_force_anew
from hansard.adapters.side_lines import SideLine, SideLines, closing_of, line_of
from hansard.adapters.standing import IN_FLIGHT
from hansard.domain.events import LineAdopted, Relation
from hansard.domain.log import Log, RecordedEvent
from hansard.projections.alignment import Alignment, align
from hansard.projections.continuation import Piece, digests_of
from hansard.projections.recorded_units import recorded_units
from hansard.projections.units import Unit, unit_of_piece

_MODEL: Final = "assistant"
_GIVEN_UP: Final = 3
"""How many of the last main lines that were given up are looked at."""


class Relating:
    """Relates one request to a conversation as it stands; reads only what it has to."""

    def __init__(
        self,
        log: Log,
        lineages: Lineages,
        own: UUID,
        sides: SideLines,
        standing: Standing,
        asked: Sent,
    ) -> None:
        """Relate what is asked to what is known of the conversation `own`."""
        self._log = log
        self._lineages = lineages
        self._own = own
        self._sides = sides
        self._standing = standing
        self._asked = asked
        self._version = standing.head.version
        self._paths = Paths(log, lineages, own, self._version)
        self._known_units: list[Unit] | None = None
        self._known_digests: list[str] | None = None
        self._recent: list[RecordedEvent] | None = None

    def related(self) -> Related:
        """Return how the request goes on from what is recorded."""
        if self._asked.refers_to is not None or self._asked.thread is not None:
            return self._by_reference()
        found = None if self._asked.compacts else self._on_main() or self._on_side()
        return found or self._aligned()

    def going_on(self, after: int) -> Related:
        """Return how the request goes on from a version of the main line, as its sender says."""
        main = self._paths.main()
        present = [s for s in main.stretches if s.conversation_id == self._own and s.after < after]
        as_of = main.as_of_place(after) if present and present[-1].until >= after else None
        path = Path(self._lineages.up_to(after, as_of or after), as_of or after)
        read = self._paths.read(path, len(self._asked.pieces))
        found = align(self._units(), read.units, read.gap)
        new = range(len(self._units())) if found.how == "apart" else found.new
        if after >= self._version:
            adopts: tuple[LineAdopted, ...] = ()
        else:
            adopts = (LineAdopted(after=after, as_of=as_of),)
        return Related(
            "view" if found.how == "view" else "extends",
            new=self._pieces(new),
            parent=read.request_at(after),
            adopts=adopts,
            stretches=path.stretches,
        )

    # -- the last request of a line, and what came since ---------------------------------------

    def _on_main(self) -> Related | None:
        standing = self._standing
        last = standing.last
        count = last.blocks if last else 0
        if last is not None and not self._begins_as(count, last.history):
            return None
        if last is not None and len(self._asked.pieces) == count and self._awaits_no_more():
            return self._sample_of_main()
        extends = after_last(self._asked, count, standing)
        if extends is None or last is None or not answers_itself(extends):
            return extends
        # An answer that the main line does not have: a side line may have it.
        return self._on_side() or extends

    def _sample_of_main(self) -> Related:
        """Return the place of the main line's last request, said again beside its answer."""
        after = self._standing.last_version
        return self._branch(self._standing.last_id, after, self._paths.main().as_of_place(after))

    def _on_side(self) -> Related | None:
        for known in (False, True):
            if known:
                self._sides.take_in(self._last_events())
            for side in self._sides:
                if (found := self._on(side)) is not None:
                    return found
        return None

    def _on(self, side: SideLine) -> Related | None:
        """Return how the request goes on from a side line's last request, if it does."""
        last = side.last
        if last.history is None or not self._begins_as(last.blocks, last.history):
            return None
        path = self._paths.of(side, self._sides)
        if path is None:
            return None
        since = _of_line(self._log.read(self._own, after=last.version, until=self._version), side)
        told = [event.told() for event in islice(since, RECENT + 4 * len(self._asked.pieces))]
        units = recorded_units(known_events(told))
        is_said = any(not told.may_miss and not told.unit.is_blank for told in units)
        if len(self._asked.pieces) == last.blocks and (is_said or last.request in IN_FLIGHT):
            return self._branch(last.request, last.version, path.as_of_place(last.version))
        found = align(self._units_from(last.blocks), units)
        if found.how == "extends" and (is_said or last.blocks):
            return self._extends(path, self._pieces(found.new, last.blocks), last.request)
        if found.how != "repeats":
            return None
        if is_said:
            return self._extends(path, (), last.request)
        return Related("extends", side=side, parent=last.request) if last.blocks else None

    def _extends(
        self, path: Path, new: tuple[Piece, ...], parent: UUID, relation: Relation = "extends"
    ) -> Related:
        """Return how a request goes on from a side line: that is history then, if it may be."""
        side = path.sides[-1]
        gone_on = self._standing.last_version > min(one.parted for one in path.sides)
        if path.sides[0].after is None or gone_on:
            return Related(relation, new=new, side=side, parent=parent)
        return Related(
            relation,
            new=new,
            parent=parent,
            adopts=tuple(self._adoptions(path.sides)),
            stretches=path.stretches,
            otherwise=side,
        )

    def _adoptions(self, sides: Sequence[SideLine]) -> Iterator[LineAdopted]:
        """Yield what makes lines history, each behind the one that it left."""
        as_of = sides[0].as_of
        for place, side in enumerate(sides, 1):
            yield LineAdopted(
                adopted=side.line, begun=side.begun, after=side.after or 0, as_of=as_of
            )
            as_of = self._version + place

    # -- by what the provider holds ------------------------------------------------------------

    def _by_reference(self) -> Related:
        recent = self._last_events()
        self._sides.take_in(recent)
        found = next((e for e in reversed(recent) if self._is_meant(e)), None)
        closing = closing_of(found) if found else None
        if found is None or closing is None:
            return self._unknown_reference()
        line = line_of(found)
        since = [e for e in recent if e.version > found.version and line_of(e) == line]
        units = recorded_units(known_events(event.told() for event in since))
        new = align(self._units(), units).new
        is_last = not any(event.type == "request.sent" for event in since)
        pieces = self._pieces(new) if is_last else self._asked.pieces
        return self._referring(found.version, line, pieces, closing.request, is_last=is_last)

    def _referring(
        self,
        version: int,
        line: UUID | None,
        new: tuple[Piece, ...],
        parent: UUID | None,
        *,
        is_last: bool,
    ) -> Related:
        side = None if line is None else self._sides.get(line)
        path = self._paths.main() if side is None else self._paths.of(side, self._sides)
        if path is None or (line is not None and side is None):
            return Related("unrelated", new=new, is_new=True)
        if is_last and side is None and self._is_present(path, version):
            return Related("reference", new=new, parent=parent or self._standing.last_id)
        if is_last and side is not None:
            return self._extends(path, new, parent or side.last.request, "reference")
        place = path.as_of_place(version) if self._is_present(path, version) else None
        branch = self._branch(parent, version, place, new)
        return replace(branch, relation="reference")

    def _unknown_reference(self) -> Related:
        if self._standing.last is None:
            return Related("reference", new=self._asked.pieces)
        return Related("unrelated", new=self._asked.pieces, is_new=True)

    def _is_present(self, path: Path, version: int) -> bool:
        return any(
            stretch.after < version <= stretch.until
            for stretch in path.stretches
            if stretch.conversation_id == self._own
        )

    def _is_meant(self, recorded: RecordedEvent) -> bool:
        event = closing_of(recorded)
        if event is None:
            return False
        if self._asked.refers_to is not None:
            return event.provider_id == self._asked.refers_to
        thread: Any = event.envelope.get("conversation")
        held = cast("dict[str, Any]", thread).get("id") if isinstance(thread, dict) else thread
        return held is not None and held == self._asked.thread

    # -- by what was said ----------------------------------------------------------------------

    def _aligned(self) -> Related:
        """Return how the request goes on from the line that it shares most with."""
        best: tuple[Path, PathRead, Alignment] | None = None
        for path in self._candidates():
            read = self._paths.read(path, len(self._asked.pieces))
            found = align(self._units(), read.units, read.gap)
            if found.how != "apart" and (best is None or found.weight > best[2].weight):
                best = path, read, found
        if best is None:
            return self._apart()
        path, read, found = best
        if self._asked.compacts:
            return self._compaction(path, read)
        return self._placed(path, read, found)

    def _candidates(self) -> Iterator[Path]:
        yield self._paths.main()
        recent = self._last_events()
        given_up = [event.version - 1 for event in recent if event.type == "line.adopted"]
        for version in reversed(given_up[-_GIVEN_UP:]):
            yield self._paths.main(version)
        self._sides.take_in(recent)
        for side in self._sides:
            path = self._paths.of(side, self._sides)
            if path is not None:
                yield path

    def _placed(self, path: Path, read: PathRead, found: Alignment) -> Related:
        new = self._pieces(found.new)
        parent = read.request_at(found.after)
        is_over = not new and self._is_out(path)
        is_doubtful = found.how == "view" and not found.is_sure and not self._is_as_in_force()
        if found.how == "branches" or is_over or is_doubtful or not self._is_now(path):
            return self._branch(parent, found.after, path.as_of_place(found.after), new)
        if path.sides:
            last = path.sides[-1].last.request
            if found.how in ("extends", "repeats"):
                return self._extends(path, new, last)
            return Related(_relation(found), new=new, side=path.sides[-1], parent=last)
        return Related(_relation(found), new=new, parent=self._standing.last_id)

    def _compaction(self, path: Path, read: PathRead) -> Related:
        """Return the place of a summary: the end of the line, until the program goes on from it."""
        after = max((told.until for told in read.units), default=0)
        place = path.as_of_place(after) if after else None
        return replace(self._branch(read.request_at(after), after, place), relation="view")

    def _apart(self) -> Related:
        """Return what a request is that shares nothing: a summary, or another call altogether."""
        standing = self._standing
        pieces = () if self._asked.compacts else self._asked.pieces
        after = max((told.until for told in standing.since), default=standing.last_version)
        is_summary = (
            standing.last is not None
            and standing.last.model == self._asked.model
            and self._is_as_in_force()
        )
        if is_summary and after:
            place = self._paths.main().as_of_place(after)
            found = self._branch(standing.last_id, after, place, pieces)
            return replace(found, relation="view")
        return Related("unrelated", new=pieces, is_new=True)

    def _branch(
        self,
        parent: UUID | None,
        after: int,
        as_of: int | None,
        new: tuple[Piece, ...] = (),
    ) -> Related:
        return Related("branches", new=new, parent=parent, is_new=True, after=after, as_of=as_of)

    def _is_now(self, path: Path) -> bool:
        """Whether a path is one that goes on: not the main line as it was before an adoption."""
        return bool(path.sides) or path.as_of == self._version

    def _is_out(self, path: Path) -> bool:
        """Whether an answer to the last request of a path is being read."""
        if not path.sides:
            return self._standing.in_flight
        return path.sides[-1].last.request in IN_FLIGHT

    def _awaits_no_more(self) -> bool:
        """Whether the main line's last request was answered, or its answer is being read."""
        return self._standing.in_flight or self._standing.answered > 0

    def _is_as_in_force(self) -> bool:
        standing = self._standing
        is_something = bool(self._asked.system) or bool(self._asked.tools)
        return is_something and not in_force_anew(
            self._asked, standing.instructions, standing.tools
        )

    # -- what is asked for once ----------------------------------------------------------------

    def _last_events(self) -> list[RecordedEvent]:
        if self._recent is None:
            self._recent = self._paths.recent()
        return self._recent

    def _units(self) -> list[Unit]:
        if self._known_units is None:
            self._known_units = self._units_from(0)
        return self._known_units

    def _units_from(self, place: int) -> list[Unit]:
        return [unit_of_piece(self._asked.api, piece) for piece in self._asked.pieces[place:]]

    def _begins_as(self, blocks: int, history: str | None) -> bool:
        if self._known_digests is None:
            self._known_digests = digests_of(self._asked.pieces)
        return blocks < len(self._known_digests) and self._known_digests[blocks] == history

    def _pieces(self, places: Sequence[int], start: int = 0) -> tuple[Piece, ...]:
        return tuple(self._asked.pieces[start + place] for place in places)


def after_last(asked: Sent, start: int, standing: Standing) -> Related | None:
    """Return how a request extends the main line; None if it does not.

    Its blocks from `start` on are those behind what the last request of that line said.
    """
    rest = asked.pieces[start:]
    found = align([unit_of_piece(asked.api, piece) for piece in rest], standing.since)
    if found.how not in ("extends", "repeats"):
        return None
    new = tuple(rest[place] for place in found.new)
    return Related("extends", new=new, parent=standing.last_id)


def answers_itself(related: Related) -> bool:
    """Whether what is new in a request is said by the model, too."""
    return any(piece.role == _MODEL for piece in related.new)


def _of_line(recorded: Iterator[RecordedEvent], side: SideLine) -> Iterator[RecordedEvent]:
    return (event for event in recorded if line_of(event) == side.line)


def _relation(found: Alignment) -> Relation:
    return "view" if found.how == "view" else "extends"
