"""Calls that await a result: which they are, and what they ask for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from onrecord.adapters.conversation.lineage import Stretch
from onrecord.adapters.conversation.reading import (
    blob_among,
    events_in,
    in_force,
    last_exchange,
    was_asked,
)
from onrecord.domain.blobs import referenced, restore
from onrecord.domain.content import Opaque, ToolCall
from onrecord.domain.encoding import Erased
from onrecord.domain.errors import CorruptRecord, UnknownApi
from onrecord.domain.events import ToolCallRecorded, ToolsDeclared
from onrecord.domain.head import NOTHING, Head, effect_of
from onrecord.domain.log import Backend, Log, RecordedEvent
from onrecord.projections.api import neutral_of
from onrecord.projections.history.tool_names import given_names, is_spelled_anew


def awaited_calls(backend: Backend, stretches: tuple[Stretch, ...], head: Head) -> list[ToolCall]:
    """Return the calls that await a result, in the order in which they were made.

    A fork still awaits those of its origin, as long as it sent no request itself. A call has the
    name that the caller gave its tool, under whatever name the model was told of it.
    """
    calls = [_call(backend, stretches, event) for event in calls_open(backend, stretches, head)]
    if not any(is_spelled_anew(call.name) for call in calls):
        return calls
    defined = in_force(backend, stretches, "tools")
    tools = defined.event() if defined else None
    names = given_names(tools if isinstance(tools, ToolsDeclared) else None)
    return [call.model_copy(update={"name": names.get(call.name, call.name)}) for call in calls]


def calls_open(
    backend: Backend, stretches: tuple[Stretch, ...], head: Head
) -> list[ToolCallRecorded]:
    """Return the events of the calls that await a result, in the order in which they were made."""
    own = stretches[-1].conversation_id
    made = [] if head.request else _of_origin(backend, stretches)
    versions = sorted(head.open_calls.values())
    if versions:
        recorded = backend.read(own, after=versions[0] - 1, until=versions[-1])
        found = (event.event() for event in recorded if event.version in versions)
        made += [event for event in found if isinstance(event, ToolCallRecorded)]
    return made


def _of_origin(backend: Backend, stretches: tuple[Stretch, ...]) -> list[ToolCallRecorded]:
    *origins, own = stretches
    if not origins:
        return []
    calls: dict[str, ToolCallRecorded] = {}
    for recorded in chain(_last_round(backend, origins), events_in(backend, own)):
        event = recorded.event()
        effect = NOTHING if isinstance(event, Erased) else effect_of(event)
        is_own = recorded.conversation_id == own.conversation_id
        if effect.gives_up:
            calls.clear()
        elif isinstance(event, ToolCallRecorded):
            calls.update({} if is_own or not event.awaited else {event.call_id: event})
        elif effect.closes_call is not None:
            calls.pop(effect.closes_call, None)
    return list(calls.values())


def _last_round(log: Log, stretches: Sequence[Stretch]) -> list[RecordedEvent]:
    """Return the events in which the last round is: a fork that asked nothing may go on with one."""
    recorded: list[RecordedEvent] = []
    for number, stretch in reversed(list(enumerate(stretches))):
        is_begun_here = number == 0 or was_asked(log, (stretch,))
        read = last_exchange(log, stretch) if is_begun_here else events_in(log, stretch)
        recorded = [*read, *recorded]
        if is_begun_here:
            break
    return recorded


def _call(backend: Backend, stretches: tuple[Stretch, ...], event: ToolCallRecorded) -> ToolCall:
    if isinstance(event.content, ToolCall):
        return event.content
    spilled = referenced(event.content.value)
    held = {blob.sha256: blob_among(backend, stretches, blob) for blob in spilled}
    call = neutral_of(event.content.api, restore(event.content.value, held))
    if isinstance(call, ToolCall):
        # Gemini's calls, and Ollama's, may have no id of their own.
        return call if call.id else call.model_copy(update={"id": event.call_id})
    if isinstance(call, Opaque):
        raise UnknownApi(f"calls of {call.api!r} cannot be read: upgrade to an Onrecord that does")
    raise CorruptRecord("an event of a tool call holds another block: verify the log")
