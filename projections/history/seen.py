"""What a request had seen: the events of a main branch in the order in which the model knew them.

A request may go out when more has been recorded than its messages reflect (`RequestSent.seen`).
What the caller said in between, results among it, the model learns after the response.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from onrecord.domain import events
from onrecord.domain.encoding import Erased, Unrecognised
from onrecord.domain.events import Event, RequestSent
from onrecord.domain.log import Told
from onrecord.projections.history.report import Note
from onrecord.projections.history.responses import Item, event_of

# Members of a body have a fixed order (docs/format.md): a request on the main branch that saw less
# begins so.
SAW_LESS: Final = b'{"seen":'


def seen_by(item: Item) -> int | None:
    """Return the last version that a request of the main branch saw, if others came after it."""
    if isinstance(item, Told):
        body = item.body or b""
        is_request = item.type == "request.sent" and body.startswith(SAW_LESS)
        return int(body[len(SAW_LESS) : body.index(b",")]) if is_request else None
    event = item[1]
    return event.seen if isinstance(event, RequestSent) and event.line is None else None


def as_seen(items: Sequence[Item]) -> tuple[list[Item], tuple[Note, ...]]:
    """Return events in the order in which requests saw them, and notes on those left out.

    What was said before a request that had not seen it comes right after it: it was said while the
    request was out. What a response said then was superseded unseen, and is left out.
    """
    ordered: list[Item] = []
    notes: list[Note] = []
    for item in items:
        seen = seen_by(item)
        unseen = (
            []
            if seen is None
            else [unseen_item for unseen_item in ordered if _is_after(unseen_item, seen, item)]
        )
        if len(unseen) == len(ordered):
            # A window may begin amid what a request had not seen: then nothing is before it.
            unseen = []
        late = [unseen_item for unseen_item in unseen if _is_said(event_of(unseen_item))]
        answered = [unseen_item for unseen_item in unseen if _is_answered(event_of(unseen_item))]
        away = {id(unseen_item) for unseen_item in (*late, *answered)}
        ordered = (
            [unseen_item for unseen_item in ordered if id(unseen_item) not in away]
            if away
            else ordered
        )
        ordered += [item, *late]
        notes += [_note(unseen_item) for unseen_item in answered]
    return ordered, tuple(notes)


def says_something(event: Event) -> bool:
    """Return whether an event is part of what the model knows: said to it, or by it."""
    return _is_said(event) or _is_answered(event)


def _is_after(item: Item, seen: int, request: Item) -> bool:
    (conversation, version), (own, _) = _place(item), _place(request)
    return conversation == own and version > seen


def _place(item: Item) -> tuple[UUID | None, int]:
    return (item.conversation_id, item.version) if isinstance(item, Told) else (None, item[0])


def _is_said(event: Event | Unrecognised | Erased) -> bool:
    """Whether the caller says something to the model: a prompt, a note, a result, a document."""
    match event:
        case events.MessageRecorded():
            return event.line is None and event.role != "assistant"
        case (
            events.ToolResultRecorded()
            | events.SignalReceived()
            | events.DocumentExtracted(api=None)
        ):
            return event.line is None
        case _:
            return False


def _is_answered(event: Event | Unrecognised | Erased) -> bool:
    match event:
        case (
            events.MessageRecorded()
            | events.ReasoningRecorded()
            | events.ToolCallRecorded()
            | events.ServerToolCallRecorded()
            | events.ServerToolResultRecorded()
            | events.CompactionRecorded()
            | events.OpaqueRecorded()
            | events.DocumentExtracted()
            | events.ResponseCompleted()
            | events.ResponseInterrupted()
        ):
            return event.line is None and not _is_said(event)
        case _:
            return False


def _note(item: Item) -> Note:
    why = "the request that went on had not seen it"
    return Note("left out", "unseen", _place(item)[1], why)
