"""The stored names of events, their schema versions, and the way from old shapes to new ones.

A name is a stable word, never a Python path. An old shape is lifted by its version, one step at a
time, never by guessing from its form. A name or a version that this release does not know is kept
raw and passes through: see `Unrecognised`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from onrecord.domain import events
from onrecord.domain.events import Event
from onrecord.domain.jsontext import JsonObject

Upcaster = Callable[[JsonObject], JsonObject]
"""Lifts a body from one schema version to the next; pure."""

NAMES: Final[Mapping[str, type[Event]]] = {
    "conversation.started": events.ConversationStarted,
    "conversation.forked": events.ConversationForked,
    "conversation.closed": events.ConversationClosed,
    "instructions.set": events.InstructionsSet,
    "tools.declared": events.ToolsDeclared,
    "message.recorded": events.MessageRecorded,
    "reasoning.recorded": events.ReasoningRecorded,
    "tool_call.recorded": events.ToolCallRecorded,
    "tool_result.recorded": events.ToolResultRecorded,
    "tool_result.rejected": events.ToolResultRejected,
    "signal.received": events.SignalReceived,
    "server_tool_call.recorded": events.ServerToolCallRecorded,
    "server_tool_result.recorded": events.ServerToolResultRecorded,
    "compaction.recorded": events.CompactionRecorded,
    "opaque.recorded": events.OpaqueRecorded,
    "document.extracted": events.DocumentExtracted,
    "request.sent": events.RequestSent,
    "attempt.failed": events.AttemptFailed,
    "response.completed": events.ResponseCompleted,
    "response.interrupted": events.ResponseInterrupted,
    "line.adopted": events.LineAdopted,
    "history.compacted": events.HistoryCompacted,
    "content.redacted": events.ContentRedacted,
    "context.carried": events.ContextCarried,
    "annotation.added": events.AnnotationAdded,
}
"""Stored name to shape. A name is for ever."""

VERSIONS: Final[Mapping[str, int]] = dict.fromkeys(NAMES, 1)
"""The schema version that this release writes of each name."""

UPCASTERS: Final[Mapping[tuple[str, int], Upcaster]] = {}
"""(name, version) to the function that lifts that version to the next one."""

_NAME_OF: Final = {shape: name for name, shape in NAMES.items()}


@dataclass(frozen=True, slots=True)
class Unrecognised:
    """An event of a name or version that this release does not know: kept raw, shown as it is."""

    type: str
    schema_version: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Erased:
    """An event whose body was erased: that it happened stays, what it said is gone."""

    type: str


def name_of(event: Event) -> str:
    """Return the stored name of an event."""
    return _NAME_OF[type(event)]


def upcast(
    name: str,
    version: int,
    body: JsonObject,
    *,
    versions: Mapping[str, int] = VERSIONS,
    upcasters: Mapping[tuple[str, int], Upcaster] = UPCASTERS,
) -> JsonObject:
    """Return the body in the present shape of its name, lifted version by version."""
    for step in range(version, versions[name]):
        body = upcasters[name, step](body)
    return body
