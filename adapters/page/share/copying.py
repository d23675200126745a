"""Text to copy: a stretch of a conversation, or as much of the whole as one answer holds.

What was redacted is left out, as in the file to share.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from pydantic import Field
from starlette.responses import Response

from onrecord.adapters.asynchronous.store import store_of
from onrecord.adapters.page.answers import HEADERS
from onrecord.adapters.page.conversation.conversation import named_by, rows_between
from onrecord.adapters.page.conversation.transcript import transcript
from onrecord.adapters.page.routes import paged
from onrecord.adapters.page.share.redactions import natures_between, redactions_of
from onrecord.adapters.page.share.withheld import withheld, withheld_bodies, without_withheld
from onrecord.adapters.presentation.control_characters import escaped_in_json
from onrecord.adapters.presentation.conversations import NamedConversation
from onrecord.adapters.service.events import EventDocument, event_documents
from onrecord.adapters.service.model import Empty, Model, json_bytes
from onrecord.adapters.service.parameters import Version
from onrecord.adapters.service.route import Call, Route
from onrecord.adapters.store import Store, backend_of
from onrecord.domain import jsontext
from onrecord.domain.errors import counted
from onrecord.domain.log import Backend

_MOST_EVENTS: Final = 5_000
_MOST_BYTES: Final = 4 << 20
"""So many bytes of events are read for one text; the last of them may be longer."""


class CopyQuery(Model):
    """What is copied, and as what."""

    form: Annotated[Literal["markdown", "json"], Field(alias="as")] = "markdown"
    """Markdown, or a line of JSON for each event."""

    after: Annotated[int, Field(ge=0, le=2**63 - 1)] = 0
    """The version that it comes after."""

    until: Version | None = None
    """The last version, if not all."""


@dataclass(frozen=True, slots=True)
class Part:
    """The events with after < version <= last, of those that are asked for until a version."""

    after: int
    last: int
    until: int


async def copied(call: Call[CopyQuery, Empty]) -> Response:
    """Return a stretch of a conversation as plain text; it says where it ends too early."""
    store, key = store_of(call.store), call.path["key"]
    text = await call.steps.run_long(partial(_text, store, key, call.query))
    return Response(text.encode(errors="replace"), 200, HEADERS, media_type="text/plain")


def _text(store: Store, name: str, asked: CopyQuery) -> str:
    which, backend = named_by(store, name), backend_of(store)
    head = which.head.version
    until = head if asked.until is None else min(asked.until, head)
    last = last_within(backend, which.conversation_id, min(asked.after, until), until)
    after = min(asked.after, last)
    events = rows_between(store, which, after, last).events
    natures = natures_between(backend, which.conversation_id, after, last)
    redactions = redactions_of(backend, which)
    reasons = withheld(events, natures, redactions)
    if asked.form == "json":
        rows = {each.version for each in events} if redactions.versions else None
        return _lines(store, which, Part(after, last, until), reasons, rows)
    text = "".join(transcript(str(which), without_withheld(events, reasons)))
    return text if last == until else f"{text}\n{_ends_early(last, until)}\n"


def _lines(
    store: Store,
    which: NamedConversation,
    part: Part,
    reasons: Mapping[int, str],
    rows: Container[int] | None,
) -> str:
    """Return events as lines of JSON, as `onrecord show --json` writes them.

    `rows` are the versions that have a row on the page, where something was redacted.
    """
    read = backend_of(store).read(which.conversation_id, after=part.after, until=part.last)
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


ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    paged("/c/{key}/copy", "pageCopy", "Copy a conversation as text.", copied, CopyQuery),
)
