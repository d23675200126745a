"""The fold of events to turns: the main line of a conversation as the model sees it.

What is decided here (with rounds.py), for every API alike:

- A tool's result is in time if no request was sent between the call and the result. All results of
  a round stand first in the user's turn, in the order of the calls. Where one is missing, a
  cancelled result stands in; a late one becomes a block of the turn in which it came. So nothing
  that was sent once changes later.
- What the user says while a request is out comes after the response to it: the model had not seen
  it.
- A response that was cut keeps its finished blocks and the text of an unfinished one; a call that
  awaits no result and has none is left out. A response that was refused is no part of the history
  (Anthropic, "Handling refusals"), nor is what was redacted or erased.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final
from uuid import UUID

from hansard.domain import events
from hansard.domain.content import Native
from hansard.domain.events import Event
from hansard.domain.log import RecordedEvent
from hansard.domain.registry import Erased, Unrecognised
from hansard.projections.history import Block, History, Mark, Turn
from hansard.projections.report import Note
from hansard.projections.responses import Item, Responses, event_of
from hansard.projections.rounds import Rounds

_IN_BLOBS: Final = b'"$hansard.'
_ON_A_SIDE_LINE: Final = b'"line":'
_REFUSAL: Final = b'"refusal"'

Place = tuple[UUID | None, int]
"""Where an event is: its conversation, if that is known, and its version."""


def turns(recorded: Iterable[Item]) -> tuple[Turn, ...]:
    """Return the turns of a conversation's main line, from its events in order of version."""
    return history(recorded).turns


def history(recorded: Iterable[Item]) -> History:
    """Return the turns, and the instructions and tools in force, from events in order of version.

    The events may begin later than the conversation (a window); then those that set instructions
    and tools in force come first. The events of a fork come after those of its origin.
    """
    items = list(recorded)
    fold = _Fold(_redacted(items), _refused(items))
    for item in items:
        fold.take(item)
    return fold.history(items)


class _Fold:
    """What the events said so far."""

    def __init__(self, redacted: set[Place], refused: set[UUID]) -> None:
        self._redacted = redacted
        self._refused = refused
        self._rounds = Rounds()
        self._notes: list[Note] = []
        self._requests: list[Item] = []
        self._closings: list[Item] = []
        self._instructions: events.InstructionsSet | None = None
        self._tools: events.ToolsDefined | None = None

    def take(self, item: Item) -> None:
        """Take in the next event."""
        if not isinstance(item, RecordedEvent):
            self._take(item, None, item[0], item[1], True)
            return
        body = item.body
        if body is None or _ON_A_SIDE_LINE in body:
            self._take(item, item.conversation_id, item.version, item.event(), True)
        elif item.type == "request.sent":
            # These two are long, and a turn can do without what they say.
            self._ask(item)
        elif item.type == "response.completed":
            self._complete(item)
        else:
            spilled = _IN_BLOBS in body
            self._take(item, item.conversation_id, item.version, item.event(), spilled)

    def history(self, items: list[Item]) -> History:
        """Return all that was taken in."""
        last = items[-1] if items else None
        return History(
            turns=self._rounds.turns(),
            responses=Responses(self._requests, self._closings),
            instructions=self._instructions,
            tools=self._tools,
            notes=(*self._notes, *self._rounds.notes),
            left_out=_left_out(items),
            as_of=last.recorded_at if isinstance(last, RecordedEvent) else None,
        )

    def _take(
        self,
        item: Item,
        conversation: UUID | None,
        version: int,
        event: Event | Unrecognised | Erased,
        spilled: bool,
    ) -> None:
        if isinstance(event, Erased | Unrecognised):
            self._unread(version, event)
        elif event.line is not None:
            return
        elif self._redacted and (conversation, version) in self._redacted:
            self._leave_out("redacted", version, "the event was redacted")
        elif isinstance(event, events.RequestSent):
            self._ask(item)
        elif isinstance(event, events.ResponseCompleted):
            self._complete(item)
        elif take := _TAKE.get(type(event)):
            take(self, version, event, spilled)

    def _ask(self, item: Item) -> None:
        self._rounds.ask()
        self._requests.append(item)

    def _complete(self, item: Item) -> None:
        self._closings.append(item)
        if self._rounds.has_unawaited_calls():
            event = event_of(item)
            if isinstance(event, events.ResponseCompleted) and event.stop_reason == "pause_turn":
                self._rounds.pause(event.response)
        self._rounds.close_response()

    def instruct(self, _version: int, event: events.InstructionsSet, _spilled: bool) -> None:
        self._instructions = event

    def equip(self, _version: int, event: events.ToolsDefined, _spilled: bool) -> None:
        self._tools = event

    def message(self, version: int, event: events.MessageRecorded, spilled: bool) -> None:
        if event.role == "assistant":
            if self._is_told(version, event.response):
                asked = len(self._requests)
                for said in event.content:
                    self._rounds.speak(Block(version, said, spilled, event.response, asked))
            return
        mark: Mark = "note" if event.role == "system" else ""
        for said in event.content:
            self._rounds.say(Block(version, said, spilled, None, 0, mark))

    def part(self, version: int, event: _Part, spilled: bool) -> None:
        if self._is_told(version, event.response):
            asked = len(self._requests)
            self._rounds.speak(Block(version, event.content, spilled, event.response, asked))

    def call(self, version: int, event: events.ToolCallRecorded, spilled: bool) -> None:
        if self._is_told(version, event.response):
            call = Block(
                version,
                event.content,
                spilled,
                event.response,
                len(self._requests),
                "call" if event.awaited else "unawaited",
                version,
                event.call_id,
                event.name,
            )
            self._rounds.call(call, event.call_id)

    def result(self, version: int, event: events.ToolResultRecorded, spilled: bool) -> None:
        result = Block(
            version,
            event.content,
            spilled,
            mark="late",
            call_id=event.call_id,
            is_error=event.is_error,
        )
        self._rounds.answer(result, event.call_id)

    def document(self, version: int, event: events.DocumentExtracted, spilled: bool) -> None:
        found = Block(
            version,
            event.document,
            spilled,
            mark="document",
            call_id=event.call_id,
            name=event.tool_name,
        )
        self._rounds.say(found)

    def interrupt(self, version: int, event: events.ResponseInterrupted, _spilled: bool) -> None:
        for unfinished in event.unfinished:
            text = _text_of(unfinished)
            if text and self._rounds.can_speak():
                content = Native(api=event.api, value={**unfinished.value, "text": text})
                asked = len(self._requests)
                self._rounds.speak(Block(version, content, True, event.response, asked))
            else:
                kind = unfinished.value.get("type", "block")
                self._leave_out("unfinished", version, f"the {kind} did not arrive whole")
        self._closings.append((version, event))
        self._rounds.close_response()

    def _is_told(self, version: int, response: UUID | None) -> bool:
        if not self._refused or response not in self._refused:
            return True
        self._leave_out("R20", version, "the response was refused")
        return False

    def _unread(self, version: int, event: Erased | Unrecognised) -> None:
        match event:
            case Erased():
                self._leave_out("erased", version, "the event was erased")
            case Unrecognised():
                self._leave_out("unread", version, f"{event.type} is of a newer Hansard")

    def _leave_out(self, rule: str, version: int, why: str) -> None:
        self._notes.append(Note("left out", rule, version, why))


