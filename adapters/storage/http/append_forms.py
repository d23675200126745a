"""Appends as `/v1/log` takes them, and the verdicts that it gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, cast
from uuid import UUID

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
from onrecord.domain.content import Blob
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
    size: Count


class EffectForm(Given):
    """What an event does to the head of its conversation; call ids are texts in bytes."""

    prompts: bool = False
    opens_call: bytes | None = None
    closes_call: bytes | None = None
    gives_up: bool = False
    points: Pointer | None = None
    closes: bool = False
    input_tokens: Count = 0
    output_tokens: Count = 0


class NewEventForm(Given):
    """An event that the log does not have yet; `once` is a text in bytes."""

    event_id: UUID
    type: TypeName
    schema_version: SchemaVersion
    header: bytes
    salt: bytes
    body: bytes
    effect: EffectForm = EffectForm()
    once: bytes | None = None
    blobs: tuple[BlobForm, ...] = ()
    needs: Need | None = None


class AppendForm(Given):
    """Events for one conversation: all of them, or none."""

    tenant: UUID
    conversation_id: UUID
    events: list[NewEventForm]
    expected_version: VersionOrBefore | None = None


class AppendsForm(Given):
    """Requests to append, each with a verdict of its own."""

    appends: list[AppendForm]


class VerdictForm(Form):
    """What became of a request; which members there are depends on the verdict."""

    verdict: Literal[
        "recorded", "duplicate", "conflict", "mismatch", "forgotten", "blob-missing", "refused"
    ]
    first: int | None = None
    last: int | None = None
    position: int | None = None
    current: int | None = None
    ordinal: int | None = None


class VerdictsForm(Form):
    """A verdict for each request, in order."""

    incarnation: UUID
    verdicts: list[VerdictForm]


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
            BlobForm.model_construct(sha256=blob.sha256, size=blob.size) for blob in event.blobs
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


def _given(*members: int | None) -> Sequence[int]:
    if None in members:
        raise ValueError("a member of a verdict is missing")
    return cast("Sequence[int]", members)
