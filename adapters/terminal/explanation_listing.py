"""Why an event is there, as a terminal shows it: the event, its request, and what was new to that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from onrecord.adapters.presentation.request_documents import explanation_document
from onrecord.adapters.terminal import output
from onrecord.adapters.terminal.tables import Column, Kind, show_rows

if TYPE_CHECKING:
    from onrecord.projections.history.causes import (
        Actor,
        Explanation,
    )

T = TypeVar("T")

_COLUMNS: Final = (
    Column("what"),
    Column("version", Kind.COUNT),
    Column("actor", Kind.NAME),
    Column("for", Kind.NAME),
    Column("text", Kind.TEXT),
)
_FOR: Final = 3
"""Where the column of whom somebody acted for stands."""


def show_explanation(explanation: Explanation, *, as_json: bool) -> None:
    """Show why an event is there; what the record does not know goes to standard error."""
    if as_json:
        output.json_line(explanation_document(explanation))
        return
    rows = [
        (what, event.version, _text(event.actor), _text(event.on_behalf_of), event.text)
        for what, event in explanation.lines()
    ]
    if not output.is_drawn() or any(row[_FOR] is not None for row in rows):
        show_rows(_COLUMNS, rows)
    else:
        show_rows(_without(_COLUMNS), [_without(row) for row in rows])
    for note in explanation.notes():
        output.note(f"onrecord: {note}")


def _without(columns: tuple[T, ...]) -> tuple[T, ...]:
    """Return columns, or a row, without whom somebody acted for: nobody did for another."""
    return columns[:_FOR] + columns[_FOR + 1 :]


def _text(actor: Actor | None) -> str | None:
    return None if actor is None else str(actor)
