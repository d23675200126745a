"""Appends as `/v1/log` takes them, and the verdicts that it gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, cast
from uuid import UUID

from pydantic import model_validator

from onrecord.adapters.storage.http.forms import (
    Count,
    Form,
    Given,
    SchemaVersion,
    TypeName,
    VersionOrBefore,
    text_bytes,
    text_of,
)
from onrecord.domain.admission import Need, Refused
from onrecord.domain.blobs import digest_of
from onrecord.domain.content import Blob
from onrecord.domain.erasure.destroyed import KeyDestroyed
from onrecord.domain.head import Effect, Pointer
from onrecord.domain.log import (
    Append,
    BlobMissing,
    Conflict,
    Duplicate,
    Forgotten,
    Mismatch,
    NewEvent,
    Recorded,
    Verdict,
)


class BlobForm(Given):
    """A reference to bytes that are stored in the conversation."""

    sha256: str
    """The SHA-256 of the bytes, in hex digits."""
    size: Count
    """How many bytes there are."""


class EffectForm(Given):
    """What an event does to the head of its conversation; call ids are texts in bytes."""

    prompts: bool = False
    """Whether an exchange begins with it."""
    opens_call: bytes | None = None
    """The id of the call that it makes."""
    closes_call: bytes | None = None
    """The id of the call that it gives a result to."""
    gives_up: bool = False
    """Whether all open calls are given up."""
    points: Pointer | None = None
    """What the head points at it as."""
    closes: bool = False
    """Whether the conversation ends."""
    input_tokens: Count = 0
    """The tokens that a model read."""
    output_tokens: Count = 0
    """The tokens that a model wrote."""


class NewEventForm(Given):
    """An event that the log does not have yet; `once` is a text in bytes."""

    event_id: UUID
    """The id of the event, which stands for it for good."""
    type: TypeName
    """What happened, by its stored name."""
    schema_version: SchemaVersion
    """The version of the form of its body."""
    header: bytes
    """The header of the client, in its canonical bytes."""
    salt: bytes
    """The salt of its digest."""
    body: bytes
    """The body."""
    effect: EffectForm = EffectForm()
    """What it does to the head."""
    once: bytes | None = None
    """What may be recorded once alone in the conversation."""
    blobs: tuple[BlobForm, ...] = ()
    """The documents that it refers to."""
    needs: Need | None = None
    """What the conversation must be for it to be recorded."""


class AppendForm(Given):
    """Events for one conversation: all of them, or none."""

    tenant: UUID
    """The tenant whose conversation it is."""
    conversation_id: UUID
    """The id of the conversation."""
    events: list[NewEventForm]
    """The events, in order."""
    expected_version: VersionOrBefore | None = None
    """The version that the conversation must be at; null where any will do."""


class AppendsForm(Given):
    """Requests to append, each with a verdict of its own."""

    appends: list[AppendForm]
    """The requests."""


class VerdictForm(Form):
    """What became of a request; which members there are depends on the verdict."""

    verdict: Literal[
        "recorded",
        "duplicate",
        "conflict",
        "mismatch",
        "forgotten",
        "blob-missing",
        "refused",
        "key-destroyed",
    ]
    """What became of it."""
    first: int | None = None
    """The version of its first event."""
    last: int | None = None
    """The version of its last event."""
    position: int | None = None
    """The place of its last event in the shard."""
    current: int | None = None
    """The version that the conversation is at."""
    ordinal: int | None = None
    """Which of its events it is about, from 0."""

    @model_validator(mode="after")
    def _must_be_a_verdict(self) -> VerdictForm:
        verdict_of(self)
        return self


class VerdictsForm(Form):
    """A verdict for each request, in order."""

    incarnation: UUID
    """The incarnation of the log."""
    verdicts: list[VerdictForm]
    """The verdicts."""


def append_form(append: Append) -> AppendForm:
    """Return the form of a request."""
    return AppendForm.model_construct(
        tenant=append.tenant,
        conversation_id=append.conversation_id,
        events=[_new_event_form(event) for event in append.events],
        expected_version=append.expected_version,
    )


def append_of(form: AppendForm) -> Append:
    """Return the request that a form holds; ValueError where a text in it is none."""
    events = tuple(_new_event(event) for event in form.events)
    return Append(form.tenant, form.conversation_id, events, form.expected_version)


def _new_event_form(event: NewEvent) -> NewEventForm:
    effect = event.effect._asdict()
    for name in ("opens_call", "closes_call"):
        effect[name] = _bytes_if_given(effect[name])
    return NewEventForm.model_construct(
        event_id=event.event_id,
        type=event.type,
        schema_version=event.schema_version,
        header=event.header,
        salt=event.salt,
        body=event.body,
        effect=EffectForm.model_construct(**effect),
        once=_bytes_if_given(event.once),
        blobs=tuple(
            BlobForm.model_construct(sha256=digest_of(blob).hex(), size=blob.size)
            for blob in event.blobs
        ),
        needs=event.needs,
    )


def _new_event(form: NewEventForm) -> NewEvent:
    effect = form.effect
    return NewEvent(
        form.event_id,
        form.type,
        form.schema_version,
        form.header,
        form.salt,
        form.body,
        Effect(
            effect.prompts,
            _text_if_given(effect.opens_call),
            _text_if_given(effect.closes_call),
            effect.gives_up,
            effect.points,
            effect.closes,
            effect.input_tokens,
            effect.output_tokens,
        ),
        _text_if_given(form.once),
        tuple(Blob(sha256=blob.sha256, size=blob.size) for blob in form.blobs),
        form.needs,
    )


def _bytes_if_given(text: str | None) -> bytes | None:
    return None if text is None else text_bytes(text)


def _text_if_given(data: bytes | None) -> str | None:
    return None if data is None else text_of(data)


def verdict_form(verdict: Verdict) -> VerdictForm:
    """Return the form of a verdict."""
    match verdict:
        case Recorded(first, last, position):
            return VerdictForm(verdict="recorded", first=first, last=last, position=position)
        case Duplicate(first, last):
            return VerdictForm(verdict="duplicate", first=first, last=last)
        case Conflict(current):
            return VerdictForm(verdict="conflict", current=current)
        case Mismatch(ordinal):
            return VerdictForm(verdict="mismatch", ordinal=ordinal)
        case Forgotten():
            return VerdictForm(verdict="forgotten")
        case BlobMissing(ordinal):
            return VerdictForm(verdict="blob-missing", ordinal=ordinal)
        case Refused(ordinal):
            return VerdictForm(verdict="refused", ordinal=ordinal)
        case KeyDestroyed(ordinal):
            return VerdictForm(verdict="key-destroyed", ordinal=ordinal)


def verdict_of(form: VerdictForm) -> Verdict:
    """Return the verdict that a form holds; ValueError where a member of it is missing."""
    match form.verdict:
        case "recorded":
            first, last, position = _given(form.first, form.last, form.position)
            return Recorded(first, last, position)
        case "duplicate":
            return Duplicate(*_given(form.first, form.last))
        case "conflict":
            return Conflict(*_given(form.current))
        case "mismatch":
            return Mismatch(*_given(form.ordinal))
        case "forgotten":
            return Forgotten()
        case "blob-missing":
            return BlobMissing(*_given(form.ordinal))
        case "refused":
            return Refused(*_given(form.ordinal))
        case "key-destroyed":
            return KeyDestroyed(*_given(form.ordinal))


def _given(*members: int | None) -> Sequence[int]:
    if None in members:
        raise ValueError("a member of a verdict is missing")
    return cast("Sequence[int]", members)
