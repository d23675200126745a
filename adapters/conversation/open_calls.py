"""The calls that await a result, and what became of each so far: asked about, decided, begun."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from onrecord.adapters.conversation.tails import awaited_calls
from onrecord.adapters.streams.stream import Stream
from onrecord.domain.content import ToolCall
from onrecord.domain.errors import IdempotencyMismatch
from onrecord.domain.events import Event
from onrecord.domain.head import Head
from onrecord.domain.log import Duplicate
from onrecord.domain.new_events import Attribution
from onrecord.domain.tools import ToolCallBegun
from onrecord.projections.history.call_steps import CallState, call_states

_UNTOUCHED: Final = CallState()
GRACE = 5_000_000
"""How long a runner may take to record a result after the time of the call, in microseconds."""


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call that awaits its result, the version of its event (0: of another conversation), its state."""

    call: ToolCall
    version: int
    state: CallState


def open_calls(stream: Stream) -> list[OpenCall]:
    """Return the calls that await a result, each with what became of it, in order."""
    head = stream.head()
    calls = awaited_calls(stream.backend, stream.lineage(head.version, head), head)
    states = _states(stream, head, calls)
    return [
        OpenCall(call, version, states.get((call.id, version), _UNTOUCHED))
        for call, version in ((call, head.open_calls.get(call.id, 0)) for call in calls)
    ]


def _states(
    stream: Stream, head: Head, calls: list[ToolCall]
) -> Mapping[tuple[str, int], CallState]:
    """Return what became of calls: it stands behind the first of them."""
    if not calls:
        return {}
    first = min(head.open_calls.get(call.id, 0) for call in calls)
    return call_states(stream.read(after=first))


def begin_call(stream: Stream, begun: OpenCall, seconds: float) -> bool:
    """Record that a call is about to be made, in so many seconds; False where another began it.

    It is durable. No other runner makes the call before that time is over, by the store's clock.
    """
    now = stream.backend.clock()
    until = now + int(seconds * 1_000_000) + GRACE
    step = ToolCallBegun(
        call_id=begun.call.id, call=begun.version, number=begun.state.begun, at=now, until=until
    )
    return recorded_once(stream, step)


def recorded_once(stream: Stream, event: Event, by: Attribution | None = None) -> bool:
    """Record what a conversation can hold once; False where another recorded it first.

    What the log has already may be of another who did the very same: its id tells.
    """
    drafted = stream.draft(event, by=by)
    try:
        done = stream.append_drafted((drafted,))
    except IdempotencyMismatch:
        return False
    if not isinstance(done, Duplicate):
        return True
    (first,) = stream.read(after=done.first - 1, until=done.first)
    return first.event_id == drafted.event_id
