"""Where a request goes on from a line: an alignment of what it says with what the line holds.

Linear in both: units become numbers by a dictionary, and runs of them are looked for (runs.py). A
request that begins as the line does is looked at first; else the longest run counts, so that a
repeated "yes" confuses nothing. Results are found by their call, in any order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Final, Literal

from onrecord.projections.matching.recorded_units import RecordedUnit
from onrecord.projections.matching.runs import ending_runs, longest_run
from onrecord.projections.matching.units import Unit

_CALL: Final = "call:"

How = Literal["extends", "repeats", "branches", "view", "apart"]
"""How a request goes on from a line.

It holds all of it and more, or just all of it (`repeats`); it holds what the line began with and
goes another way, or a part of it (`branches`); it holds the line's end, but not all that was before
(`view`); or nothing that tells (`apart`).
"""


@dataclass(frozen=True, slots=True)
class Alignment:
    """What a request and a line share.

    `new` are the places of the request's units that the line does not hold, in order; `after` is
    the version after which the line may be cut to keep what is shared (0: nothing). `weight` counts
    the units that are shared, `is_sure` says that they are more than a chance. `calls` tells of new
    results, by place, which recorded call they are of, where the request has another id for it.
    """

    how: How
    new: tuple[int, ...] = ()
    after: int = 0
    weight: int = 0
    is_sure: bool = False
    calls: Mapping[int, str] = field(default_factory=dict[int, str])

    def tells_more_than(self, other: Alignment) -> bool:
        """Whether it says more about where a request goes on than an alignment with another line."""
        return (self.is_sure, self.weight) > (other.is_sure, other.weight)


def align(sent: Sequence[Unit], line: Sequence[RecordedUnit], gap: int | None = None) -> Alignment:
    """Return what a request shares with a line; `gap` is where the line's units were not read.

    Units before that place are the line's first, those from it on its last.
    """
    if not line:  # All is new: most of a conversation's first requests go on from nothing.
        is_said = any(not unit.is_blank for unit in sent)
        return Alignment("extends" if is_said else "repeats", tuple(range(len(sent))))
    return _Aligning(sent, line, gap).alignment()


class _Aligning:
    def __init__(self, sent: Sequence[Unit], line: Sequence[RecordedUnit], gap: int | None) -> None:
        self._sent = sent
        self._line = line
        self._gap = len(line) if gap is None else gap
        numbers = _Numbers()
        self._line_numbers = [numbers.of(recorded.unit) for recorded in line]
        self._sent_numbers = [numbers.of(unit, unit.asks) for unit in sent]
        self._spine = _spine(sent)
        self._line_spine = _spine([recorded.unit for recorded in line])
        self._owned = _owners([recorded.unit for recorded in line])
        self._results = _results(sent)

    def alignment(self) -> Alignment:
        """Return the alignment that says most."""
        best = self._best()
        return replace(best, calls=dict(self._calls_of(set(best.new))))

    def _calls_of(self, new: set[int]) -> Iterator[tuple[int, str]]:
        """Yield which recorded calls new results are of that name them otherwise.

        Equal calls are told apart by their order, from the last one.
        """
        owned = [(place, owner) for place, (_, owner) in _owners(self._sent).items()]
        if not any(place in new and owner >= 0 for place, owner in owned):
            return
        made = _calls(recorded.unit for recorded in self._line)
        sent = [place for place in _calls(self._sent) if place not in new]
        known = _by_number(made, self._line_numbers)
        last = {
            place: known.get(number, [])[-count:]
            for number, places in _by_number(sent, self._sent_numbers).items()
            for count, place in enumerate(reversed(places), 1)
        }
        for place, owner in owned:
            if place in new and (calls := last.get(owner)):
                call = made[calls[0]]
                if call != self._sent[place].result_of:
                    yield place, call

    def _best(self) -> Alignment:
        shared, places = self._prefix()
        if shared == len(self._line_spine) and self._gap == len(self._line):
            return self._whole(places)
        if len(places) == len(self._spine):
            return self._branch(places)
        view = self._view(places)
        if view is not None and (view.is_sure or not places):
            return view
        amid = self._amid(places)
        if amid is not None:
            return amid
        return self._branch(places) if places else Alignment("apart")

    def _prefix(self) -> tuple[int, dict[int, int]]:
        """Return how far on the line's spine the request goes with it, and what matches there.

        That is a place of the line to a place of the request.
        """
        places: dict[int, int] = {}
        for count, place in enumerate(self._line_spine):
            if place >= self._gap:
                return count, places
            next_sent = self._spine[len(places)] if len(places) < len(self._spine) else None
            if next_sent is not None and self._line_numbers[place] == self._sent_numbers[next_sent]:
                places[place] = next_sent
            elif not self._line[place].may_miss:
                return count, places
        return len(self._line_spine), places

    def _whole(self, places: dict[int, int]) -> Alignment:
        """Return how a request goes on that holds the whole spine of the line."""
        same, other = self._with_results(places)
        required = [place for place, recorded in enumerate(self._line) if _is_result(recorded)]
        is_all = all(place in same for place in required)
        known = {*same.values(), *other.values()}
        if not is_all:
            return self._after_last(same, known)
        last = max(known, default=-1)
        behind = self._blanks_behind(last)
        new = tuple(
            place
            for place, unit in enumerate(self._sent)
            if place not in known and not (unit.is_blank and (place < last or place in behind))
        )
        how: How = "extends" if any(not self._sent[p].is_blank for p in new) else "repeats"
        after = max((recorded.until for recorded in self._line), default=0)
        return Alignment(how, new, after, len(same), self._is_sure(same.values()))

    def _blanks_behind(self, last: int) -> set[int]:
        """Return the places of the blank answers right behind one that is known: they are its own."""
        if last < 0 or not self._sent[last].is_answer:
            return set()
        rest = enumerate(self._sent[last + 1 :], last + 1)
        blanks = takewhile(lambda it: it[1].is_answer and it[1].is_blank, rest)
        return {place for place, _ in blanks}

    def _after_last(self, same: dict[int, int], known: set[int]) -> Alignment:
        """Return the view in which what follows the last unit of the spine that matches is new."""
        last = max(
            (sent for place, sent in same.items() if not _is_result(self._line[place])), default=-1
        )
        new = tuple(p for p in range(last + 1, len(self._sent)) if p not in known)
        after = max((recorded.until for recorded in self._line), default=0)
        return Alignment("view", new, after, len(same), self._is_sure(same.values()))

    def _view(self, begun: dict[int, int]) -> Alignment | None:
        """Return the alignment that ends with the line's last unit; None if there is none.

        `begun` is what matches from the beginning: what stands there is not the last unit as well.
        """
        ending = [place for place in self._line_spine if not self._line[place].may_miss]
        runs = ending_runs(
            [self._sent_numbers[place] for place in self._spine],
            [self._line_numbers[place] for place in ending],
        )
        best = max(runs, default=0)
        if not best:
            return None
        end = max(place for place, run in enumerate(runs) if run == best)
        if self._spine[end] in begun.values():
            return None
        places = {ending[-1 - back]: self._spine[end - back] for back in range(best)}
        same, other = self._with_results(places)
        view = self._after_last(same, {*same.values(), *other.values()})
        return replace(view, is_sure=view.is_sure or self._shares_answers(places))

    def _shares_answers(self, places: dict[int, int]) -> bool:
        """Whether an answer matches, and another one of the line is in the request besides."""
        if not any(self._is_answer(place) for place in places):
            return False
        answers = {
            self._line_numbers[place] for place in self._line_spine if self._is_answer(place)
        }
        return len(answers.intersection(self._sent_numbers)) > 1

    def _is_answer(self, place: int) -> bool:
        return self._line[place].unit.is_answer

    def _branch(self, places: dict[int, int]) -> Alignment:
        same, _ = self._with_results(places)
        count = self._shared_in_order(same)
        shared = {sent for place, sent in same.items() if place < count}
        last = max(shared, default=-1)
        new = tuple(
            place
            for place, unit in enumerate(self._sent)
            if place not in shared and not (unit.is_blank and place < last)
        )
        after = max((recorded.until for recorded in self._line[:count]), default=0)
        if not after:
            return Alignment("apart")
        return Alignment("branches", new, after, len(shared), self._is_sure(shared))

    def _amid(self, places: dict[int, int]) -> Alignment | None:
        """Return the longest run that the rest of the request shares with the line, if it is sure.

        So it is where a program edits what it had cut before: what stands behind the run is new.
        """
        rest = self._spine[len(places) :]
        ahead = [place for place in self._line_spine if place > max(places, default=-1)]
        wanted = [self._sent_numbers[place] for place in rest]
        line_ahead = [self._line_numbers[place] for place in ahead]
        end, run = longest_run(wanted, line_ahead)
        if not run:
            return None
        known = ending_runs(line_ahead, wanted[end - run : end])
        line_end = max(place for place, matched in enumerate(known) if matched == run)
        pairs = {ahead[line_end - back]: rest[end - 1 - back] for back in range(run)}
        same, other = self._with_results(pairs)
        if not self._is_sure(same.values()):
            return None
        last = max(pairs.values())
        matched = {*same.values(), *other.values()}
        new = tuple(place for place in range(last + 1, len(self._sent)) if place not in matched)
        after = self._line[max(same)].until
        return Alignment("branches", new, after, len(same) + len(places), is_sure=True)

    def _with_results(self, places: dict[int, int]) -> tuple[dict[int, int], dict[int, int]]:
        """Return what matches with the results of the line, and the results that were rewritten."""
        same, other = dict(places), dict[int, int]()
        for place, (call, owner) in self._owned.items():
            sent_call = places.get(owner, -1)
            sent = self._results.get((call if sent_call < 0 else "", sent_call))
            if sent is not None:
                target = same if self._line_numbers[place] == self._sent_numbers[sent] else other
                target[place] = sent
        return same, other

    def _shared_in_order(self, same: dict[int, int]) -> int:
        """Return how many of the line's units a cut can keep, all of them shared."""
        count = 0
        for place, recorded in enumerate(self._line[: self._gap]):
            if place in same:
                count = place + 1
            elif not (recorded.may_miss or recorded.unit.is_blank):
                break
        return _cut_before(self._line, count)

    def _is_sure(self, matched: Iterable[int]) -> bool:
        units = [self._sent[place] for place in matched]
        decisive = [unit for unit in units if unit.is_answer or unit.result_of is not None]
        return (bool(decisive) and len(units) > 1) or any(unit.ids for unit in decisive)


