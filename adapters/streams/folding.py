"""A conversation that was folded, and goes on: what is new is read and folded, nothing else.

It is at any time what a fold from scratch gives. Where it is not plain that it would be, there is one
from scratch: the main branch went back, or something says how earlier events are told, or so much came
that one read does not hold it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final
from uuid import UUID

from onrecord.adapters.streams.event_reading import (
    first_kept,
    holds_items,
    line_of,
    read_events,
)
from onrecord.adapters.streams.lineage import BEGINNING, LineSegment
from onrecord.domain.head import Head
from onrecord.domain.log import Log, NewSince, RecordedEvent, Told
from onrecord.projections.frameworks.current_items import TYPES
from onrecord.projections.history.history import History, Missing
from onrecord.projections.history.turns import GrowingHistory
from onrecord.projections.history.windows import Window

AT_ONCE: Final = 256
"""How many new events one read takes; where there are more, all is read anew."""

_SETTERS: Final = ("instructions.set", "tools.declared")
_version: Final = attrgetter("version")


@dataclass(slots=True)
class Fold:
    """What a request with a window is made of, as far as its conversation has come.

    `exchanges` and `is_amended` are as `EventsRead` has them; `has_items` says that a framework wrote some:
    then turns are not folded from the events as they are. `size` is about how many bytes of memory
    it takes, never less. `starts` are the versions of prompts that are known to open exchanges, by
    their numbers. One thread at a time.
    """

    window: Window | None
    missing: Missing
    found: NewSince
    segments: tuple[LineSegment, ...]
    growing: GrowingHistory
    exchanges: int
    is_amended: bool
    has_items: bool
    size: int
    starts: dict[int, int] = field(default_factory=dict[int, int])

    @property
    def head(self) -> Head:
        """Where the conversation stood when it was last read."""
        return self.found.head

    def history(self) -> History:
        """Return what was folded; what comes later does not change it."""
        return self.growing.history()

    def is_of(self, found: NewSince) -> bool:
        """Whether a later read found the same log, and nothing erased in it since."""
        return found.erasure_state == self.found.erasure_state

    def go_on(self, log: Log, found: NewSince) -> bool:
        """Take in what came; False where it is to be folded anew, and then this is of no use any more."""
        before, head = self.head, found.head
        is_next = len(found.events) == head.version - before.version
        is_told_alike = (head.adopted, head.amended) == (before.adopted, before.amended)
        has_items = any(event.type in TYPES for event in found.events)
        if has_items or not (self.is_of(found) and is_next and is_told_alike):
            return False
        first = first_kept(self.exchanges, self.window)
        if self.window is not None:
            self.exchanges += head.exchange - before.exchange
        new = [event.told() for event in found.events]
        self.growing.take(new)
        self.size += size_of(new)
        self._note_starts(found.events)
        self.found = found._replace(events=[])
        self.segments = (*self.segments[:-1], _up_to(self.segments[-1], head))
        moved = first_kept(self.exchanges, self.window)
        return moved == first or self._begin_at(log, moved)

    def _note_starts(self, events: Iterable[RecordedEvent]) -> None:
        known = self.head.exchange
        for event in events if self.window else ():
            if event.exchange > known:
                self.starts[event.exchange] = event.version
                known = event.exchange

    def _begin_at(self, log: Log, exchange: int) -> bool:
        """Fold from an exchange on, of events that are there; False where they may not suffice."""
        own, *others = reversed(self.segments)
        if self.is_amended or others or (self.window and self.window.pinned):
            return False
        start = self.starts.get(exchange) or log.exchange_start(own.conversation_id, exchange)
        self.starts = {number: at for number, at in self.starts.items() if number > exchange}
        before = self.growing.before(start)
        setters = _setters(before, self.head, start)
        if setters is None or len(before) == len(self.growing.items):
            return False
        self.growing.begin_at(start, setters)
        self.size -= size_of(before) - size_of(setters)
        return True


def fold(
    log: Log,
    segments: tuple[LineSegment, ...],
    found: NewSince,
    window: Window | None,
    missing: Missing,
) -> Fold:
    """Return a fold from scratch of these segments, which end where the conversation was found."""
    read = read_events(log, segments, window)
    items = list(read.events)
    return Fold(
        window=window,
        missing=missing,
        found=found._replace(events=[]),
        segments=segments,
        growing=GrowingHistory(items, missing),
        exchanges=read.exchanges,
        is_amended=read.is_amended,
        has_items=holds_items(items),
        size=size_of(items),
    )


def may_go_on(log: Log, conversation_id: UUID, segments: tuple[LineSegment, ...]) -> bool:
    """Whether a fold of these segments may go on: no import can bring what comes before them."""
    own = segments[-1]
    origins = [segment for segment in segments if segment.conversation_id != conversation_id]
    return own.until >= BEGINNING and all(
        log.head(segment.conversation_id).version >= segment.until for segment in origins
    )


def _up_to(last: LineSegment, head: Head) -> LineSegment:
    return LineSegment(last.conversation_id, head.version, head, last.after, last.line)


def _setters(items: Sequence[Told], head: Head, start: int) -> list[Told] | None:
    """Return what set the instructions and the tools in force before a version, in order.

    None where they may have been set since: then the head does not tell which ones were in force.
    """
    pointed = [version for version in (head.instructions, head.tools) if version]
    if any(version >= start for version in pointed):
        return None
    last = {item.type: item for item in items if item.type in _SETTERS and line_of(item) is None}
    setters = sorted(last.values(), key=_version)
    return setters if [item.version for item in setters] == sorted(pointed) else None


_EVENT: Final = 1_200
_COMMA: Final = 100
_BRACE: Final = 240
_BRACKET: Final = 100


def size_of(items: Iterable[Told]) -> int:
    """Return about how many bytes of memory folded events take, rather more than less.

    That is their bodies, and what these say as objects: a text that is not all ASCII may take four
    bytes a character.
    """
    size = 0
    for item in items:
        body = item.body or b""
        text = len(body) if body.isascii() else 4 * len(body)
        members = (
            _COMMA * body.count(b",") + _BRACE * body.count(b"{") + _BRACKET * body.count(b"[")
        )
        size += _EVENT + len(body) + text + members
    return size
