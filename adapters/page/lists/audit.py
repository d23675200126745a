"""Who did what and when: the audit, the latest first, each entry with the way to its event."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import partial
from typing import Any, Final, Literal
from urllib.parse import quote, urlencode
from uuid import UUID

from pydantic import field_validator
from starlette.responses import Response

from onrecord.adapters.asynchronous.store import store_of
from onrecord.adapters.page.answers import rendered_list
from onrecord.adapters.page.forms import none_if_blank
from onrecord.adapters.page.routes import get_route
from onrecord.adapters.presentation.audit_entries import (
    AuditCells,
    audit_cells,
    redaction_of,
)
from onrecord.adapters.presentation.audit_lookup import whole_entry
from onrecord.adapters.presentation.view_entries import conversation_name
from onrecord.adapters.service.access import Shows
from onrecord.adapters.service.model import Empty
from onrecord.adapters.service.parameters import Key
from onrecord.adapters.service.problems import Problem
from onrecord.adapters.service.route import Call, Route
from onrecord.adapters.service.view_queries import Name, PageQuery
from onrecord.adapters.storage.http.problem_types import INVALID
from onrecord.adapters.store import Store
from onrecord.adapters.views.pages import Page
from onrecord.domain.encoding import NAMES
from onrecord.domain.errors import ConversationNotFound
from onrecord.domain.operators import COMPLETED, DESTROYED, INTENDED, REFUSED, SHAPES
from onrecord.projections.views.audit import AuditEntry

TYPES: Final = (*sorted(NAMES), *sorted(SHAPES))
"""The types of events that there are: those of conversations, then those of operators."""

ERASING: Final = (INTENDED, COMPLETED, REFUSED, DESTROYED, "content.redacted")
"""The types of events that say what was taken away."""


class AuditListQuery(PageQuery):
    """Which deeds; what a form leaves empty is not asked."""

    conversation: Key | None = None
    """Those in the conversation of this key, and what operators did about it."""

    conversation_id: UUID | None = None
    """The id of the conversation, in place of its key."""

    actor: Name | None = None
    """Who did it, by name."""

    type: Name | None = None
    """What happened, such as `tool_call.recorded`."""

    about: Literal["erasures"] | None = None
    """Erasures and redactions alone."""

    since: date | None = None
    """From this day on (UTC)."""

    until: date | None = None
    """Before this day (UTC)."""

    _blanks = field_validator("*", mode="before")(none_if_blank)


@dataclass(frozen=True, slots=True)
class ShownDeed:
    """An entry of the audit as the page lists it; `path` leads to its event, None where none is shown.

    Of a redaction, `redacted` is the version that it leaves out, and `redacted_path` leads there.
    """

    cells: AuditCells
    path: str | None
    redacted: int | None = None
    redacted_path: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class ShownAudit:
    """A page of the audit."""

    page: Page[AuditEntry]
    deeds: tuple[ShownDeed, ...]


async def audit(call: Call[AuditListQuery, Empty]) -> Response:
    """Return the page that lists who did what."""
    query = call.query
    if query.conversation is not None and query.conversation_id is not None:
        raise Problem(INVALID, "name the conversation by its key or by its id, not by both")
    if query.type is not None and query.about is not None:
        raise Problem(INVALID, "name a type, or ask for erasures and redactions, not for both")
    is_known = True
    try:
        listed = await call.steps.run_long(partial(_audit, store_of(call.store), query))
    except ConversationNotFound:
        listed, is_known = ShownAudit(Page((), None, 0, 0, 0), ()), False
    filters = query.model_dump(mode="json", exclude_defaults=True, exclude={"after"})
    after = listed.page.after
    entries = listed.page.entries
    shows = Shows(len(entries), tuple(dict.fromkeys(each.conversation_id for each in entries)))
    return await rendered_list(
        call,
        "audit.html",
        shows,
        page=listed.page,
        deeds=listed.deeds,
        filters=query,
        types=TYPES,
        is_known=is_known,
        people=sorted({deed.cells.actor for deed in listed.deeds if deed.cells.actor}),
        is_filtered=bool(filters.keys() - {"limit"}),
        next=None if after is None else urlencode({**filters, "after": after}),
    )


def shown_deed(entry: AuditEntry) -> ShownDeed:
    """Return an entry as the page lists it."""
    shown = ShownDeed(audit_cells(entry, conversation_name(entry)), _path(entry))
    redaction = redaction_of(entry)
    if redaction is None:
        return shown
    path = _event_path(entry, redaction.version)
    reason = redaction.short_reason
    return replace(shown, redacted=redaction.version, redacted_path=path, reason=reason)


def _audit(store: Store, query: AuditListQuery) -> ShownAudit:
    page = store.views.audit(
        conversation=query.conversation_id or query.conversation,
        actor=query.actor,
        type=ERASING if query.about == "erasures" else query.type,
        since=_beginning(query.since),
        until=_beginning(query.until),
        limit=query.limit,
        after=query.after,
    )
    whole = (whole_entry(store, entry) for entry in page)
    return ShownAudit(page, tuple(map(shown_deed, whole)))


def _path(entry: AuditEntry) -> str | None:
    """Return where an event is shown; of what operators did, the conversation that they did it to."""
    on = entry.erasure or entry.hold or entry.retention
    if on is None:
        return _event_path(entry, entry.version)
    is_of_conversation = entry.erasure is None or not (entry.erasure.named or entry.erasure.subject)
    if on.conversation_id is None or not is_of_conversation:
        return None
    return f"/c/{on.conversation_id}"


def _event_path(entry: AuditEntry, version: int) -> str:
    return f"/c/{quote(conversation_name(entry), safe='')}?at={version}#v{version}"


def _beginning(day: date | None) -> datetime | None:
    return None if day is None else datetime(day.year, day.month, day.day, tzinfo=UTC)


ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    get_route("/audit", "pageAudit", "List who did what and when.", audit, AuditListQuery),
)