class _Numbers:
    """Gives units that are the same the same number."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def of(self, unit: Unit, asks: str | None = None) -> int:
        """Return the number of a unit, or else of a call without an id that asks the same."""
        names = (*unit.ids, unit.says)
        known_number = next((self._known[name] for name in names if name in self._known), None)
        if known_number is None and asks is not None:
            # SDKs put ids of their own on calls that came without one.
            known_number = self._known.get(asks)
        number = len(self._known) if known_number is None else known_number
        for name in names:
            self._known.setdefault(name, number)
        return number


def _spine(units: Sequence[Unit]) -> list[int]:
    """Return the places of the units that keep their order: neither results nor blank."""
    return [
        place for place, unit in enumerate(units) if unit.result_of is None and not unit.is_blank
    ]


def _owners(units: Sequence[Unit]) -> dict[int, tuple[str, int]]:
    """Return for each result its call's id and the place of that call; -1 if it is not there.

    Some servers give the same ids to calls again and again: a result is of the last one before it.
    """
    calls: dict[str, int] = {}
    owners: dict[int, tuple[str, int]] = {}
    for place, unit in enumerate(units):
        for name in unit.ids:
            calls[name] = place
        if unit.result_of is not None:
            owners[place] = unit.result_of, calls.get(f"{_CALL}{unit.result_of}", -1)
    return owners


def _results(units: Sequence[Unit]) -> dict[tuple[str, int], int]:
    """Return the place of each result by the place of its call; by that's id if it is not there."""
    return {
        (call if owner < 0 else "", owner): place for place, (call, owner) in _owners(units).items()
    }


def _calls(units: Iterable[Unit]) -> dict[int, str]:
    """Return the ids of calls, by place."""
    named = ((place, name) for place, unit in enumerate(units) for name in unit.ids)
    return {place: name.removeprefix(_CALL) for place, name in named if name.startswith(_CALL)}


def _by_number(places: Iterable[int], numbers: Sequence[int]) -> dict[int, list[int]]:
    """Return places in order, by the number of what stands there."""
    places_of: dict[int, list[int]] = {}
    for place in places:
        places_of.setdefault(numbers[place], []).append(place)
    return places_of


def _is_result(recorded: RecordedUnit) -> bool:
    return recorded.unit.result_of is not None


def _cut_before(line: Sequence[RecordedUnit], count: int) -> int:
    """Return how many units a cut keeps, at most so many: none of them after one that goes."""
    least = min((recorded.version for recorded in line[count:]), default=None)
    while count and least is not None and line[count - 1].until >= least:
        count -= 1
        least = min(least, line[count].version)
    return count
