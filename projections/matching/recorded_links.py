"""Which items say what was recorded off the wire as well, so that a history has it once.

An answer is known by the ids of its provider, a result by its call. What was said before an answer that
both have was sent with its request: of that, what is the same stands once, in the order of both. No
words make an answer that came off the wire the same as an item.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple
from uuid import UUID

from onrecord.domain.events import (
    DocumentExtracted,
    Event,
    RequestSent,
    ResponseCompleted,
    ResponseInterrupted,
)
from onrecord.projections.matching.recorded_units import recorded_units
from onrecord.projections.matching.units import Unit

_ID: Final = "id:"
_SEAL: Final = "seal:"
_CALL: Final = "call:"


class ItemTurnEvent(NamedTuple):
    """What an item says, as an event.

    `version` is the item's. `message` numbers the message that it is of; `answer_ids` are the ids of
    a provider's answer that the item names.
    """

    version: int
    event: Event
    message: int
    answer_ids: tuple[str, ...] = ()


def recorded_links(items: Sequence[ItemTurnEvent], recorded: RecordedBranch) -> Mapping[int, int]:
    """Return which events that items say were recorded off the wire, and at which version.

    An event of `items`, which are in order, is given by its place there; an answer has the version of its end.
    """
    return _Linking(items, recorded).links() if recorded.events else {}


def linked_versions(items: Sequence[ItemTurnEvent], links: Mapping[int, int]) -> Mapping[int, int]:
    """Return the versions of the items of which all is linked, each with the last version that it is linked to."""
    kept = {each.version for place, each in enumerate(items) if place not in links}
    versions = {items[place].version: version for place, version in sorted(links.items())}
    return {item: version for item, version in versions.items() if item not in kept}


class _NumberedUnit(NamedTuple):
    """A unit, and the number of its event among those that were given."""

    unit: Unit
    event: int


def _numbered_units(events: Iterable[Event]) -> list[_NumberedUnit]:
    # Items may stand in another order than their versions: a number is given, and comes back, in their place.
    return [_NumberedUnit(each.unit, each.version) for each in recorded_units(enumerate(events))]


@dataclass(slots=True)
class _Answer:
    """An answer of the main branch: its places among the units, and the version of its last event.

    It was `received` off the wire; else a request had it, as an answer of before.
    """

    first: int
    last: int
    version: int
    received: bool


class _Anchor(NamedTuple):
    """Where an answer stands that both have: the units of its message, and of what was recorded."""

    first: int
    last: int
    answer: _Answer


@dataclass(slots=True)
class RecordedBranch:
    """What was recorded on a main branch beside items: units, answers by their ids, the last request.

    `events` have their versions, and are in order; no summary is among them.
    """

    events: Sequence[tuple[int, Event]]
    units: list[_NumberedUnit] = field(init=False)
    answers: dict[UUID, _Answer] = field(default_factory=dict[UUID, _Answer])
    named: dict[str, set[UUID]] = field(default_factory=lambda: defaultdict(set))
    calls: dict[str, list[tuple[UUID, str]]] = field(default_factory=lambda: defaultdict(list))
    results: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    sent: int = 0

    def __post_init__(self) -> None:
        """Find the units of the events, and what each is known by."""
        self.units = _numbered_units(event for _, event in self.events)
        for place, recorded in enumerate(self.units):
            self._take(place, recorded.unit)
        for number, (version, event) in enumerate(self.events):
            if isinstance(event, RequestSent):
                self.sent = number
            if isinstance(event, ResponseCompleted | ResponseInterrupted):
                self._close(version, event)

    def version_of(self, place: int) -> int:
        """Return the version of a unit's event."""
        return self._event_of(place)[0]

    def answer_of(self, place: int) -> _Answer | None:
        """Return the answer that a unit is of."""
        response = _response_of(self._event_of(place)[1])
        return None if response is None else self.answers.get(response)

    def _event_of(self, place: int) -> tuple[int, Event]:
        return self.events[self.units[place].event]

    def _take(self, place: int, unit: Unit) -> None:
        version, event = self._event_of(place)
        if unit.result_of is not None:
            self.results[unit.result_of].append(place)
        response = _response_of(event)
        if response is None:
            return
        answer = self.answers.setdefault(response, _Answer(place, place, version, received=False))
        answer.last, answer.version = place, version
        for name in _provider_ids(unit):
            self.named[name].add(response)
        for call in _calls_of(unit):
            self.calls[call].append((response, unit.says))

    def _close(self, version: int, closing: ResponseCompleted | ResponseInterrupted) -> None:
        answer = self.answers.get(closing.response)
        if answer is None:
            return
        answer.version, answer.received = version, True
        if closing.provider_id is not None:
            self.named[closing.provider_id].add(closing.response)


