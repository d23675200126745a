"""The tail of a main branch: its last exchange, and how far that has come."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from onrecord.adapters.streams.event_reading import (
    blob_among,
    events_in,
    in_force,
    last_exchange,
    since_request,
    was_asked,
)
from onrecord.adapters.streams.lineage import LineSegment
from onrecord.domain import events
from onrecord.domain.blobs import referenced, restore
from onrecord.domain.content import Opaque, ToolCall
from onrecord.domain.encoding import Erased, Unrecognised
from onrecord.domain.errors import CorruptRecord, UnknownApi
from onrecord.domain.events import Event, ToolCallRecorded, ToolsDeclared
from onrecord.domain.head import NOTHING, Head, advance, effect_of
from onrecord.domain.log import Backend, Log, RecordedEvent, Told
from onrecord.projections.api import neutral_of, remedy_of
from onrecord.projections.history.amendments import as_seen
from onrecord.projections.history.responses import seen_by
from onrecord.projections.history.tool_names import given_names, is_spelled_anew


@dataclass(slots=True)
class Tail:
    """The last exchange: the `prompt` that began it, and what became of it.

    `answer` is the first event of the answer to all that was said before it: its request, if one is
    recorded. `unanswered` was said after it. `is_out` says that a request has no end yet, nor
    failed, `is_whole` that the answer is: it broke off nowhere, nor is it paused, to be asked for
    again. `open_calls` are those without a result, by id.
    """

    prompt: Told | None = None
    answer: Told | None = None
    unanswered: Told | None = None
    is_out: bool = False
    open_calls: Mapping[str, int] = field(default_factory=dict[str, int])
    is_whole: bool = True

    @property
    def is_said(self) -> bool:
        """Whether anybody said anything in it."""
        return any(each is not None for each in (self.prompt, self.unanswered, self.answer))

    @property
    def is_over(self) -> bool:
        """Whether the exchange was answered, and awaits nothing."""
        is_answered = self.answer is not None and self.unanswered is None
        return is_answered and self.is_whole and not (self.is_out or self.open_calls)

    def take(self, item: Told, event: Event) -> None:
        """Take in the next event of the main branch."""
        match event:
            case events.RequestSent():
                self._begin(item)
                self.is_out, self.is_whole = True, False
            case events.ResponseCompleted() | events.ResponseInterrupted():
                self._speak(item)
                self.is_out = False
                self.is_whole = _is_whole(event)
            case events.AttemptFailed():
                self.is_out = False
            case events.MessageRecorded(role="user") | events.SignalReceived(interrupts=False):
                self.prompt = self.prompt or item
                self._say(item)
            case (
                events.MessageRecorded(role="system")
                | events.SignalReceived()
                | events.ToolResultRecorded()
            ):
                self._say(item)
            case _:
                if isinstance(event, events.AnswerPart):
                    self._speak(item)

    def _begin(self, item: Told) -> None:
        if self.answer is None or self.unanswered is not None:
            self.answer, self.unanswered = item, None

    def _speak(self, item: Told) -> None:
        if not self.is_out:
            self._begin(item)

    def _say(self, item: Told) -> None:
        if self.answer is not None:
            self.unanswered = item


def tail_of(log: Log, segments: tuple[LineSegment, ...]) -> Tail:
    """Return the tail of a main branch; reads back to the prompt that began it, no further."""
    return _tail(since_prompt(log, segments))


def since_prompt(log: Log, segments: tuple[LineSegment, ...]) -> list[Told]:
    """Return the last exchange; from the last request on, if the prompt was said while that was out.

    What a fork says amid a round of its origin's is of that round, as long as it asked nothing.
    """
    before, own = segments[:-1], segments[-1:]
    if before and not was_asked(log, own):
        earlier = since_prompt(log, before)
        if _tail(earlier).open_calls:
            return [*earlier, *(recorded.told() for recorded in events_in(log, own[0]))]
    exchange: list[Told] = []
    for segment in reversed(segments):
        exchange = [*(recorded.told() for recorded in last_exchange(log, segment)), *exchange]
        if any(_is_prompt(event) for _, event in _known(exchange)):
            break
    sent = [item for item, event in _known(exchange) if isinstance(event, events.RequestSent)]
    if _saw_prompt(exchange, sent[-1]) if sent else not was_asked(log, segments):
        return exchange
    return [recorded.told() for recorded in since_request(log, segments)]


def _tail(events: Iterable[Told]) -> Tail:
    tail = Tail()
    calls = Head()
    for item, event in _known(events):
        tail.take(item, event)
        calls = advance(calls, effect_of(event))
    tail.open_calls = calls.open_calls
    return tail


def _saw_prompt(events: Iterable[Told], sent: Told) -> bool:
    """Whether a request saw any of what is told; else it answers what was said before that."""
    seen = seen_by(sent)
    return seen is None or any(
        item.version <= seen for item in events if item.conversation_id == sent.conversation_id
    )


def _is_whole(event: events.ResponseCompleted | events.ResponseInterrupted) -> bool:
    """Whether nothing more is to come of an answer; Anthropic's server goes on where it paused."""
    return isinstance(event, events.ResponseCompleted) and event.stop_reason != "pause_turn"


