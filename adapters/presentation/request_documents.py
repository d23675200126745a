"""Requests as JSON says them: what was sent, what replays prove, what changed, why an event is there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from onrecord.domain.events import RequestSent
from onrecord.domain.jsontext import JsonObject
from onrecord.projections.matching.template import Outcome, Sent

if TYPE_CHECKING:
    from onrecord.projections.history.causes import (
        AttributedEvent,
        ExplainedRequest,
        Explanation,
    )
    from onrecord.projections.matching.request_diff import EventChange, RequestDiff


def request_document(sent: Sent) -> dict[str, object]:
    """Return a request that was sent as JSON says it."""
    event = sent.event
    return {
        "version": sent.version,
        "request": str(sent.request),
        "line": None if event.line is None else str(event.line),
        "api": event.api,
        "model": event.model,
        "size": event.template.size,
        "sha256": event.template.sha256,
        "cut": list(event.template.cut),
    }


def replay_document(outcomes: Iterable[Outcome]) -> dict[str, object]:
    """Return the outcome of a replay as JSON says it."""
    listed = [
        {
            **request_document(outcome.sent),
            "whole": outcome.is_whole,
            "rendered": outcome.is_rendered,
            "remark": outcome.remark,
        }
        for outcome in outcomes
    ]
    return {
        "requests": listed,
        "whole": sum(bool(it["whole"]) for it in listed),
        "rendered": sum(it["rendered"] is True for it in listed),
        "proven": all(outcome.is_proven for outcome in outcomes),
    }


def diff_document(diff: RequestDiff) -> JsonObject:
    """Return what changed as JSON says it."""
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
