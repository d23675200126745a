"""What changed between two requests of a conversation, by the events that they are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Literal, TypeAlias
from uuid import UUID

from onrecord.domain.jsontext import JsonObject
from onrecord.domain.log import RecordedEvent
from onrecord.projections.apis.request import Report
from onrecord.projections.history import timeline_text
from onrecord.projections.history.history import History, Note
from onrecord.projections.history.responses import Place

Change: TypeAlias = Literal["added", "removed", "changed"]

Reason: TypeAlias = Literal[
    "not recorded yet", "given up", "redaction", "compaction", "window", "left out"
]
"""Why a request has no part of an event.

It was recorded later; it was given up, or is on another branch; it was redacted; a summary stands
for it; it stands outside of the window; or a rule leaves it out, such as an answer that was refused
or reasoning that only another API can read.
"""


@dataclass(frozen=True, slots=True)
class EventChange:
    """An event that is in one of two requests alone, or in each otherwise.

    `reason` says why the other request is without it; None where both have it. `before` and `after`
    are what the report of each request says of it.
    """

    change: Change
    event: RecordedEvent
    reason: Reason | None = None
    before: tuple[Note, ...] = ()
    after: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class InstructionsChange:
    """The instructions of two requests, as text; empty where there are none."""

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ToolsChange:
    """The names of tools that only the second request has, only the first, or each otherwise."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RequestDiff:
    """What changed from the request at version `a` to the one at version `b`.

    `events` are those that came in, went or changed their form, in order. `instructions` and `tools`
    are None where they are the same.
    """

    api: str
    a: int
    b: int
    events: tuple[EventChange, ...] = ()
    instructions: InstructionsChange | None = None
    tools: ToolsChange | None = None

    @property
    def added(self) -> tuple[EventChange, ...]:
        """The events that only the request at `b` has."""
        return self._of("added")

    @property
    def removed(self) -> tuple[EventChange, ...]:
        """The events that only the request at `a` has."""
        return self._of("removed")

    @property
    def changed(self) -> tuple[EventChange, ...]:
        """The events that both have, each otherwise."""
        return self._of("changed")

    @property
    def is_empty(self) -> bool:
        """Whether nothing changed."""
        return not self.events and self.instructions is None and self.tools is None

    def _of(self, change: Change) -> tuple[EventChange, ...]:
        return tuple(each for each in self.events if each.change == change)


# What two requests are made of, and how these differ.


@dataclass(frozen=True, slots=True)
class RequestContent:
    """What the request at a version is made of.

    `history` is what it is made of, in its window; `report` what was done to that. `left_out` is
    where events of the history are that it would be the same without. `is_on_branch` tells whether
    an event is on its main branch, `is_summarised` whether a summary stands for it there. `redacted`
    is where events were redacted. `is_windowed` says that a window was asked for.
    """

    version: int
    conversation: UUID
    history: History
    report: Report
    left_out: frozenset[Place]
    is_on_branch: Callable[[RecordedEvent], bool]
    is_summarised: Callable[[RecordedEvent], bool]
    redacted: frozenset[Place]
    is_windowed: bool = False

    def blocks(self) -> dict[Place, list[JsonObject]]:
        """Return the blocks of each event that goes, by its place; no result that stands in for one."""
        blocks: dict[Place, list[JsonObject]] = {}
        for block in chain.from_iterable(turn.blocks for turn in self.history.turns):
            if block.mark != "missing" and block.place not in self.left_out:
                blocks.setdefault(block.place, []).append(block.plain)
        return blocks

    def notes(self, events: Iterable[Place]) -> dict[Place, tuple[Note, ...]]:
        """Return what its report says of events that it has, by their places.

        A report names versions. Where a fork and its origin both have an event of one, it says of
        neither.
        """
        places: dict[int, list[Place]] = {}
        for place in events:
            places.setdefault(place[1], []).append(place)
        notes: dict[Place, tuple[Note, ...]] = {}
        for note in self.report:
            match places.get(note.version or 0):
                case [place]:
                    notes[place] = (*notes.get(place, ()), note)
                case _:
                    continue
        return notes

    def reason(self, event: RecordedEvent) -> Reason:
        """Return why it has no part of an event that another request has."""
        place = (event.conversation_id, event.version)
        if place[0] == self.conversation and event.version > self.version:
            return "not recorded yet"
        if place in self.redacted:
            return "redaction"
        if not self.is_on_branch(event):
            return "given up"
        if self.is_summarised(event) or event.type == "history.compacted":
            return "compaction"
        return "window" if self.is_windowed and place not in self.left_out else "left out"


def compare(
    api: str,
    before: RequestContent,
    after: RequestContent,
    event_at: Callable[[Place], RecordedEvent],
) -> RequestDiff:
    """Return what changed from one request to another; `event_at` reads the event at a place."""
    return RequestDiff(
        api=api,
        a=before.version,
        b=after.version,
        events=tuple(_changes(before, after, event_at)),
        instructions=_instructions(before.history, after.history),
        tools=_tools(before.history, after.history),
    )


def _changes(
    before: RequestContent, after: RequestContent, event_at: Callable[[Place], RecordedEvent]
) -> Iterator[EventChange]:
    one, other = before.blocks(), after.blocks()
    noted, noted_after = before.notes(one), after.notes(other)
    for place in _in_order(one, other):
        notes = noted.get(place, ()), noted_after.get(place, ())
        if place not in other:
            event = event_at(place)
            yield EventChange("removed", event, after.reason(event), notes[0])
        elif place not in one:
            event = event_at(place)
            yield EventChange("added", event, before.reason(event), (), notes[1])
        elif one[place] != other[place] or notes[0] != notes[1]:
            yield EventChange("changed", event_at(place), None, *notes)


def _in_order(one: Iterable[Place], other: Iterable[Place]) -> Iterator[Place]:
    """Yield each place once: by conversation, those that others were forked from first."""
    places = dict.fromkeys((*one, *other))
    conversations = list(dict.fromkeys(conversation for conversation, _ in places))
    yield from sorted(places, key=lambda place: (conversations.index(place[0]), place[1]))


def _instructions(before: History, after: History) -> InstructionsChange | None:
    one, other = _text(before), _text(after)
    return None if one == other else InstructionsChange(one, other)


def _text(history: History) -> str:
    if history.instructions is None or not history.instructions.content:
        return ""
    return timeline_text.instructions(history.instructions.content)


def _tools(before: History, after: History) -> ToolsChange | None:
    one, other = _by_name(before), _by_name(after)
    change = ToolsChange(
        added=tuple(name for name in other if name not in one),
        removed=tuple(name for name in one if name not in other),
        changed=tuple(name for name in one if name in other and one[name] != other[name]),
    )
    return None if change == ToolsChange() else change


def _by_name(history: History) -> Mapping[str, object]:
    declared = () if history.tools is None else history.tools.tools
    return {timeline_text.tool_title(tool): tool for tool in declared}
