"""Events as `/v1/log` gives them, and where conversations stand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from onrecord.adapters.storage.http.forms import Form, text_bytes, text_of
from onrecord.domain.head import Head
from onrecord.domain.log import CatalogueEntry, Cursor, NewSince, RecordedEvent, Told


class RecordedEventForm(Form):
    """An event as the log has it; `salt` and `body` are null once erased."""

    shard: int
    position: int
    conversation_id: UUID
    version: int
    exchange: int
    event_id: UUID
    type: str
    schema_version: int
    recorded_at: int
    header: bytes
    digest: bytes
    leaf: bytes
    salt: bytes | None
    body: bytes | None


class EventsForm(Form):
    """Events in order; `is_all` is false where others follow that one answer had no room for."""

    events: list[RecordedEventForm]
    is_all: bool = True


class TailForm(EventsForm):
    """Events of a shard; whoever asks on does so after `position`, which the answer went up to."""

    incarnation: UUID
    position: int


class ToldForm(Form):
    """What a fold takes of an event."""

    version: int
    event_id: bytes
    type: str
    schema_version: int
    recorded_at: int
    body: bytes | None


class TellForm(Form):
    """What a fold takes of events; `is_all` as of `EventsForm`."""

    events: list[ToldForm]
    is_all: bool


class OpenCallForm(Form):
    """A call that awaits its result, and the version of its event; the id is a text in bytes."""

    call_id: bytes
    version: int


class HeadForm(Form):
    """Where a conversation stands."""

    version: int
    exchange: int
    open_calls: list[OpenCallForm]
    instructions: int
    tools: int
    request: int
    adopted: int
    amended: int
    closed: bool
    input_tokens: int
    output_tokens: int


class NewSinceForm(Form):
    """Where a conversation stands and what came after a version."""

    incarnation: UUID
    erasures: int
    head: HeadForm
    events: list[RecordedEventForm]
    is_all: bool


class CatalogueForm(Form):
    """A line of the catalogue."""

    conversation_id: UUID
    head: HeadForm
    started_at: int
    recorded_at: int


class CursorForm(Form):
    """A place in one shard of one incarnation of a log."""

    incarnation: UUID
    shard: int
    position: int


class CursorsForm(Form):
    """The end of each shard."""

    cursors: list[CursorForm]


def event_form(event: RecordedEvent) -> RecordedEventForm:
    """Return the form of an event."""
    return RecordedEventForm.model_construct(**event._asdict())


def event_of(form: RecordedEventForm) -> RecordedEvent:
    """Return the event that a form holds."""
    return RecordedEvent(**vars(form))


def events_of(forms: Iterable[RecordedEventForm]) -> list[RecordedEvent]:
    """Return the events that forms hold."""
    return [event_of(form) for form in forms]


def told_form(told: Told) -> ToldForm:
    """Return the form of what a fold takes."""
    members = told._asdict()
    del members["conversation_id"]
    return ToldForm.model_construct(**members)


def told_of(conversation_id: UUID, form: ToldForm) -> Told:
    """Return what a fold takes of an event of a conversation."""
    return Told(conversation_id, **vars(form))


def head_form(head: Head) -> HeadForm:
    """Return the form of a head."""
    members = {name: getattr(head, name) for name in Head.__slots__}
    members["open_calls"] = [
        OpenCallForm.model_construct(call_id=text_bytes(call), version=version)
        for call, version in head.open_calls.items()
    ]
    return HeadForm.model_construct(**members)


def head_of(form: HeadForm) -> Head:
    """Return the head that a form holds; ValueError where a text in it is none."""
    calls = {text_of(call.call_id): call.version for call in form.open_calls}
    members: dict[str, Any] = {**vars(form), "open_calls": calls}
    return Head(**members)


def new_since_of(form: NewSinceForm) -> NewSince:
    """Return what a form holds."""
    return NewSince(form.incarnation, form.erasures, head_of(form.head), events_of(form.events))


def catalogue_of(form: CatalogueForm) -> CatalogueEntry:
    """Return the line that a form holds."""
    return CatalogueEntry(
        form.conversation_id, head_of(form.head), form.started_at, form.recorded_at
    )


def cursor_of(form: CursorForm) -> Cursor:
    """Return the cursor that a form holds."""
    return Cursor(form.incarnation, form.shard, form.position)
