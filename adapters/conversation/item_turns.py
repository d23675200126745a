"""What a conversation's turns are made of, the items of frameworks among it.

Items that a session's main stream holds are read as the messages that they are, at the place where they
were recorded. From here on nothing knows that a framework wrote them. What was withdrawn, replaced or
cleared is no part of it, nor are other streams: a subagent's transcript is no turn of the session's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Final, NamedTuple
from uuid import UUID, uuid5

from pydantic import ValidationError

from onrecord.adapters.streams.event_reading import (
    blob_among,
    events_for,
    first_kept,
    holds_items,
    known_events,
    told_whole,
)
from onrecord.adapters.streams.lineage import LineSegment, lineage
from onrecord.adapters.wire.requests import WireRequest, instructions_set, placed
from onrecord.adapters.wire.wires import WIRES
from onrecord.domain import jsontext
from onrecord.domain.blobs import referenced, restore
from onrecord.domain.encoding import VERSIONS, encode, name_of
from onrecord.domain.errors import InvalidInput
from onrecord.domain.events import Event
from onrecord.domain.head import Head, advance, effect_of
from onrecord.domain.items import ItemRecorded
from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import Backend, Told
from onrecord.projections.api import known_api
from onrecord.projections.frameworks.current_items import TYPES, CurrentItems, HeldItem
from onrecord.projections.frameworks.framework import StreamItems
from onrecord.projections.frameworks.item_messages import ItemMessage, Reading, Unread
from onrecord.projections.frameworks.registry import framework_of
from onrecord.projections.history.amendments import amended
from onrecord.projections.history.history import History, Missing, Note
from onrecord.projections.history.turns import history
from onrecord.projections.history.windows import EVERYTHING, Window
from onrecord.projections.matching.recorded_links import (
    ItemTurnEvent,
    RecordedBranch,
    linked_versions,
    recorded_links,
)

_ITEM: Final = "item.recorded"
_REQUEST: Final = "request.sent"
_SUMMARY: Final = "history.compacted"
_IN_FORCE: Final = frozenset({"instructions.set", "tools.declared", *TYPES})
"""Events that hold behind the edge of a window: what sets something, or says how others are told."""


@dataclass(frozen=True, slots=True)
class TurnEvents:
    """The events that turns are folded from; `blobs` are bytes, by digest, that the store may not have.

    `notes` are on items that say nothing to a model, or what stands elsewhere. `has_items` says that a
    framework wrote some. `linked` tells by conversation which items say what was recorded off the wire
    too, by their versions, and at which version that is.
    """

    events: Sequence[Told]
    blobs: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    notes: tuple[Note, ...] = ()
    has_items: bool = False
    linked: Mapping[UUID, Mapping[int, int]] = field(default_factory=dict[UUID, Mapping[int, int]])

    def history(self, missing: Missing = "cancel") -> History:
        """Return the turns, with the notes on what items did not become one."""
        folded = history(self.events, missing)
        return replace(folded, notes=(*self.notes, *folded.notes)) if self.notes else folded


def turn_events(
    backend: Backend, segments: tuple[LineSegment, ...], window: Window | None
) -> TurnEvents:
    """Return what the turns that a window keeps are made of, in order."""
    events = list(events_for(backend, segments, window))
    if not holds_items(events):
        return TurnEvents(events)
    if window is not None:
        events = list(events_for(backend, segments, None))
    # What a summary stands for may have been stored after it once more.
    is_summarised = any(event.type == _SUMMARY for event in events)
    whole = list(told_whole(backend, segments)) if is_summarised else events
    read = _Items(backend, segments).read(events, whole)
    return read if window is None else replace(read, events=_in_window(read.events, window))


def whole_turn_events(backend: Backend, segments: tuple[LineSegment, ...]) -> TurnEvents:
    """Return all that a main branch says, what a summary stands for too, and what is redacted of it."""
    events = list(told_whole(backend, segments))
    if not holds_items(events):
        return TurnEvents(events)
    return _Items(backend, segments).read(events, events)


def linked_items(backend: Backend, conversation_id: UUID, until: int) -> Mapping[int, int]:
    """Return which items say what was recorded off the wire as well, and at which version that is."""
    read = whole_turn_events(backend, lineage(backend, conversation_id, until))
    return read.linked.get(conversation_id, {})


class StreamTurns(NamedTuple):
    """What the items of a stream become, and what does not."""

    events: Sequence[ItemTurnEvent]
    blobs: Mapping[str, bytes]
    unread: Sequence[Unread]


class _Items:
    """Reads the items among the events of a conversation, and of those that it was forked from."""

    def __init__(self, backend: Backend, segments: tuple[LineSegment, ...]) -> None:
        self._backend = backend
        self._segments = segments

    def read(self, events: Sequence[Told], whole: Sequence[Told]) -> TurnEvents:
        """Return the events with turns in the place of the items.

        An item that says what is recorded in the `whole` of the main branch has none.
        """
        read: list[Told] = []
        blobs: dict[str, bytes] = {}
        notes: list[Note] = []
        linked: dict[UUID, dict[int, int]] = defaultdict(dict)
        recorded = RecordedBranch(_recorded_off_the_wire(whole))
        for conversation_id, own in _by_conversation(events).items():
            turns: dict[int, list[Told]] = defaultdict(list)
            for framework in _frameworks(own):
                stream = self._turns(framework, conversation_id, own)
                blobs.update(stream.blobs)
                notes += [Note("left out", "item", *each) for each in stream.unread]
                links = recorded_links(stream.events, recorded)
                versions = linked_versions(stream.events, links)
                notes += [_linked_note(*each) for each in versions.items()]
                linked[conversation_id].update(versions)
                rest = [each for place, each in enumerate(stream.events) if place not in links]
                _put(turns, rest, own)
            read += [turn for event in own for turn in turns.get(event.version) or (event,)]
        return TurnEvents(read, blobs, tuple(notes), has_items=True, linked=linked)

    def _turns(self, framework: str, conversation_id: UUID, events: Sequence[Told]) -> StreamTurns:
        current = _held(framework, events)
        items = [self._whole(item) for item in reversed(current.items)]
        recorded = {event.version: event for event in events if event.type == _ITEM}

        def item_at(version: int) -> JsonObject | None:
            found = recorded.get(version)
            event = None if found is None else found.event()
            if not isinstance(event, ItemRecorded) or event.framework != framework:
                return None
            return self._whole(HeldItem(version, event.item)).item

        redacted = {version for _, version in amended(events).redactions}
        reading = framework_of(framework).read_items(
            StreamItems(items, current.state, item_at, redacted)
        )
        if reading is None:
            why = f"an item of {framework}, whose items are not read as turns"
            return StreamTurns([], {}, [Unread(item.version, why) for item in items])
        ids = (uuid5(conversation_id, f"{framework}:{number}") for number in count())
        return _of_reading(reading, ids)

    def _whole(self, item: HeldItem) -> HeldItem:
        blobs = {
            blob.sha256: blob_among(self._backend, self._segments, blob)
            for blob in referenced(item.item)
        }
        return item._replace(item=restore(item.item, blobs))


def _by_conversation(events: Sequence[Told]) -> dict[UUID, list[Told]]:
    """Return the events of each conversation, what others were forked from first."""
    own: dict[UUID, list[Told]] = defaultdict(list)
    for event in events:
        own[event.conversation_id].append(event)
    return own


def _frameworks(events: Sequence[Told]) -> list[str]:
    recorded = known_events(event for event in events if event.type == _ITEM)
    items = (event for _, event in recorded if isinstance(event, ItemRecorded))
    return list(dict.fromkeys(item.framework for item in items))


def _held(framework: str, events: Sequence[Told]) -> CurrentItems:
    """Return what the main stream of a framework holds."""
    current = CurrentItems(framework)
    streams = [event for event in events if event.type in TYPES]
    for told, event in known_events(reversed(streams)):
        current.take(told.version, event)
    return current


def _recorded_off_the_wire(events: Sequence[Told]) -> list[tuple[int, Event]]:
    """Return what was said beside items, with its versions; nothing where no request was sent."""
    if not any(event.type == _REQUEST for event in events):
        return []
    beside = known_events(event for event in events if event.type not in {*TYPES, _SUMMARY})
    return [(told.version, event) for told, event in beside if event.line is None]


def _linked_note(item: int, version: int) -> Note:
    why = f"linked: what it says stands as it was recorded off the wire, at version {version}"
    return Note("noted", "linked", item, why)


def _put(
    turns: dict[int, list[Told]], events: Sequence[ItemTurnEvent], items: Sequence[Told]
) -> None:
    """Put each event in the place of the item with which its message begins."""
    by_version = {item.version: item for item in items}
    place = 0
    for each in events:
        place = max(place, each.version)
        turns[place].append(_told(by_version[each.version], each.event))


def _told(item: Told, event: Event) -> Told:
    """Return an event as the log would tell it, had it been recorded in the place of an item."""
    name = name_of(event)
    return item._replace(type=name, schema_version=VERSIONS[name], body=encode(event))


# Messages as events: what the recorder would make of a request with them.


def _of_reading(reading: Reading, responses: Iterator[UUID]) -> StreamTurns:
    unread = list(reading.unread)
    messages = list(reading.messages)
    try:
        return StreamTurns(*_recorded(reading.api, messages, responses), unread)
    except (InvalidInput, ValidationError):
        pass
    # One of them is no message of the API: those that are none even on their own stay behind.
    good = [each for each in messages if _is_message(reading.api, each)]
    bad = [each for each in messages if not _is_message(reading.api, each)]
    why = f"an item that is no message of {reading.api}"
    unread += [Unread(version, why) for each in bad for version in dict.fromkeys(each.versions)]
    return StreamTurns(*_recorded(reading.api, good, responses), unread)


def _is_message(api: str, message: ItemMessage) -> bool:
    try:
        _recorded(api, [message], (UUID(int=number) for number in count()))
    except (InvalidInput, ValidationError):
        return False
    return True


def _recorded(
    api: str, messages: Sequence[ItemMessage], responses: Iterator[UUID]
) -> tuple[list[ItemTurnEvent], dict[str, bytes]]:
    """Return the events that a request with these messages says; InvalidInput where it is none."""
    wire = WIRES[api]
    body = {known_api(api).messages: [each.value for each in messages]}
    sent = wire.read_request(jsontext.write(body))
    skipped = len(messages) - len(sent.messages)
    events: list[ItemTurnEvent] = []
    blobs: dict[str, bytes] = {}
    if sent.system is not None:
        setting, blobs = instructions_set(sent)
        events += [ItemTurnEvent(messages[0].version_of(0), event, -1) for event in setting]
    message_events, spilled = wire.request_events(sent, sent.pieces, responses, None)
    version_of = _versions(sent, messages[skipped:])
    for event, piece in placed(sent, message_events):
        number = skipped + sent.pieces[piece].message
        events.append(ItemTurnEvent(version_of(piece), event, number, messages[number].answer_ids))
    return events, {**blobs, **spilled}


def _versions(sent: WireRequest, messages: Sequence[ItemMessage]) -> Callable[[int], int]:
    """Return what tells the version of the item that holds a block, by the block's number."""
    first: dict[int, int] = {}
    for number, piece in enumerate(sent.pieces):
        first.setdefault(piece.message, number)

    def version_of(number: int) -> int:
        message = sent.pieces[number].message
        return messages[message].version_of(number - first[message])

    return version_of


# A window over what items say.


def _in_window(events: Sequence[Told], window: Window) -> list[Told]:
    """Return the events that a window keeps of all, as it keeps those of conversations without items."""
    numbered: list[tuple[int, Told]] = []
    head = Head()
    for event in events:
        for _, known in known_events((event,)):
            head = advance(head, effect_of(known))
        numbered.append((head.exchange, event))
    first = first_kept(head.exchange, window)
    if first == EVERYTHING:
        return list(events)
    return [
        event
        for number, event in numbered
        if number >= first or number <= window.pinned or event.type in _IN_FORCE
    ]
