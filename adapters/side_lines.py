"""The side lines of a conversation: where each one left the line before it, and its last request.

What this process put on side lines it keeps in mind; what others did is told by the last events.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from onrecord.domain.events import (
    LineAdopted,
    RequestSent,
    ResponseCompleted,
    ResponseInterrupted,
)
from onrecord.domain.log import RecordedEvent, Told
from onrecord.domain.references import refers_back

_REMEMBERED: Final = 64
# Bodies are canonical (docs/format.md): that of an event on a side line begins so.
_LINE: Final = b'{"line":"'
_ID: Final = 36
_CLOSINGS: Final = ("response.completed", "response.interrupted")


@dataclass(frozen=True, slots=True)
class LastRequest:
    """The last request of a line: its id and version, and how its messages are known again."""

    request: UUID
    version: int
    blocks: int = 0
    history: str | None = None


@dataclass(frozen=True, slots=True)
class SideLine:
    """A side line: `begun` is the version of its first event, `after` and `as_of` its place.

    `parted` is the version of what began it: a request of the main line after that says that the
    main line was gone on with. The place is as `RequestSent` says; `after` is None if it has none.
    What `is_adopted` is part of the main line, as that is or was.
    """

    line: UUID
    begun: int
    parted: int
    after: int | None
    as_of: int | None
    last: LastRequest
    is_adopted: bool = False


class SideLines:
    """The side lines that are known, the one that spoke last at the end."""

    def __init__(self) -> None:
        """Begin with none."""
        self._known: OrderedDict[UUID, SideLine] = OrderedDict()

    def __iter__(self) -> Iterator[SideLine]:
        """Yield the lines that were not adopted, the one that spoke last first."""
        return (side for side in reversed(list(self._known.values())) if not side.is_adopted)

    def get(self, line: UUID) -> SideLine | None:
        """Return what is known of a line, adopted or not."""
        return self._known.get(line)

    def keep(self, side: SideLine) -> None:
        """Take note of a line that spoke."""
        self._known[side.line] = side
        self._known.move_to_end(side.line)
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)

    def adopt(self, line: UUID | None) -> None:
        """Take note that a line was adopted."""
        if line is not None and line in self._known:
            self._known[line] = replace(self._known[line], is_adopted=True)

    def take_in(self, recorded: Iterable[RecordedEvent]) -> None:
        """Take note of the lines that spoke in events, given in order; those known stay."""
        told = _Told(self._known)
        for event in recorded:
            told.take(event)
        for side in told.found.values():
            known = self._known.get(side.line)
            if known is None or known.last.version < side.last.version:
                self.keep(side)
        for line in told.adopted:
            self.adopt(line)


class _Told:
    """What events tell of side lines."""

    def __init__(self, known: Iterable[UUID]) -> None:
        self.found: dict[UUID, SideLine] = {}
        self.adopted: list[UUID | None] = []
        self._known = frozenset(known)
        self._begun: dict[UUID, int] = {}
        self._requests: dict[UUID, LastRequest] = {}

    def take(self, recorded: RecordedEvent) -> None:
        line = line_of(recorded)
        if line is not None:
            self._begun.setdefault(line, recorded.version)
        if recorded.type == "request.sent":
            self._sent(recorded, line)
        elif recorded.type == "line.adopted":
            event = recorded.event()
            if isinstance(event, LineAdopted) and refers_back(event, recorded.version):
                self.adopted.append(event.adopted)
        elif line is not None and (closing := closing_of(recorded)) is not None:
            self._closed(line, closing)

    def _sent(self, recorded: RecordedEvent, line: UUID | None) -> None:
        event = recorded.event()
        if not isinstance(event, RequestSent):
            return
        last = last_request(recorded.event_id, recorded.version, event)
        self._requests[recorded.event_id] = last
        if line is None:
            return
        begun, after, as_of = self._begun[line], event.after, event.as_of
        if not refers_back(event, recorded.version):
            after = as_of = None
        elif event.begun is not None:
            begun = event.begun
        before = self.found.get(line)
        parted = before.parted if before else begun
        self.found[line] = SideLine(line, begun, parted, after, as_of, last)

    def _closed(self, line: UUID, event: ResponseCompleted | ResponseInterrupted) -> None:
        """Take note of an answer that is on a line without a request of its own."""
        if line in self._known:
            return
        sent = None if event.request is None else self._requests.get(event.request)
        if sent is not None and line not in self.found:
            place = SideLine(line, self._begun[line], sent.version, sent.version, None, sent)
            self.found[line] = place


def last_request(request: UUID, version: int, event: RequestSent) -> LastRequest:
    """Return what is to be known of a request to know again what goes on from it."""
    return LastRequest(request, version, event.blocks, event.history)


def closing_of(recorded: RecordedEvent) -> ResponseCompleted | ResponseInterrupted | None:
    """Return what an event says that closes a response; None for any other."""
    if recorded.type not in _CLOSINGS:
        return None
    event = recorded.event()
    return event if isinstance(event, ResponseCompleted | ResponseInterrupted) else None


def line_of(recorded: RecordedEvent | Told) -> UUID | None:
    """Return the side line that an event is on, without reading all that it says."""
    body = recorded.body or b""
    if not body.startswith(_LINE):
        return None
    return UUID(body[len(_LINE) : len(_LINE) + _ID].decode())
