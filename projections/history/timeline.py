"""A conversation as people read it: a row a block, in order, with calls and results paired.

A row says what happened in a few words and in full text; how long text is folded, coloured and
aligned is for whoever draws it. Folding keeps nothing but what is open, so it streams.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias
from uuid import UUID

from onrecord.domain import events
from onrecord.domain.content import Document, Native, Text
from onrecord.domain.encoding import Erased, Unrecognised
from onrecord.domain.events import Event
from onrecord.domain.items import ItemRecorded
from onrecord.domain.log import RecordedEvent
from onrecord.projections.history import timeline_text
from onrecord.projections.history.side_branches import Lost, SideBranchFold, SideBranchSummary
from onrecord.projections.history.timeline_blocks import Calls, call_rows, item_rows
from onrecord.projections.history.timeline_text import (
    Aside,
    Mark,
    Speaker,
    Told,
    aside,
)
from onrecord.projections.history.tool_names import given_names

Standing: TypeAlias = Callable[[int, UUID | None], Lost | None]
"""Tells of an event's version and line why it is no history; None if it is."""


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that was said or done.

    `kind` is what it is in a word or two, `text` all of it, `marks` what to mind. A result has
    the version of its call in `answers`. `line` is the side branch it is on (None: the main branch).
    `is_item`: an item of a framework says it. `actor` is who did it, and `linked` at which version an
    item was recorded off the wire too, as whoever shows the row knows.
    """

    version: int
    exchange: int
    recorded_at: int
    speaker: Speaker
    kind: str
    text: str
    marks: tuple[Mark, ...] = ()
    answers: int | None = None
    linked: int | None = None
    line: UUID | None = None
    is_item: bool = False
    actor: str | None = None


_Block: TypeAlias = events.ReasoningRecorded | events.CompactionRecorded | events.OpaqueRecorded
_OnTheWire: TypeAlias = events.RequestSent | events.AttemptFailed


def as_recorded(_version: int, line: UUID | None) -> Lost | None:
    """Return how an event stood when it was recorded: what is on a side branch was aside."""
    return None if line is None else "aside"


def timeline(
    recorded: Iterable[RecordedEvent],
    *,
    side_lines: bool = False,
    standing: Standing = as_recorded,
) -> Iterator[Row]:
    """Yield the rows of recorded events; those of side branches only if they are asked for.

    Then a row follows for each side branch, with where it stands and what became of it.
    """
    fold = Timeline(side_lines=side_lines, standing=standing)
    lines = SideBranchFold()
    for event in recorded:
        yield from fold.rows(event)
        if side_lines:
            lines.take(event, loss_of(event, standing))
    yield from map(_line, lines)


class Timeline:
    """The fold: give it a conversation's events in order, get their rows."""

    def __init__(self, *, side_lines: bool = False, standing: Standing = as_recorded) -> None:
        """Begin with no call open; events of side branches have rows only if they are asked for."""
        self._side_lines = side_lines
        self._standing = standing
        self._calls: Calls = {}
        self._names: Mapping[str, str] = {}
        self._asked: dict[UUID, str | None] = {}
        self._spoke: set[UUID] = set()
        """The responses, not over yet, that held text or calls."""

    def rows(self, event: RecordedEvent) -> Iterator[Row]:
        """Yield the rows of the next event."""
        happened = event.event()
        line = None if isinstance(happened, Erased | Unrecognised) else happened.line
        if line is None or self._side_lines:
            lost = _loss(event.version, happened, self._standing)
            is_silent = self._is_silent(happened)
            named = self._modelled(self._named(happened), event.event_id)
            for entry in _tell(named, event.version, self._calls):
                if is_silent and entry.kind == "response":
                    entry = replace(entry, text=f"{entry.text}: neither text nor calls")
                row = _row(event, entry, line, lost)
                yield replace(row, is_item=True) if isinstance(happened, ItemRecorded) else row

    def _is_silent(self, happened: Event | Unrecognised | Erased) -> bool:
        """Whether an event ends a response that held neither text nor calls; keep which ones do."""
        match happened:
            case events.MessageRecorded(response=UUID() as response) if not any(_message(happened)):
                pass
            case (
                events.MessageRecorded(response=UUID() as response)
                | events.ToolCallRecorded(response=UUID() as response)
                | events.ServerToolCallRecorded(response=UUID() as response)
                | events.CompactionRecorded(response=UUID() as response)
                | events.OpaqueRecorded(response=UUID() as response)
            ):
                self._spoke.add(response)
            case events.ResponseCompleted(response=response, request=request, unfinished=()):
                # Of a request that was not seen, the response may have begun before, too.
                is_silent = request in self._asked and response not in self._spoke
                self._spoke.discard(response)
                return is_silent
            case _:
                pass
        return False

    def _named(self, happened: Event | Unrecognised | Erased) -> Event | Unrecognised | Erased:
        """Return an event, a call under the name that the caller gave its tool."""
        match happened:
            case events.ToolsDeclared(line=None):
                self._names = given_names(happened)
            case events.ToolCallRecorded(name=name) if name in self._names:
                return happened.model_copy(update={"name": self._names[name]})
            case _:
                pass
        return happened

    def _modelled(
        self, happened: Event | Unrecognised | Erased, event_id: UUID
    ) -> Event | Unrecognised | Erased:
        """Return an event, a response that names no model with the one that was asked."""
        match happened:
            case events.RequestSent(model=model):
                self._asked[event_id] = model
            case events.ResponseCompleted(request=UUID() as request):
                request_model = self._asked.pop(request, None)
                return (
                    happened
                    if happened.model
                    else happened.model_copy(update={"model": request_model})
                )
            case events.ResponseInterrupted(request=UUID() as request, reason=reason) if (
                reason != "deferred"
            ):
                self._asked.pop(request, None)
            case _:
                pass
        return happened


