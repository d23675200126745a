"""The calls that await a result, and what became of each so far: asked about, decided, begun."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from onrecord.adapters.conversation.tails import awaited_calls
from onrecord.adapters.streams.stream import Done, Stream
from onrecord.domain.content import ToolCall
from onrecord.domain.errors import IdempotencyMismatch
from onrecord.domain.events import Event
from onrecord.domain.head import Head
from onrecord.domain.log import Duplicate, NewEvent
from onrecord.domain.new_events import Attribution
from onrecord.projections.history.call_steps import CallState, call_states

_UNTOUCHED: Final = CallState()


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


def recorded_once(stream: Stream, event: Event, by: Attribution | None = None) -> bool:
    """Record what a conversation can hold once; False where another recorded it first."""
    return appended_once(stream, stream.draft(event, by=by)) is not None


def appended_once(
    stream: Stream, *drafted: NewEvent, expected_version: int | None = None
) -> Done | None:
    """Append what a conversation can hold once, all or none; None where another appended it first.

    What the log has already may be of another who did the very same: the id of the first event tells.
    So it may be appended again where nobody knows whether it was. VersionConflict as `Stream.append`.
    """
    try:
        done = stream.append_drafted(drafted, expected_version)
    except IdempotencyMismatch:
        return None
    if not isinstance(done, Duplicate):
        return done
    (first,) = stream.read(after=done.first - 1, until=done.first)
    return done if first.event_id == drafted[0].event_id else None