_Part = (
    events.ReasoningRecorded
    | events.ServerToolCallRecorded
    | events.ServerToolResultRecorded
    | events.CompactionRecorded
    | events.OpaqueRecorded
)

# Any: each function takes the one kind of event that it stands beside.
_TAKE: Final[dict[type[Event], Callable[[_Fold, int, Any, bool], None]]] = {
    events.InstructionsSet: _Fold.instruct,
    events.ToolsDefined: _Fold.equip,
    events.MessageRecorded: _Fold.message,
    events.ReasoningRecorded: _Fold.part,
    events.ToolCallRecorded: _Fold.call,
    events.ToolResultRecorded: _Fold.result,
    events.ServerToolCallRecorded: _Fold.part,
    events.ServerToolResultRecorded: _Fold.part,
    events.CompactionRecorded: _Fold.part,
    events.OpaqueRecorded: _Fold.part,
    events.DocumentExtracted: _Fold.document,
    events.ResponseInterrupted: _Fold.interrupt,
}


def _redacted(items: list[Item]) -> set[Place]:
    redacted: set[Place] = set()
    for item in items:
        conversation = None
        if isinstance(item, RecordedEvent):
            if item.type != "content.redacted":
                continue
            conversation = item.conversation_id
        event = event_of(item)
        if isinstance(event, events.ContentRedacted):
            redacted.add((conversation, event.version))
    return redacted


def _refused(items: list[Item]) -> set[UUID]:
    refused: set[UUID] = set()
    for item in items:
        if isinstance(item, RecordedEvent) and (
            item.type != "response.completed" or not item.body or _REFUSAL not in item.body
        ):
            continue
        event = event_of(item)
        if isinstance(event, events.ResponseCompleted) and event.stop_reason == "refusal":
            refused.add(event.response)
    return refused


def _left_out(items: list[Item]) -> int:
    """Count the versions that are missing; a fork's own versions begin again at 1."""
    expected = last = 0
    for item in items:
        version = item.version if isinstance(item, RecordedEvent) else item[0]
        if version <= last:
            expected += last
        last = version
    return expected + last - len(items)


def _text_of(unfinished: events.Unfinished) -> str:
    """Return the text of a block of text that did not arrive whole, unless there is none.

    Anthropic's own rule: of the blocks that did not stop, only text that is not empty stays.
    """
    begun = unfinished.value.get("text")
    if unfinished.value.get("type") != "text" or not isinstance(begun, str):
        return ""
    text = begun + unfinished.partial
    return text if text.strip() else ""