class _Linking:
    def __init__(self, items: Sequence[ItemTurnEvent], recorded: RecordedBranch) -> None:
        self._items = items
        self._units = _numbered_units(each.event for each in items)
        self._recorded = recorded
        self._linked: dict[int, int] = {}
        """Versions, by the places of units."""

    def links(self) -> Mapping[int, int]:
        anchors = list(self._anchors())
        self._link_results()
        at = recorded_at = 0
        for first, last, answer in anchors:
            if answer.first >= recorded_at:
                # A request may have had more of an answer than the item that names it.
                end = answer.first if answer.received else answer.last + 1
                self._linked.update(self._pairs(range(at, first), range(recorded_at, end)))
                recorded_at = answer.last + 1
            at = last + 1
        self._link_rest(at, recorded_at)
        return dict(self._events_linked())

    def _item_of(self, place: int) -> ItemTurnEvent:
        return self._items[self._units[place].event]

    # Answers, by the ids of their providers.

    def _anchors(self) -> Iterator[_Anchor]:
        messages: dict[int, list[int]] = defaultdict(list)
        rounds: dict[str, set[int]] = defaultdict(set)
        spoken = 0
        for place in range(len(self._units)):
            item = self._item_of(place)
            if _response_of(item.event) is None:
                spoken += 1
                continue
            messages[item.message].append(place)
            for name in self._names_of(place):
                rounds[name].add(spoken)
        # An id that comes again after somebody else spoke is drawn twice, and tells no answer.
        once = frozenset(name for name, in_rounds in rounds.items() if len(in_rounds) == 1)
        calls = Counter(call for each in self._units for call in _calls_of(each.unit))
        for places in messages.values():
            if (answer := self._answer(places, calls, once)) is not None:
                self._linked.update((place, answer.version) for place in places)
                yield _Anchor(places[0], places[-1], answer)

    def _names_of(self, place: int) -> Iterator[str]:
        """Yield the ids by which a provider knows a message, or a block of it."""
        yield from self._item_of(place).answer_ids
        yield from _provider_ids(self._units[place].unit)

    def _answer(
        self, places: Sequence[int], calls: Mapping[str, int], once: frozenset[str]
    ) -> _Answer | None:
        """Return the recorded answer that a message is; `once` are the ids that stand for one answer."""
        named = [
            self._recorded.named.get(name, set[UUID]())
            for place in places
            for name in self._names_of(place)
            if name in once
        ]
        found = [next(iter(responses)) for responses in named if len(responses) == 1]
        if not found:
            found = list(self._by_calls([self._units[place].unit for place in places], calls))
        return self._recorded.answers.get(found[0]) if found else None

    def _by_calls(self, units: Sequence[Unit], calls: Mapping[str, int]) -> Iterator[UUID]:
        """Yield the answers that make the same calls, under ids that stand for one call alone."""
        for unit in units:
            for call in _calls_of(unit):
                made = self._recorded.calls.get(call, [])
                if len(made) == calls[call] == 1 and made[0][1] == unit.says:
                    yield made[0][0]

    # Results, by the ids of their calls.

    def _link_results(self) -> None:
        linked = {call for place in self._linked for call in _calls_of(self._units[place].unit)}
        results: dict[str, list[int]] = defaultdict(list)
        for place, recorded in enumerate(self._units):
            if recorded.unit.result_of is not None:
                results[recorded.unit.result_of].append(place)
        for call, places in results.items():
            found = self._recorded.results.get(call, [])
            if f"{_CALL}{call}" in linked and len(places) == len(found) == 1:
                self._linked[places[0]] = self._recorded.version_of(found[0])

    # What was said between, in order.

    def _pairs(self, places: range, recorded: range) -> dict[int, int]:
        """Return the units that are the same in the order of both, each with its recorded version.

        Of equal ones the last count: they are nearest to the answer.
        """
        own = [place for place in places if place not in self._linked]
        keys = [_key(self._units[place].unit) for place in own]
        sent = [self._sent_key(place) for place in recorded]
        return {
            own[place]: self._recorded.version_of(recorded[sent_place])
            for place, sent_place in nearest_pairs(keys, sent)
        }

    def _sent_key(self, place: int) -> str | None:
        answer = self._recorded.answer_of(place)
        is_received = answer is not None and answer.received
        return None if is_received else _key(self._recorded.units[place].unit)

    def _link_rest(self, at: int, recorded_at: int) -> None:
        """Link what stands after the last answer that both have, where a request has all answers there."""
        sent = sum(each.event < self._recorded.sent for each in self._recorded.units)
        rest = range(at, len(self._units))
        pairs = self._pairs(rest, range(recorded_at, max(sent, recorded_at)))
        known = {*pairs, *self._linked}
        if all(place in known for place in rest if self._units[place].unit.is_answer):
            self._linked.update(pairs)

    def _events_linked(self) -> Iterator[tuple[int, int]]:
        """Yield the events of which all is linked."""
        units: dict[int, list[int]] = defaultdict(list)
        for place, numbered in enumerate(self._units):
            units[numbered.event].append(place)
        version: int | None = None
        for number, item in enumerate(self._items):
            # A document comes right after the event that holds it, and goes with it.
            if not isinstance(item.event, DocumentExtracted):
                version = self._version_of(units[number])
            if version is not None:
                yield number, version

    def _version_of(self, places: Sequence[int]) -> int | None:
        """Return the version to which the last of these units is linked; None where not all are."""
        if not places or any(place not in self._linked for place in places):
            return None
        return self._linked[places[-1]]


