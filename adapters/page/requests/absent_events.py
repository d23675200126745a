"""The events that are not in a request, in groups of the same reason, for showing; pure."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from onrecord.domain.log import RecordedEvent
from onrecord.projections.history.history import Note
from onrecord.projections.history.responses import Place
from onrecord.projections.history.timeline import Timeline
from onrecord.projections.matching.request_diff import Reason, RequestContent

REASONS: Final[Mapping[Reason, str]] = {
    "not recorded yet": "Not recorded yet.",
    "given up": "On another branch of the conversation.",
    "redaction": "Redacted.",
    "compaction": "A summary stands in its place.",
    "window": "Outside of the window.",
    "left out": "Left out by a rule.",
}
"""Why an event is not in a request, in words."""

_ERASED: Final = "Erased."
_LINKED: Final = "Recorded off the wire too: what was recorded there goes."

_LONGEST_LINE: Final = 200
_MOST_LINES: Final = 50

_SAYING: Final = frozenset(
    {
        *("message.recorded", "reasoning.recorded", "tool_call.recorded", "tool_result.recorded"),
        *("tool_result.rejected", "signal.received", "server_tool_call.recorded"),
        *("server_tool_result.recorded", "compaction.recorded", "opaque.recorded"),
        *("history.compacted", "item.recorded"),
    }
)
"""The events that say something to a model."""


@dataclass(frozen=True, slots=True)
class AbsentEvents:
    """Events that are not in the request for the same reason, from the first to the last of them.

    `rule` is that of the report that left them out; empty where it is none of the report's. `texts` has the version of each, what it is and what it says; of many, the last ones alone.
    `redactions` has the versions at which events were redacted later, by the versions of the events.
    """

    first: int
    last: int
    is_own: bool
    count: int
    why: str
    rule: str
    texts: tuple[tuple[int, str, str], ...]
    redactions: Mapping[int, int]


def reason_of(event: RecordedEvent, content: RequestContent) -> str:
    """Return why a request has no part of an event, in words."""
    return _ERASED if event.body is None else REASONS[content.reason(event)]


def absent_events(
    recorded: Mapping[Place, RecordedEvent],
    present: Container[Place],
    content: RequestContent,
    redactions: Mapping[Place, int],
) -> Iterator[AbsentEvents]:
    """Yield the recorded events that a request has no part of, by their reasons."""
    notes = content.notes(recorded)
    groups: dict[tuple[UUID, str, str], list[RecordedEvent]] = {}
    for place, event in recorded.items():
        if event.type in _SAYING and place not in present:
            reason = _reason(event, content, notes.get(place, ()))
            groups.setdefault((event.conversation_id, *reason), []).append(event)
    for (conversation, why, rule), events in groups.items():
        yield AbsentEvents(
            first=events[0].version,
            last=events[-1].version,
            is_own=conversation == content.conversation,
            count=len(events),
            why=why,
            rule=rule,
            texts=tuple((event.version, *line_of(event)) for event in events[-_MOST_LINES:]),
            redactions={at: by for (owner, at), by in redactions.items() if owner == conversation},
        )


def _reason(
    event: RecordedEvent, content: RequestContent, notes: tuple[Note, ...]
) -> tuple[str, str]:
    """Return why an event is absent, and the rule where the report has one that says more."""
    if event.body is None:
        return _ERASED, ""
    if any(note.rule == "linked" for note in notes):
        return _LINKED, "linked"
    reason = content.reason(event)
    left_out = [note for note in notes if note.deed == "left out"]
    if reason == "left out" and left_out:
        return f"{left_out[0].why[:1].upper()}{left_out[0].why[1:]}.", left_out[0].rule
    return REASONS[reason], ""


def line_of(event: RecordedEvent) -> tuple[str, str]:
    """Return what an event is, and what it says in a line."""
    rows = list(Timeline(side_lines=True).rows(event))
    text = " ".join("; ".join(row.text for row in rows).split())
    shown = text if len(text) <= _LONGEST_LINE else f"{text[:_LONGEST_LINE]}…"
    return (rows[0].kind if rows else event.type), shown
