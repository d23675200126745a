"""How a request goes on from what is recorded, and on which line: the five outcomes.

What it says is compared with the main branch's last request first: that reads no more than what came
since. Only if it does not go on from there, other lines and the ends of the main branch are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import Final
from uuid import UUID

from onrecord.adapters.recording.paths import RECENT, Path, PathRead, Paths, units_of
from onrecord.adapters.recording.plan import (
    Match,
    after_last,
    branch,
    has_answers,
    in_force_anew,
    new_pieces,
)
from onrecord.adapters.recording.state import IN_FLIGHT, ConversationState, SideBranch, SideBranches
from onrecord.adapters.streams.event_reading import closing_of, line_of
from onrecord.adapters.streams.lineage import FIRST
from onrecord.adapters.streams.stream import Stream
from onrecord.adapters.wire.requests import WireRequest
from onrecord.domain import jsontext
from onrecord.domain.events import LineAdopted, Relation
from onrecord.domain.log import RecordedEvent
from onrecord.projections.matching.align import Alignment, align
from onrecord.projections.matching.units import Piece, Unit, digests_of, unit_of_piece

_GIVEN_UP: Final = 3
"""How many of the last main branches that were given up are looked at."""


class Matcher:
    """Tells how one request goes on from a conversation as it stands; reads only what it has to."""

    def __init__(
        self, stream: Stream, sides: SideBranches, state: ConversationState, sent: WireRequest
    ) -> None:
        """Compare a request with what is known of a conversation."""
        self._log = stream.backend
        self._own = stream.conversation_id
        self._sides = sides
        self._state = state
        self._sent = sent
        self._version = state.head.version
        self._paths = Paths(stream, self._version)

    @cached_property
    def _units(self) -> list[Unit]:
        """The units of the request, one a block."""
        return [unit_of_piece(self._sent.api, piece) for piece in self._sent.pieces]

    @cached_property
    def _digests(self) -> list[str]:
        """The digests of the request's first blocks: of none, of one, and so on."""
        return digests_of(self._sent.pieces)

    def match(self) -> Match:
        """Return how the request goes on from what is recorded."""
        if self._sent.refers_to is not None or self._sent.thread is not None:
            return self._by_reference()
        match = None if self._sent.compacts else self._on_main() or self._on_side()
        return match or self._aligned()

    def going_on(self, after: int) -> Match:
        """Return how the request goes on from a version of the main branch, as its sender says."""
        main = self._paths.main()
        present = [s for s in main.segments if s.conversation_id == self._own and s.after < after]
        as_of = main.as_of_place(after) if present and present[-1].until >= after else None
        path = self._paths.main_up_to(after, as_of)
        read = self._paths.read(path, len(self._units))
        alignment = align(self._units, read.units, read.gap)
        new = range(len(self._units)) if alignment.how == "apart" else alignment.new
        return Match(
            _relation(alignment),
            new=self._pieces_at(new),
            parent=read.request_at(after),
            adopts=() if after >= self._version else (LineAdopted(after=after, as_of=as_of),),
            segments=path.segments,
        )

    def _begins_as(self, blocks: int, history: str | None) -> bool:
        """Whether the first blocks of the request have this digest."""
        return blocks < len(self._digests) and self._digests[blocks] == history

    def _pieces_at(self, places: Iterable[int]) -> tuple[Piece, ...]:
        """Return the blocks of the request at places."""
        return tuple(self._sent.pieces[place] for place in places)

    def _extends(
        self, path: Path, new: tuple[Piece, ...], parent: UUID, relation: Relation = "extends"
    ) -> Match:
        """Return how a request goes on from a side branch: that is history then, if it may be."""
        side = path.sides[-1]
        if path.sides[0].after is None or path.is_left(self._state):
            return Match(relation, new=new, side=side, parent=parent)
        return Match(
            relation,
            new=new,
            parent=parent,
            adopts=tuple(path.adoptions(self._version)),
            segments=path.segments,
            otherwise=side,
        )

    # -- the last request of a line, and what came since ---------------------------------------

    def _on_main(self) -> Match | None:
        state = self._state
        last = state.last
        count = last.blocks if last else 0
        if last is not None and not self._begins_as(count, last.history):
            return None
        if last is not None and len(self._sent.pieces) == count:
            if self._goes_on_with_answer():
                return Match("extends", parent=state.last_id)
            if state.in_flight or state.answered_at:
                return self._sample_of_main()
            if self._broke_off():
                return self._instead_of_answer()
        extends = after_last(self._sent, count, state)
        if extends is None or last is None or not has_answers(extends.new):
            return extends
        # An answer that the main branch does not have: a side branch may have it.
        return self._on_side() or extends

    def _goes_on_with_answer(self) -> bool:
        """Whether a request names what the provider gave with the last answer, to go on with it.

        It says no more than the request before it did (Gemini: `continuationToken`).
        """
        token, answered = self._sent.goes_on_by, self._state.answered_at
        if token is None or not answered:
            return False
        encoded = jsontext.write(token)
        events = self._log.read(self._own, after=answered - 1, until=answered)
        return any(encoded in (event.body or b"") for event in events)

    def _sample_of_main(self) -> Match:
        """Return the place of the main branch's last request, said again beside its answer."""
        after = self._state.last_version
        return branch(self._state.last_id, after, self._paths.main().as_of_place(after))

    def _broke_off(self) -> bool:
        """Whether there is a part of an answer to the main branch's last request, and nothing else."""
        state = self._state
        return bool(state.since) and all(
            unit.may_miss and unit.unit.is_answer and unit.version > state.last_version
            for unit in state.since
        )

    def _instead_of_answer(self) -> Match:
        """Return how the main branch's last request goes on, said again for an answer that broke off.

        What came of that is history no more, as what an attempt brings that an SDK makes again.
        """
        after, parent = self._state.last_version, self._state.last_id
        as_of = self._paths.main().as_of_place(after)
        path = self._paths.main_up_to(after, as_of)
        return _back_on(path, after, as_of, parent)

    def _on_side(self) -> Match | None:
        for is_read in (False, True):
            if is_read:
                self._paths.take_recent_into(self._sides)
            for side in self._sides:
                if (match := self._on(side)) is not None:
                    return match
        return None

    def _on(self, side: SideBranch) -> Match | None:
        """Return how the request goes on from a side branch's last request, if it does."""
        last = side.last
        if last.history is None or not self._begins_as(last.blocks, last.history):
            return None
        path = self._paths.of(side, self._sides)
        if path is None:
            return None
        recorded = self._log.read(self._own, after=last.version, until=self._version)
        since = (event.told() for event in recorded if line_of(event) == side.line)
        units = units_of(islice(since, RECENT + 4 * len(self._sent.pieces)))
        is_said = any(not unit.may_miss and not unit.unit.is_blank for unit in units)
        if len(self._sent.pieces) == last.blocks and (is_said or last.request in IN_FLIGHT):
            return branch(last.request, last.version, path.as_of_place(last.version))
        alignment = align(self._units[last.blocks :], units)
        if alignment.how == "extends" and (is_said or last.blocks):
            return self._extends(
                path, new_pieces(self._sent.pieces[last.blocks :], alignment), last.request
            )
        if alignment.how != "repeats":
            return None
        if is_said:
            return self._extends(path, (), last.request)
        return Match("extends", side=side, parent=last.request) if last.blocks else None

    # -- by what the provider holds: a response by its id, a conversation by its own ------------

    def _by_reference(self) -> Match:
        """Return how a request goes on that names what it goes on from."""
        recent = self._paths.recent()
        self._sides.take_in(recent)
        answers = ((event, closing_of(event)) for event in self._answers(recent))
        meant = ((e, closing) for e, closing in answers if closing and self._sent.names(closing))
        answer, closing = next(meant, (None, None))
        if answer is None or closing is None:
            return self._unknown_reference()
        line = line_of(answer)
        since = [e for e in recent if e.version > answer.version and line_of(e) == line]
        if line is None:
            units = [unit for unit in self._state.since if unit.version > answer.version]
        else:
            units = units_of(event.told() for event in since)
        new = align(self._units, units).new
        # A summary is asked for beside the line, until the program goes on from it.
        is_last = not self._sent.compacts and all(e.type != "request.sent" for e in since)
        pieces = self._pieces_at(new) if is_last else self._sent.pieces
        return self._referring(answer.version, line, pieces, closing.request, is_last=is_last)

    def _answers(self, recent: list[RecordedEvent]) -> Iterator[RecordedEvent]:
        """Yield what may be meant, the last event first, and the main branch's last answer at the end.

        That may have been long ago: the events since are those of other calls.
        """
        yield from reversed(recent)
        answered = self._state.answered_at
        if answered:
            yield from self._log.read(self._own, after=answered - 1, until=answered)

    def _referring(
        self,
        version: int,
        line: UUID | None,
        new: tuple[Piece, ...],
        parent: UUID | None,
        *,
        is_last: bool,
    ) -> Match:
        side = None if line is None else self._sides.get(line)
        if side is not None and side.is_promoted:
            line = side = None
            is_last = False
        path = self._paths.main() if side is None else self._paths.of(side, self._sides)
        if path is None or (line is not None and side is None):
            return Match("unrelated", new=new, is_new=True)
        if is_last and side is None and path.has(version):
            return Match("reference", new=new, parent=parent or self._state.last_id)
        if is_last and side is not None:
            return self._extends(path, new, parent or side.last.request, "reference")
        place = path.as_of_place(version) if path.has(version) else None
        return branch(parent, version, place, new, "reference")

    def _unknown_reference(self) -> Match:
        # A conversation of the provider's may have been made for this very request.
        is_unknown = self._sent.refers_to is not None
        new, is_first = self._sent.pieces, self._state.last is None
        relation: Relation = "reference" if is_first else "unrelated"
        return Match(relation, new=new, is_new=not is_first, is_unknown=is_unknown)

    # -- by what was said ----------------------------------------------------------------------

    def _aligned(self) -> Match:
        """Return how the request goes on from the line that it shares most with."""
        best: tuple[Path, PathRead, Alignment] | None = None
        for path, read in self._candidates():
            alignment = align(self._units, read.units, read.gap)
            if alignment.how != "apart" and (best is None or alignment.tells_more_than(best[2])):
                best = path, read, alignment
                if self._is_explained(alignment):
                    break
        if best is None:
            return self._apart()
        path, read, alignment = best
        if self._sent.compacts:
            return replace(self._compaction(path, read), sources=read.sources)
        return replace(self._placed(path, read, alignment), sources=read.sources)

    def _is_explained(self, alignment: Alignment) -> bool:
        """Whether all that a request says is of this line, or is new from the caller."""
        pieces = self._pieces_at(alignment.new)
        count = len(self._units) - len(pieces)
        return alignment.weight == count and not has_answers(pieces)

    def _candidates(self) -> Iterator[tuple[Path, PathRead]]:
        """Yield the paths that a request may go on from, the main branch as it is told first."""
        main = self._paths.main()
        if (compacted := self._paths.compacted(main)) is not None:
            yield main, compacted
        for path in self._lines():
            yield path, self._paths.read(path, len(self._sent.pieces))

    def _lines(self) -> Iterator[Path]:
        yield self._paths.main()
        recent = self._paths.recent()
        given_up = [event.version - 1 for event in recent if event.type == "line.adopted"]
        for version in reversed(given_up[-_GIVEN_UP:]):
            yield self._paths.main(version)
        self._sides.take_in(recent)
        for side in self._sides:
            path = self._paths.of(side, self._sides)
            if path is not None:
                yield path

    def _placed(self, path: Path, read: PathRead, alignment: Alignment) -> Match:
        new = new_pieces(self._sent.pieces, alignment)
        parent = read.request_at(alignment.after)
        is_over = not new and self._is_out(path)
        gives_results = any(
            unit_of_piece(self._sent.api, each).result_of is not None for each in new
        )
        if alignment.how == "extends" and not self._is_now(path) and gives_results:
            # The main branch as it was awaited them: it goes on with these.
            as_of = path.as_of_place(alignment.after) or path.as_of
            return _back_on(path, alignment.after, as_of, parent, new)
        is_doubtful = (
            alignment.how == "view" and not alignment.is_sure and not self._is_as_in_force()
        )
        if alignment.how == "branches" or is_over or is_doubtful or not self._is_now(path):
            return branch(parent, alignment.after, path.as_of_place(alignment.after), new)
        if path.sides:
            last = path.sides[-1].last.request
            return self._extends(path, new, last, _relation(alignment))
        return Match(_relation(alignment), new=new, parent=self._state.last_id)

    def _compaction(self, path: Path, read: PathRead) -> Match:
        """Return the place of a summary: the end of the line, until the program goes on from it."""
        after = max((unit.until for unit in read.units), default=0)
        place = path.as_of_place(after) if after else None
        return branch(read.request_at(after), after, place, relation="view")

    def _apart(self) -> Match:
        """Return what a request is that shares nothing.

        A first prompt that was edited, a summary of it all, or another call altogether.
        """
        state = self._state
        pieces = () if self._sent.compacts else self._sent.pieces
        if not self._begins_anew():
            return Match("unrelated", new=pieces, is_new=True)
        main = self._paths.main()
        if state.last is not None and state.last.parent is None and not main.is_fork:
            return branch(None, FIRST, None, pieces)
        after = max((unit.until for unit in state.since), default=state.last_version)
        return branch(state.last_id, after, main.as_of_place(after), pieces, "view")

    def _begins_anew(self) -> bool:
        """Whether a request that shares nothing may be the main branch's, begun anew.

        Not while that awaits an answer, or the results of its calls: they may have begun another
        agent, which has the same instructions, tools and model.
        """
        state = self._state
        return (
            state.last is not None
            and state.last_version > 0
            and state.last.model == self._sent.model
            and not state.in_flight
            and not state.head.open_calls
            and self._is_same_in_force()
        )

    def _is_now(self, path: Path) -> bool:
        """Whether a path is one that goes on: not the main branch as it was before an adoption."""
        return bool(path.sides) or path.as_of == self._version

    def _is_out(self, path: Path) -> bool:
        """Whether an answer to the last request of a path is being read."""
        if not path.sides:
            return self._state.in_flight
        return path.sides[-1].last.request in IN_FLIGHT

    def _is_as_in_force(self) -> bool:
        is_something = bool(self._sent.system) or bool(self._sent.tools)
        return is_something and self._is_same_in_force()

    def _is_same_in_force(self) -> bool:
        state = self._state
        return not in_force_anew(self._sent, state.instructions, state.tools)


def _back_on(
    path: Path, after: int, as_of: int | None, parent: UUID | None, new: tuple[Piece, ...] = ()
) -> Match:
    """Return how the main branch goes on from what it was up to a version."""
    adoption = LineAdopted(after=after, as_of=as_of)
    return Match("extends", new, parent=parent, adopts=(adoption,), segments=path.segments)


def _relation(alignment: Alignment) -> Relation:
    return "view" if alignment.how == "view" else "extends"
