"""What is beside the talk itself, as rows of a timeline tell it: starts, settings, amendments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, assert_never

from onrecord.domain import events
from onrecord.projections import wording

Speaker = Literal["user", "assistant", "system", "tool", "provider", "record", "outside"]
"""Who a row is of; `record`: nobody spoke, the record notes what happened around the talk; `outside`:
what is neither a user nor a tool sent a signal."""

Mark = Literal[
    "error",
    "cancelled",
    "interrupted",
    "opaque",
    "unread",
    "erased",
    "aside",
    "given up",
    "rejected",
    "interrupts",
]
"""What is out of the ordinary about a row."""


@dataclass(frozen=True, slots=True)
class Told:
    """What one event tells, before it has a place; the members are as in a `Row` of the timeline."""

    speaker: Speaker
    kind: str
    text: str
    marks: tuple[Mark, ...] = ()
    answers: int | None = None


_Retold: TypeAlias = events.LineAdopted | events.HistoryCompacted | events.ContentRedacted
Aside: TypeAlias = (
    events.ConversationStarted
    | events.ConversationForked
    | events.ConversationClosed
    | events.InstructionsSet
    | events.ToolsDeclared
    | events.DocumentExtracted
    | events.ContextCarried
    | events.AnnotationAdded
    | _Retold
)
"""What is beside the talk itself."""


def aside(event: Aside) -> Told:
    """Return what an event tells that is beside the talk itself."""
    match event:
        case events.ConversationStarted():
            return Told("record", "started", event.key)
        case events.ConversationForked():
            origin = f"from {event.origin} as it stood at version {event.version}"
            return Told("record", "forked", wording.with_reason(origin, event.reason))
        case events.ConversationClosed():
            return Told("record", "closed", event.reason or "")
        case events.InstructionsSet(content=content):
            return Told("system", "instructions", wording.instructions(content))
        case events.ToolsDeclared():
            return Told("system", "tools", ", ".join(map(wording.tool_name, event.tools)) or "none")
        case events.DocumentExtracted():
            return Told("record", "extracted", wording.extracted(event))
        case events.ContextCarried():
            return Told("record", "context", "what tool calls carry: onrecord context shows it")
        case events.AnnotationAdded():
            place = "" if event.version is None else f"on version {event.version}: "
            return Told("record", "annotation", place + wording.pairs(event.labels))
        case _:
            return _retold(event)


def _retold(event: _Retold) -> Told:
    """Tell of an event that changes what the history is."""
    match event:
        case events.LineAdopted():
            return Told("record", "adopted", wording.adoption(event))
        case events.HistoryCompacted():
            stands = f"stands for what was said up to version {event.until}: "
            return Told("record", "compacted", stands + event.summary)
        case events.ContentRedacted():
            redacted = f"version {event.version} is left out of every request from here on"
            return Told("record", "redacted", wording.with_reason(redacted, event.reason))
        case _:
            assert_never(event)
