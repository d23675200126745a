"""The units that a line's events say, in the order in which the model knows them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias
from uuid import UUID

from onrecord.domain import events
from onrecord.domain.content import Native, Text
from onrecord.domain.errors import UnsupportedTool
from onrecord.domain.events import Event
from onrecord.domain.request_template import canonical
from onrecord.domain.tools import BuiltinTool, ToolDefinition
from onrecord.projections.api import instructions_of, tool_of
from onrecord.projections.apis.tools import encode_tool
from onrecord.projections.history.amendments import SUMMARY
from onrecord.projections.history.responses import text_blocks
from onrecord.projections.history.signals import said_by
from onrecord.projections.matching.units import Unit, unit_of


class RecordedUnit(NamedTuple):
    """A unit of a line, and the version of its event.

    A line that is cut after version `until` keeps it whole, the end of its response included.
    `may_miss` says that a request may go on without it: its response did not come whole, or it is
    what programs leave out, reasoning and what the provider's own tools did, or the caller's own
    summary of what they repeat. Nor do programs that keep their own list know of signals.
    """

    unit: Unit
    version: int
    until: int
    may_miss: bool = False


@dataclass(slots=True)
class _Response:
    """A response as far as it was told; `request` is known once it is closed."""

    units: list[RecordedUnit]
    request: UUID | None = None


_Closing: TypeAlias = events.ResponseCompleted | events.ResponseInterrupted


def recorded_units(recorded: Iterable[tuple[int, Event]]) -> list[RecordedUnit]:
    """Return the units of one line's events, given in order of version."""
    fold = _Fold()
    for version, event in recorded:
        fold.take(version, event)
    return fold.units()


class _Fold:
    """What was said so far; what the caller says while a request is out comes after the answer."""

    def __init__(self) -> None:
        self._units: list[RecordedUnit] = []
        self._waiting: list[RecordedUnit] = []
        self._open: list[RecordedUnit] = []
        self._cut: _Response | None = None
        self._is_out = False

    def take(self, version: int, event: Event) -> None:
        """Take in the next event."""
        match event:
            case events.MessageRecorded(role="assistant"):
                self._open += [
                    _at(version, unit_of("assistant", content)) for content in event.content
                ]
            case events.MessageRecorded() | events.SignalReceived():
                self._say(_message(version, event))
            case events.HistoryCompacted(summary=summary, until=until):
                unit = unit_of("user", Text(text=SUMMARY + summary))
                self._say([_at(until, unit)._replace(may_miss=True)])
            case events.ToolResultRecorded():
                unit = unit_of("tool", event.content, event.call_id)
                self._say([_at(version, unit._replace(result_of=event.call_id))])
            case (
                events.ReasoningRecorded()
                | events.ServerToolCallRecorded()
                | events.ServerToolResultRecorded()
                | events.OpaqueRecorded()
            ):
                unit = unit_of("assistant", event.content)
                self._open.append(RecordedUnit(unit, version, version, may_miss=True))
            case events.ToolCallRecorded():
                unit = unit_of("assistant", event.content, event.call_id)
                self._open.append(_at(version, unit))
            case events.CompactionRecorded():
                self._open.append(_at(version, unit_of("assistant", event.content)))
            case events.RequestSent():
                self._release()
                self._cut, self._is_out = None, True
            case events.ResponseCompleted() | events.ResponseInterrupted():
                self._close(version, event)
            case _:
                return

    def units(self) -> list[RecordedUnit]:
        """Return all that was said."""
        self._release()
        return self._units

    def _say(self, units: Iterable[RecordedUnit]) -> None:
        if self._is_out:
            self._waiting += units
        else:
            self._units += [*self._take_open(), *units]

    def _close(self, version: int, event: _Closing) -> None:
        is_whole = isinstance(event, events.ResponseCompleted) and event.stop_reason != "refusal"
        units = [each if is_whole else each._replace(may_miss=True) for each in self._take_open()]
        broken_off = (unit_of("assistant", block) for block in text_blocks(event))
        units += [_at(version, unit)._replace(may_miss=True) for unit in broken_off]
        closed = [*units[:-1], *(each._replace(until=version) for each in units[-1:])]
        self._take_back(event.request)
        self._units += closed
        if not isinstance(event, events.ResponseCompleted):
            self._cut = _Response(closed, event.request)
        self._is_out = False
        self._release()

    def _take_back(self, request: UUID | None) -> None:
        """Leave out what came of an earlier response to the same request."""
        cut = self._cut
        if cut is not None and request is not None and cut.request == request:
            away = {id(unit) for unit in cut.units}
            self._units = [unit for unit in self._units if id(unit) not in away]
            self._cut = None

    def _release(self) -> None:
        self._units += [*self._take_open(), *self._waiting]
        self._waiting = []

    def _take_open(self) -> list[RecordedUnit]:
        units, self._open = self._open, []
        return units


