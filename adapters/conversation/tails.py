"""The tail of a main line: its last exchange, and how far that has come."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from onrecord.adapters.conversation.lineage import Stretch
from onrecord.adapters.conversation.reading import (
    events_in,
    last_exchange,
    since_request,
    was_asked,
)
from onrecord.domain import events
from onrecord.domain.encoding import Erased, Unrecognised
from onrecord.domain.events import Event
from onrecord.domain.head import Head, advance, effect_of
from onrecord.domain.log import Log, Told
from onrecord.projections.history.seen import as_seen, seen_by


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
    def is_over(self) -> bool:
        """Whether the exchange was answered, and awaits nothing."""
        is_answered = self.answer is not None and self.unanswered is None
        return is_answered and self.is_whole and not (self.is_out or self.open_calls)

    def take(self, item: Told, event: Event) -> None:
        """Take in the next event of the main line."""
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
            case (
                events.MessageRecorded()
                | events.ReasoningRecorded()
                | events.ToolCallRecorded()
                | events.ServerToolCallRecorded()
                | events.ServerToolResultRecorded()
                | events.CompactionRecorded()
                | events.OpaqueRecorded()
            ):
                self._speak(item)
            case _:
                return

    def _begin(self, item: Told) -> None:
        if self.answer is None or self.unanswered is not None:
            self.answer, self.unanswered = item, None

    def _speak(self, item: Told) -> None:
        if not self.is_out:
            self._begin(item)

    def _say(self, item: Told) -> None:
        if self.answer is not None:
            self.unanswered = item


def tail_of(log: Log, stretches: tuple[Stretch, ...]) -> Tail:
    """Return the tail of a main line; reads back to the prompt that began it, no further."""
    return _tail(since_prompt(log, stretches))


def since_prompt(log: Log, stretches: tuple[Stretch, ...]) -> list[Told]:
    """Return the last exchange; from the last request on, if the prompt was said while that was out.

    What a fork says amid a round of its origin's is of that round, as long as it asked nothing.
    """
    before, own = stretches[:-1], stretches[-1:]
    if before and not was_asked(log, own):
        earlier = since_prompt(log, before)
        if _tail(earlier).open_calls:
            return [*earlier, *(recorded.told() for recorded in events_in(log, own[0]))]
    told: list[Told] = []
    for stretch in reversed(stretches):
        told = [*(recorded.told() for recorded in last_exchange(log, stretch)), *told]
        if any(_is_prompt(event) for _, event in _known(told)):
            break
    sent = [item for item, event in _known(told) if isinstance(event, events.RequestSent)]
    if _saw_prompt(told, sent[-1]) if sent else not was_asked(log, stretches):
        return told
    return [recorded.told() for recorded in since_request(log, stretches)]


def _tail(told: Iterable[Told]) -> Tail:
    tail = Tail()
    calls = Head()
    for item, event in _known(told):
        tail.take(item, event)
        calls = advance(calls, effect_of(event))
    tail.open_calls = calls.open_calls
    return tail


def _saw_prompt(told: Iterable[Told], sent: Told) -> bool:
    """Whether a request saw any of what is told; else it answers what was said before that."""
    seen = seen_by(sent)
    return seen is None or any(
        item.version <= seen for item in told if item.conversation_id == sent.conversation_id
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


def _known(told: Iterable[Told]) -> Iterable[tuple[Told, Event]]:
    """Yield what this release can read of what is on the main line, as requests saw it."""
    for item in as_seen(list(told))[0]:
        if not isinstance(item, Told):
            continue
        event = item.event()
        if not isinstance(event, Unrecognised | Erased) and event.line is None:
            yield item, event
