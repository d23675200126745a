"""The head of a conversation: what an append or a window has to know without reading the stream.

The log keeps it in the same transaction as the events; it says nothing that they do not, and
`onrecord verify` compares the two. What an event does to the head is its `Effect`; `advance` is the
rule, and every backend follows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

from onrecord.domain import events, items
from onrecord.domain.encoding import Unrecognised
from onrecord.domain.events import Event
from onrecord.domain.operators import CLOSING

Pointer = Literal["instructions", "tools", "request", "adopted", "amended"]
"""What a head points at: the version of the last event that set it."""

MOST_TOKENS: Final = 2**53 - 1
"""The largest count that is one: beyond it a JSON number of many a reader is inexact (RFC 8259)."""

_NO_CALLS: Final[Mapping[str, int]] = MappingProxyType({})


class Effect(NamedTuple):
    """What one event does to the head of its conversation; nothing, by default.

    A prompt, or a signal, opens an exchange, unless calls are open: then it belongs to the round. `gives_up`
    says that the calls still open were answered by a stand-in, since a request went out.
    """

    prompts: bool = False
    opens_call: str | None = None
    closes_call: str | None = None
    gives_up: bool = False
    points: Pointer | None = None
    closes: bool = False
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Head:
    """Where a conversation stands: all zero and empty before its first event.

    `exchange` numbers exchanges from 1 (0: no prompt yet), `open_calls` maps a call's id to the
    version of its event, `instructions`, `tools`, `request`, `adopted` and `amended` are versions (0:
    none); the first two may be of what is history no more, if `adopted` is later. `amended` is the
    last event that says how earlier ones are told: a redaction, or a compaction. Token counts are
    sums over the responses that were recorded on the main branch, at most `MOST_TOKENS`.
    """

    version: int = 0
    exchange: int = 0
    open_calls: Mapping[str, int] = field(default_factory=lambda: _NO_CALLS)
    instructions: int = 0
    tools: int = 0
    request: int = 0
    adopted: int = 0
    amended: int = 0
    closed: bool = False
    input_tokens: int = 0
    output_tokens: int = 0


NOTHING: Final = Effect()
_PROMPT: Final = Effect(prompts=True)
_POINTS: Final[Mapping[type[Event], Pointer]] = {
    events.InstructionsSet: "instructions",
    events.ToolsDeclared: "tools",
    events.RequestSent: "request",
    events.LineAdopted: "adopted",
    events.HistoryCompacted: "amended",
    events.ContentRedacted: "amended",
}


def advance(head: Head, effect: Effect) -> Head:
    """Return the head after the next event, which had this effect."""
    version = head.version + 1
    opens_exchange = effect.prompts and not head.open_calls
    points = effect.points
    return Head(
        version=version,
        exchange=head.exchange + opens_exchange,
        open_calls=_calls_after(head.open_calls, effect, version),
        instructions=version if points == "instructions" else head.instructions,
        tools=version if points == "tools" else head.tools,
        request=version if points == "request" else head.request,
        adopted=version if points == "adopted" else head.adopted,
        amended=version if points == "amended" else head.amended,
        closed=head.closed or effect.closes,
        input_tokens=min(head.input_tokens + effect.input_tokens, MOST_TOKENS),
        output_tokens=min(head.output_tokens + effect.output_tokens, MOST_TOKENS),
    )


def effect_of(event: Event | Unrecognised) -> Effect:
    """Return what an event does to the head; events on side branches do nothing to it.

    Of those that are no conversation's, the end of an erasure, a key or a hold closes its stream.
    """
    if isinstance(event, Unrecognised):
        return Effect(closes=event.type in CLOSING)
    return NOTHING if event.line is not None else _effect(event)


def _effect(event: Event) -> Effect:
    match event:
        case events.MessageRecorded():
            return _PROMPT if event.role == "user" else NOTHING
        # Early: a framework records many at once, and each pattern that fails takes its time.
        case items.ItemRecorded():
            return NOTHING
        case events.SignalReceived():
            return NOTHING if event.interrupts else _PROMPT
        case events.ToolCallRecorded(awaited=True):
            return Effect(opens_call=event.call_id)
        case events.ToolResultRecorded():
            return Effect(closes_call=event.call_id)
        case events.RequestSent() | events.LineAdopted():
            return Effect(points=_POINTS[type(event)], gives_up=True)
        case (
            events.InstructionsSet()
            | events.ToolsDeclared()
            | events.HistoryCompacted()
            | events.ContentRedacted()
        ):
            return Effect(points=_POINTS[type(event)])
        case events.ResponseCompleted() | events.ResponseInterrupted():
            return Effect(
                input_tokens=_count(event.input_tokens), output_tokens=_count(event.output_tokens)
            )
        case events.ConversationEnded():
            return Effect(closes=True)
        case _:
            return NOTHING


def _calls_after(calls: Mapping[str, int], effect: Effect, version: int) -> Mapping[str, int]:
    if effect.gives_up:
        return _NO_CALLS
    if effect.opens_call is not None:
        return {**calls, effect.opens_call: version}
    if effect.closes_call in calls:
        return {call: at for call, at in calls.items() if call != effect.closes_call}
    return calls


def _count(tokens: int | None) -> int:
    """Return a count that can be one; what another recorder or an import says may not be."""
    return tokens if tokens is not None and 0 <= tokens <= MOST_TOKENS else 0
