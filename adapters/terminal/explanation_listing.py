"""Why an event is there, as a terminal shows it: the event, its request, and what was new to that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from onrecord.adapters.terminal import output
from onrecord.adapters.terminal.tables import Column, Kind, show_rows
from onrecord.domain.events import RequestSent

if TYPE_CHECKING:
    from onrecord.domain.jsontext import JsonObject
    from onrecord.projections.history.causes import (
        Actor,
        AttributedEvent,
        ExplainedRequest,
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


def explanation_document(explanation: Explanation) -> JsonObject:
    """Return why an event is there as JSON says it."""
    call = explanation.call
    return {
        "kind": explanation.kind,
        **_event_json(explanation),
        "call": None if call is None else _event_json(call),
        "requests": [_request(request) for request in explanation.requests],
        "exact": explanation.is_exact,
        "note": explanation.note or None,
    }


def _request(request: ExplainedRequest) -> JsonObject:
    event = request.event.event()
    sent = event if isinstance(event, RequestSent) else None
    return {
        **_event_json(request),
        "api": sent and sent.api,
        "model": sent and sent.model,
        "exact": request.is_exact,
        "note": request.note or None,
        "causes": [{"kind": cause.kind, **_event_json(cause)} for cause in request.causes],
    }


def _event_json(attributed: AttributedEvent) -> JsonObject:
    return {
        "conversation": str(attributed.event.conversation_id),
        "version": attributed.version,
        "type": attributed.event.type,
        "actor": attributed.actor and attributed.actor.digest,
        "actor_name": attributed.actor and attributed.actor.name,
        "on_behalf_of": attributed.on_behalf_of and attributed.on_behalf_of.digest,
        "on_behalf_of_name": attributed.on_behalf_of and attributed.on_behalf_of.name,
        "text": attributed.text,
    }