def nearest_pairs(
    own: Sequence[Hashable], recorded: Sequence[Hashable]
) -> Iterator[tuple[int, int]]:
    """Yield places of equal keys in the order of both, the last ones first.

    Each key of `own` takes the last equal one of `recorded` before those that were taken.
    """
    places: dict[Hashable, list[int]] = defaultdict(list)
    for place, key in enumerate(recorded):
        places[key].append(place)
    end = len(recorded)
    for place in reversed(range(len(own))):
        equal = places.get(own[place], [])
        if before := bisect_left(equal, end):
            end = equal[before - 1]
            yield place, end


def _response_of(event: Event) -> UUID | None:
    response = getattr(event, "response", None)
    return response if isinstance(response, UUID) else None


def _provider_ids(unit: Unit) -> Iterator[str]:
    """Yield the ids that a provider gave a block: an item's id, a seal.

    The id of a call is none: some servers count calls from 0 in each answer.
    """
    calls = {name.removeprefix(_CALL) for name in _calls_of(unit)}
    for name in unit.ids:
        if name.startswith(_ID):
            item = name.split(":", 2)[2]
            if item not in calls:
                yield item
        elif name.startswith(_SEAL):
            yield name


def _calls_of(unit: Unit) -> Iterator[str]:
    return (name for name in unit.ids if name.startswith(_CALL) and name != _CALL)


def _key(unit: Unit) -> str:
    return unit.says if unit.result_of is None else f"{_CALL}{unit.result_of}"