def _message(
    version: int, event: events.MessageRecorded | events.SignalReceived
) -> list[RecordedUnit]:
    if isinstance(event, events.SignalReceived):
        units = (unit_of("user", content) for content in said_by(event))
        return [_at(version, unit)._replace(may_miss=True) for unit in units]
    return [_at(version, unit_of(event.role, content)) for content in event.content]


def _at(version: int, unit: Unit) -> RecordedUnit:
    return RecordedUnit(unit, version, version)


# Whether the instructions and tools of a request are those in force, in whatever spelling.

_Tool: TypeAlias = ToolDefinition | BuiltinTool | Native

_UNTOLD: Final = {"title": None, "output_schema": None, "annotations": None}


def same_instructions(
    recorded: events.InstructionsSet | None, sent: events.InstructionsSet
) -> bool:
    """Return whether instructions say what is in force; none are the same as a blank."""
    in_force, in_request = recorded.content if recorded else "", sent.content
    if (
        isinstance(in_force, Native)
        and isinstance(in_request, Native)
        and in_force.api == in_request.api
    ):
        return _is_same(in_force, in_request)
    is_plain = not isinstance(in_force, Native) and not isinstance(in_request, Native)
    text = _text(in_force)
    return text == _text(in_request) and (is_plain or bool(text))


def same_tools(recorded: events.ToolsDeclared | None, sent: events.ToolsDeclared) -> bool:
    """Return whether tools are those in force, in the same order."""
    in_force = recorded.tools if recorded else ()
    return len(in_force) == len(sent.tools) and all(
        _is_same_tool(one, other) for one, other in zip(in_force, sent.tools, strict=True)
    )


def _is_same_tool(one: _Tool, other: _Tool) -> bool:
    if isinstance(one, BuiltinTool) and isinstance(other, Native):
        return _is_encoded(one, other)
    if isinstance(one, Native) and isinstance(other, Native) and one.api == other.api:
        return _is_same(one, other)
    neutral = _definition(one)
    return neutral is not None and neutral == _definition(other)


def _is_encoded(tool: BuiltinTool, sent: Native) -> bool:
    """Whether a request has a provider's tool as it was rendered for its API."""
    try:
        return _is_same(encode_tool(tool, sent.api), sent)
    except UnsupportedTool:
        return False


def _definition(tool: _Tool) -> ToolDefinition | BuiltinTool | None:
    """Return what models are told of a tool: no request says the rest, so none says it otherwise."""
    neutral = tool_of(tool) if isinstance(tool, Native) else tool
    if isinstance(neutral, ToolDefinition):
        return neutral.model_copy(update=_UNTOLD)
    return neutral


def _is_same(one: Native, other: Native) -> bool:
    return one.api == other.api and bool(canonical(one.value) == canonical(other.value))


def _text(content: str | Text | Native) -> str:
    match content:
        case str():
            return content
        case Text(text=text):
            return text
        case Native():
            return instructions_of(content)
