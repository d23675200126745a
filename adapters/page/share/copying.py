"""Text to copy: a stretch of a conversation, or as much of the whole as one answer holds.

What was redacted is left out, as in the file to share.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final, Literal, TypeAlias
from uuid import UUID

from onrecord.adapters.page.conversation.conversation import events_between
from onrecord.adapters.page.conversation.transcript import transcript
from onrecord.adapters.page.share.redactions import natures_between, redactions_of
from onrecord.adapters.page.share.withheld import withheld, withheld_bodies, without_withheld
from onrecord.adapters.presentation.control_characters import escaped_in_json
from onrecord.adapters.presentation.conversations import NamedConversation
from onrecord.adapters.service.events import EventDocument, event_documents
from onrecord.adapters.service.model import json_bytes
from onrecord.adapters.store import Store, backend_of
from onrecord.domain import jsontext
from onrecord.domain.errors import InvalidInput, counted
from onrecord.domain.log import Backend

_MOST_EVENTS: Final = 5_000
_MOST_BYTES: Final = 4 << 20
"""So many bytes of events are read for one text; the last of them may be longer."""


CopyForm: TypeAlias = Literal["markdown", "json"]
"""Markdown, or a line of JSON for each event."""


@dataclass(frozen=True, slots=True)
class Part:
    """The events with after < version <= last, of those that are asked for until a version."""

    after: int
    last: int
    until: int


def part_between(
    store: Store, conversation: NamedConversation, first: int, last: int | None
) -> Part:
    """Return the events from a version to another, without one to the end; InvalidInput for none."""
    part = part_after(store, conversation, first - 1, last)
    if part.until < first:
        end = f": the conversation is at {part.until}" if last is None else f" to {last}"
        raise InvalidInput(f"there is no event from version {first}{end}")
    return part


def part_after(
    store: Store, conversation: NamedConversation, after: int, until: int | None
) -> Part:
    """Return the events after a version until another, without one to the end: as many as one text holds."""
    head = conversation.head.version
    until = head if until is None else min(until, head)
    after = min(after, until)
    last = last_within(backend_of(store), conversation.conversation_id, after, until)
    return Part(after, last, until)


def text_of(store: Store, conversation: NamedConversation, part: Part, form: CopyForm) -> str:
    """Return a part of a conversation as text, without what was redacted; it says where it ends too early."""
    backend = backend_of(store)
    events = events_between(store, conversation, part.after, part.last)
    natures = natures_between(backend, conversation.conversation_id, part.after, part.last)
    redactions = redactions_of(backend, conversation)
    reasons = withheld(events, natures, redactions)
    if form == "json":
        rows = {each.version for each in events} if redactions.versions else None
        return _lines(store, conversation, part, reasons, rows)
    text = "".join(transcript(str(conversation), without_withheld(events, reasons)))
    return text if part.last == part.until else f"{text}\n{_ends_early(part.last, part.until)}\n"


def _lines(
    store: Store,
    conversation: NamedConversation,
    part: Part,
    reasons: Mapping[int, str],
    rows: Container[int] | None,
) -> str:
    """Return events as lines of JSON, as `onrecord show --json` writes them.

    `rows` are the versions that have a row on the page, where something was redacted.
    """
    read = backend_of(store).read(conversation.conversation_id, after=part.after, until=part.last)
    is_empty = part.after >= part.last
    documents = [] if is_empty else event_documents(backend_of(store), store.tenant, read)
    if rows is not None:
        types = {each.version: each.type for each in documents}
        reasons = {**withheld_bodies(types, rows), **reasons}
    lines = [_line(each, reasons.get(each.version)) for each in documents]
    if part.last < part.until:
        early = _ends_early(part.last, part.until)
        lines.append(jsontext.write({"incomplete": early}).decode())
    return "".join(f"{line}\n" for line in lines)


def _line(event: EventDocument, reason: str | None) -> str:
    """Return an event as a line of JSON; `hidden` says why its body is not in it."""
    if reason is None:
        return escaped_in_json(json_bytes(event).decode())
    bare = event.model_dump(mode="json") | {"body": None, "tool": None, "hidden": reason}
    return escaped_in_json(jsontext.write(bare).decode())


def last_within(backend: Backend, conversation_id: UUID, after: int, until: int) -> int:
    """Return the last version of a stretch that one text holds."""
    if after >= until:
        return until
    size, last = 0, after
    for event in islice(backend.read(conversation_id, after=after, until=until), _MOST_EVENTS):
        size, last = size + len(event.body or b""), event.version
        if size >= _MOST_BYTES:
            break
    return last


def _ends_early(last: int, until: int) -> str:
    left = counted(until - last, "event")
    return f"It ends at version {last}, {left} before the end: `onrecord show` has all."
