"""What changed between two requests: drawn as a table, plain between tabs, or as one JSON document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from onrecord.adapters.terminal import output
from onrecord.adapters.terminal.tables import Cell, Column, Kind, show_rows
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.history.timeline import Timeline

if TYPE_CHECKING:
    from onrecord.projections.history.history import Note
    from onrecord.projections.matching.request_diff import EventChange, RequestDiff

_COLUMNS: Final = (
    Column("change"),
    Column("version", Kind.COUNT),
    Column("what"),
    Column("why", Kind.NAME),
    Column("text", Kind.TEXT),
)


def show(diff: RequestDiff, *, as_json: bool) -> None:
    """Write what changed."""
    if as_json:
        output.json_line(_document(diff))
        return
    show_rows(_COLUMNS, [*_settings(diff), *map(_row, diff.events)])
    if diff.is_empty:
        output.note("nothing changed")


def _settings(diff: RequestDiff) -> Iterator[tuple[Cell, ...]]:
    if diff.instructions is not None:
        yield "removed", None, "instructions", None, diff.instructions.before or "none"
        yield "added", None, "instructions", None, diff.instructions.after or "none"
    if diff.tools is not None:
        tools = (
            ("added", diff.tools.added),
            ("removed", diff.tools.removed),
            ("changed", diff.tools.changed),
        )
        for change, names in tools:
            yield from ((change, None, "tool", None, name) for name in names)


def _row(change: EventChange) -> tuple[Cell, ...]:
    event = change.event
    rows = list(Timeline(side_lines=True).rows(event))
    text = "; ".join(row.text for row in rows)
    return change.change, event.version, event.type, change.reason or _other_form(change), text


def _other_form(change: EventChange) -> str:
    before = _said(note for note in change.before if note not in change.after)
    after = _said(note for note in change.after if note not in change.before)
    return f"before: {before}; after: {after}"


def _said(notes: Iterable[Note]) -> str:
    """Return what a report says of an event that the other does not say."""
    return ", ".join(f"{note.deed}, {note.why} [{note.rule}]" for note in notes) or "nothing else"


def _document(diff: RequestDiff) -> JsonObject:
    instructions, tools = diff.instructions, diff.tools
    return {
        "api": diff.api,
        "a": diff.a,
        "b": diff.b,
        "events": [_event(change) for change in diff.events],
        "instructions": None
        if instructions is None
        else {"before": instructions.before, "after": instructions.after},
        "tools": None
        if tools is None
        else {
            "added": list(tools.added),
            "removed": list(tools.removed),
            "changed": list(tools.changed),
        },
    }


def _event(change: EventChange) -> JsonObject:
    return {
        "change": change.change,
        "conversation": str(change.event.conversation_id),
        "version": change.event.version,
        "type": change.event.type,
        "reason": change.reason,
        "before": [note._asdict() for note in change.before],
        "after": [note._asdict() for note in change.after],
    }