def _is_prompt(event: Event) -> bool:
    match event:
        case events.MessageRecorded(role="user") | events.SignalReceived(interrupts=False):
            return True
        case _:
            return False


def _known(events: Iterable[Told]) -> Iterable[tuple[Told, Event]]:
    """Yield what this release can read of what is on the main branch, as requests saw it."""
    for item in as_seen(list(events))[0]:
        if not isinstance(item, Told):
            continue
        event = item.event()
        if not isinstance(event, Unrecognised | Erased) and event.line is None:
            yield item, event


# Calls that await a result: which they are, and what they ask for.


def awaited_calls(
    backend: Backend, segments: tuple[LineSegment, ...], head: Head
) -> list[ToolCall]:
    """Return the calls that await a result, in the order in which they were made.

    A fork still awaits those of its origin, as long as it sent no request itself. A call has the
    name that the caller gave its tool, under whatever name the model was told of it.
    """
    calls = [_call(backend, segments, event) for event in calls_open(backend, segments, head)]
    if not any(is_spelled_anew(call.name) for call in calls):
        return calls
    names = names_in_force(backend, segments)
    return [call.model_copy(update={"name": names.get(call.name, call.name)}) for call in calls]


def names_in_force(log: Log, segments: tuple[LineSegment, ...]) -> Mapping[str, str]:
    """Return the caller's own names of the tools in force, by those that a model is told."""
    declared = in_force(log, segments, "tools")
    tools = declared.event() if declared else None
    return given_names(tools if isinstance(tools, ToolsDeclared) else None)


def calls_open(
    backend: Backend, segments: tuple[LineSegment, ...], head: Head
) -> list[ToolCallRecorded]:
    """Return the events of the calls that await a result, in the order in which they were made."""
    own = segments[-1].conversation_id
    made = [] if head.request else _of_origin(backend, segments)
    versions = sorted(head.open_calls.values())
    if versions:
        recorded = backend.read(own, after=versions[0] - 1, until=versions[-1])
        events = (event.event() for event in recorded if event.version in versions)
        made += [event for event in events if isinstance(event, ToolCallRecorded)]
    return made


def _of_origin(backend: Backend, segments: tuple[LineSegment, ...]) -> list[ToolCallRecorded]:
    *origins, own = segments
    if not origins:
        return []
    calls: dict[str, ToolCallRecorded] = {}
    for recorded in chain(_last_round(backend, origins), events_in(backend, own)):
        event = recorded.event()
        effect = NOTHING if isinstance(event, Erased) else effect_of(event)
        is_own = recorded.conversation_id == own.conversation_id
        if effect.gives_up:
            calls.clear()
        elif isinstance(event, ToolCallRecorded) and event.awaited:
            calls.pop(event.call_id, None)  # The result of an id is of the last call that has it.
            calls.update({} if is_own else {event.call_id: event})
        elif effect.closes_call is not None:
            calls.pop(effect.closes_call, None)
    return list(calls.values())


def _last_round(log: Log, segments: Sequence[LineSegment]) -> list[RecordedEvent]:
    """Return the events in which the last round is: a fork that asked nothing may go on with one."""
    recorded: list[RecordedEvent] = []
    for number, segment in reversed(list(enumerate(segments))):
        is_begun_here = number == 0 or was_asked(log, (segment,))
        read = last_exchange(log, segment) if is_begun_here else events_in(log, segment)
        recorded = [*read, *recorded]
        if is_begun_here:
            break
    return recorded


def _call(backend: Backend, segments: tuple[LineSegment, ...], event: ToolCallRecorded) -> ToolCall:
    if isinstance(event.content, ToolCall):
        return event.content
    spilled = referenced(event.content.value)
    data = {blob.sha256: blob_among(backend, segments, blob) for blob in spilled}
    call = neutral_of(event.content.api, restore(event.content.value, data))
    if isinstance(call, ToolCall):
        # Gemini's calls, and Ollama's, may have no id of their own.
        return call if call.id else call.model_copy(update={"id": event.call_id})
    if isinstance(call, Opaque):
        raise UnknownApi(f"calls of {call.api!r} cannot be read: {remedy_of(call.api)}")
    raise CorruptRecord("an event of a tool call holds another block: verify the log")
