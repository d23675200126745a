"""Text to copy: a stretch of a conversation, or as much of the whole as one answer holds."""

from __future__ import annotations

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
from onrecord.adapters.service.events import event_documents
from onrecord.adapters.service.model import Empty, Model, json_bytes
from onrecord.adapters.service.parameters import Version
from onrecord.adapters.service.route import Call, Route
from onrecord.adapters.store import Store, backend_of
from onrecord.adapters.terminal.output import Named, escaped_in_json
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
    if asked.form == "json":
        return _lines(store, which, asked.after, last, until)
    stretch = rows_between(store, which, min(asked.after, last), last)
    text = "".join(transcript(str(which), stretch.events))
    return text if last == until else f"{text}\n{_ends_early(last, until)}\n"


def _lines(store: Store, which: Named, after: int, last: int, until: int) -> str:
    """Return events as lines of JSON, as `onrecord show --json` writes them."""
    read = backend_of(store).read(which.conversation_id, after=after, until=last)
    documents = event_documents(backend_of(store), store.tenant, read) if after < last else []
    lines = [escaped_in_json(json_bytes(each).decode()) for each in documents]
    if last < until:
        lines.append(jsontext.write({"incomplete": _ends_early(last, until)}).decode())
    return "".join(f"{line}\n" for line in lines)


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
