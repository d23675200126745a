"""Events as `/v1/log` gives them, and where conversations stand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from pydantic import model_validator

from onrecord.adapters.storage.http.forms import Form, text_bytes, text_of
from onrecord.domain.head import Head
from onrecord.domain.log import CatalogueEntry, Cursor, NewSince, RecordedEvent, Told


class RecordedEventForm(Form):
    """An event as the log has it; `salt` and `body` are null once erased."""

    shard: int
    """The shard that it is in."""
    position: int
    """Its place in the shard, from 1."""
    conversation_id: UUID
    """The id of the conversation."""
    version: int
    """Its place in the conversation."""
    exchange: int
    """The number of its exchange; 0 before the first prompt."""
    event_id: UUID
    """The id of the event."""
    type: str
    """What happened, by its stored name."""
    schema_version: int
    """The version of the form of its body."""
    recorded_at: int
    """When it was recorded, in microseconds since 1970-01-01 UTC."""
    header: bytes
    """The header of the client, in its canonical bytes."""
    digest: bytes
    """The digest of its salted body."""
    leaf: bytes
    """Its leaf in the Merkle tree of the shard."""
    salt: bytes | None
    """The salt of its digest; null once erased."""
    body: bytes | None
    """The body; null once erased."""


class EventsForm(Form):
    """Events in order; `is_all` is false where others follow that one answer had no room for."""

    events: list[RecordedEventForm]
    """The events."""
    is_all: bool = True
    """Whether no others follow that the answer had no room for."""


class TailForm(EventsForm):
    """Events of a shard; whoever asks on does so after `position`, which the answer went up to."""

    incarnation: UUID
    """The incarnation of the log."""
    position: int
    """How far the answer went in the shard."""


class ToldForm(Form):
    """What a fold takes of an event."""

    version: int
    """Its place in the conversation."""
    event_id: bytes
    """The id of the event, in bytes."""
    type: str
    """What happened, by its stored name."""
    schema_version: int
    """The version of the form of its body."""
    recorded_at: int
    """When it was recorded, in microseconds since 1970-01-01 UTC."""
    body: bytes | None
    """The body; null once erased."""


class TellForm(Form):
    """What a fold takes of events; `is_all` as of `EventsForm`."""

    events: list[ToldForm]
    """The events, in order."""
    is_all: bool
    """Whether no others follow that the answer had no room for."""

    @model_validator(mode="after")
    def _must_go_on(self) -> TellForm:
        if not (self.events or self.is_all):
            raise ValueError("others follow nothing")
        return self


class OpenCallForm(Form):
    """A call that awaits its result, and the version of its event; the id is a text in bytes."""

    call_id: bytes
    """The id of the call."""
    version: int
    """The version of the event that made it."""

    @model_validator(mode="after")
    def _must_be_a_text(self) -> OpenCallForm:
        text_of(self.call_id)
        return self


class HeadForm(Form):
    """Where a conversation stands."""

    version: int
    """The version of its last event."""
    exchange: int
    """The number of its last exchange."""
    open_calls: list[OpenCallForm]
    """The calls that await their results."""
    instructions: int
    """The version of the instructions in force; 0 where there are none."""
    tools: int
    """The version of the tools in force; 0 where there are none."""
    request: int
    """The version of the last request; 0 where there is none."""
    adopted: int
    """The version of the last event that made a side branch history; 0 where there is none."""
    amended: int
    """The version of its last redaction or compaction; 0 where there is none."""
    closed: bool
    """Whether it has ended."""
    input_tokens: int
    """The tokens that models read in it, in all."""
    output_tokens: int
    """The tokens that models wrote in it, in all."""


class NewSinceForm(Form):
    """Where a conversation stands and what came after a version."""

    incarnation: UUID
    """The incarnation of the log."""
    erasures: int
    """How often something was erased in the log."""
    head: HeadForm
    """Where the conversation stands."""
    events: list[RecordedEventForm]
    """What came, in order."""
    is_all: bool
    """Whether no others follow that the answer had no room for."""


class CatalogueForm(Form):
    """A line of the catalogue."""

    conversation_id: UUID
    """The id of the conversation."""
    head: HeadForm
    """Where it stands."""
    started_at: int
    """When it began, in microseconds since 1970-01-01 UTC."""
    recorded_at: int
    """When it last moved, in microseconds since 1970-01-01 UTC."""


class CursorForm(Form):
    """A place in one shard of one incarnation of a log."""

    incarnation: UUID
    """The incarnation of the log."""
    shard: int
    """The number of the shard."""
    position: int
    """The position in the shard."""


class CursorsForm(Form):
    """The end of each shard; a log has one at least."""

    cursors: list[CursorForm]
    """The ends, shard by shard."""

    @model_validator(mode="after")
    def _must_have_a_shard(self) -> CursorsForm:
        if not self.cursors:
            raise ValueError("no log is without a shard")
        return self


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