def loss_of(event: RecordedEvent, standing: Standing) -> Lost | None:
    """Return why an event is no history; None if it is."""
    return _loss(event.version, event.event(), standing)


def _loss(version: int, happened: Event | Unrecognised | Erased, standing: Standing) -> Lost | None:
    if isinstance(happened, Erased | Unrecognised):
        return None  # Nothing tells which line it is on.
    return standing(version, happened.line)


def _line(line: SideBranchSummary) -> Row:
    return Row(
        version=line.begun,
        exchange=line.exchange,
        recorded_at=line.recorded_at,
        speaker="record",
        kind="line",
        text=str(line),
        marks=() if line.lost is None else (line.lost,),
        line=line.line,
    )


def _row(event: RecordedEvent, entry: Told, line: UUID | None, lost: Lost | None) -> Row:
    return Row(
        version=event.version,
        exchange=event.exchange,
        recorded_at=event.recorded_at,
        speaker=entry.speaker,
        kind=entry.kind,
        text=entry.text,
        marks=entry.marks if lost is None else (*entry.marks, lost),
        answers=entry.answers,
        line=line,
    )


def _tell(event: Event | Unrecognised | Erased, version: int, calls: Calls) -> Iterator[Told]:
    match event:
        case Erased():
            yield Told("record", event.type, "its content was erased", ("erased",))
        case Unrecognised():
            text = event.body.decode("utf-8", "backslashreplace")
            yield Told("record", event.type, text, ("unread",))
        case events.MessageRecorded():
            yield from _message(event)
        case (
            events.ToolCallRecorded()
            | events.ToolResultRecorded()
            | events.ToolResultRejected()
            | events.ServerToolCallRecorded()
            | events.ServerToolResultRecorded()
        ):
            yield from call_rows(event, version, calls)
        case events.SignalReceived():
            yield from _signal(event)
        case events.ResponseCompleted() | events.ResponseInterrupted():
            yield from _ended(event)
        case ItemRecorded():
            yield from item_rows(event, version, calls)
        case _:
            yield _block(event)


def _block(event: _Block | _OnTheWire | Aside) -> Told:
    match event:
        case events.ReasoningRecorded(content=content):
            return Told("assistant", "thinking", timeline_text.reasoning(content))
        case events.CompactionRecorded(content=content):
            return Told("provider", "compaction", timeline_text.native(content))
        case events.OpaqueRecorded():
            return Told("assistant", event.type, timeline_text.native(event.content), ("opaque",))
        case events.RequestSent():
            return Told("record", "request", timeline_text.request(event))
        case events.AttemptFailed():
            return Told("record", "attempt", timeline_text.attempt(event), ("error",))
        case _:
            return aside(event)


def _message(event: events.MessageRecorded) -> Iterator[Told]:
    for block in event.content:
        match block:
            case Document():
                yield Told(event.role, "document", timeline_text.document(block))
            case Text():
                yield Told(event.role, "text", block.text)
            case Native():
                kind = str(block.value.get("type", "message"))
                kind = "text" if kind == "message" else kind
                text = timeline_text.message(block)
                # The row of its response says that an answer is without text.
                if event.response is None or text != timeline_text.NO_TEXT:
                    yield Told(event.role, kind, text)


def _signal(event: events.SignalReceived) -> Iterator[Told]:
    kind = f"signal {event.name}" if event.name else "signal"
    marks: tuple[Mark, ...] = ("interrupts",) if event.interrupts else ()
    for block in event.content:
        text = block.text if isinstance(block, Text) else timeline_text.document(block)
        yield Told("outside", kind, text, marks)
    if not event.content:
        yield Told("outside", kind, "nothing", marks)


def _ended(event: events.ResponseCompleted | events.ResponseInterrupted) -> Iterator[Told]:
    match event:
        case events.ResponseCompleted():
            yield from _unfinished(event.unfinished)
            yield Told("record", "response", timeline_text.response(event))
        case events.ResponseInterrupted():
            yield from _interrupted(event)


def _interrupted(event: events.ResponseInterrupted) -> Iterator[Told]:
    yield from _unfinished(event.unfinished)
    detail = event.detail or (timeline_text.compact(event.error) if event.error else None)
    yield Told(
        "record", "response", timeline_text.with_reason(event.reason, detail), ("interrupted",)
    )


def _unfinished(parts: tuple[events.Unfinished, ...]) -> Iterator[Told]:
    for part in parts:
        kind = str(part.value.get("type", "block"))
        yield Told("assistant", f"unfinished {kind}", part.partial, ("interrupted",))
