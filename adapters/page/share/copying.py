"""Text to copy: a range of a conversation, or as much of it as one answer holds.

What was redacted is left out, as in the file to share.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, Literal, TypeAlias
from uuid import UUID

from onrecord.adapters.page.conversation.event_ranges import EventRange, events_in
from onrecord.adapters.page.conversation.transcript import transcript
from onrecord.adapters.page.share.redactions import natures_in, redactions_of
from onrecord.adapters.page.share.withheld import withheld, withheld_bodies, without_withheld
from onrecord.adapters.presentation.actors import ShownActors
from onrecord.adapters.presentation.control_characters import escaped_in_json
from onrecord.adapters.presentation.conversations import NamedConversation
from onrecord.adapters.presentation.event_documents import event_document
from onrecord.adapters.store import Store, backend_of
from onrecord.domain import jsontext
from onrecord.domain.errors import InvalidInput, counted
from onrecord.domain.log import Backend

_MOST_EVENTS: Final = 5_000
_MOST_BYTES: Final = 4 << 20
"""So many bytes of events are read for one text; the last of them may be longer."""


CopyFormat: TypeAlias = Literal["markdown", "json"]
"""Markdown, or a line of JSON for each event."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The events that one text or file holds, of those that are asked for until a version."""

    events: EventRange
    asked_until: int

    @property
    def missing(self) -> int:
        """Return how many of the events at the end are not in it: it would be too long."""
        return self.asked_until - self.events.until


def excerpt_between(
    store: Store, conversation: NamedConversation, first: int, last: int | None
) -> Excerpt:
    """Return the events from a version to another, without one to the end; InvalidInput for none."""
    excerpt = excerpt_after(store, conversation, first - 1, last)
    if excerpt.asked_until < first:
        end = f": the conversation is at {excerpt.asked_until}" if last is None else f" to {last}"
        raise InvalidInput(f"there is no event from version {first}{end}")
    return excerpt


def excerpt_after(
    store: Store, conversation: NamedConversation, after: int, until: int | None
) -> Excerpt:
    """Return the events after a version until another, without one to the end: as many as one text holds."""
    head = conversation.head.version
    until = head if until is None else min(until, head)
    asked = EventRange(min(after, until), until)
    return Excerpt(_beginning(backend_of(store), conversation.conversation_id, asked), until)


def copy_text(
    store: Store, conversation: NamedConversation, excerpt: Excerpt, copy_format: CopyFormat
) -> str:
    """Return an excerpt as text, without what was redacted; it says where it ends too early."""
    backend = backend_of(store)
    events = events_in(store, conversation, excerpt.events)
    natures = natures_in(backend, conversation.conversation_id, excerpt.events)
    redactions = redactions_of(backend, conversation)
    reasons = withheld(events, natures, redactions)
    if copy_format == "json":
        rows = {each.version for each in events} if redactions.versions else None
        return _lines(store, conversation, excerpt, reasons, rows)
    text = "".join(transcript(str(conversation), without_withheld(events, reasons)))
    return f"{text}\n{_ends_early(excerpt)}\n" if excerpt.missing else text


def _lines(
    store: Store,
    conversation: NamedConversation,
    excerpt: Excerpt,
    reasons: Mapping[int, str],
    rows: Container[int] | None,
) -> str:
    """Return events as lines of JSON, as `onrecord show --json` writes them.

    `rows` are the versions that have a row on the page, where something was redacted.
    """
    documents = _documents(store, conversation, excerpt.events)
    if rows is not None:
        types = {each["version"]: each["type"] for each in documents}
        reasons = {**withheld_bodies(types, rows), **reasons}
    lines = [_without_body(each, reasons.get(each["version"])) for each in documents]
    if excerpt.missing:
        lines.append({"incomplete": _ends_early(excerpt)})
    return "".join(f"{escaped_in_json(jsontext.write(line).decode())}\n" for line in lines)


def _documents(
    store: Store, conversation: NamedConversation, event_range: EventRange
) -> list[dict[str, Any]]:
    if not event_range.count:
        return []
    backend = backend_of(store)
    actors = ShownActors(backend, store.tenant)
    read = backend.read(
        conversation.conversation_id, after=event_range.after, until=event_range.until
    )
    return [event_document(event, actors) for event in read]


def _without_body(event: dict[str, Any], reason: str | None) -> dict[str, Any]:
    """Return an event without its body where there is a reason, which `hidden` then says."""
    return event if reason is None else event | {"body": None, "tool": None, "hidden": reason}


def _beginning(backend: Backend, conversation_id: UUID, asked: EventRange) -> EventRange:
    """Return as much of a range as one text holds."""
    if not asked.count:
        return asked
    size, last = 0, asked.after
    read = backend.read(conversation_id, after=asked.after, until=asked.until)
    for event in islice(read, _MOST_EVENTS):
        size, last = size + len(event.body or b""), event.version
        if size >= _MOST_BYTES:
            break
    return EventRange(asked.after, last)


def _ends_early(excerpt: Excerpt) -> str:
    left = counted(excerpt.missing, "event")
    return f"It ends at version {excerpt.events.until}, {left} before the end: `onrecord show` has all."
