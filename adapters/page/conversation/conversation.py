"""The page of a conversation: its events in stretches around one of them, and what belongs to it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Annotated, Any, Final

from pydantic import Field
from starlette.responses import Response

from onrecord.adapters.asynchronous.store import store_of
from onrecord.adapters.page.answers import rendered
from onrecord.adapters.page.approvals.decided import (
    DecidedCall,
    DecidedQuery,
    decided_just_now,
)
from onrecord.adapters.page.approvals.pending import (
    ShownApproval,
    approval_values,
    shown_approvals,
)
from onrecord.adapters.page.conversation.events import (
    ShownEvent,
    Summary,
    may_hold_documents,
    shown_events,
)
from onrecord.adapters.page.conversation.times import (
    CallTime,
    ResponseTime,
    times_by_version,
    times_of,
)
from onrecord.adapters.page.prices import page_prices
from onrecord.adapters.page.routes import get_route
from onrecord.adapters.page.words import segment
from onrecord.adapters.presentation.actors import ShownActors
from onrecord.adapters.presentation.conversations import NamedConversation, find_conversation
from onrecord.adapters.service.model import Empty, Model
from onrecord.adapters.service.parameters import Version
from onrecord.adapters.service.problems import Problem
from onrecord.adapters.service.route import Call, Route
from onrecord.adapters.service.routes.conversations import At
from onrecord.adapters.service.routes.documents import content
from onrecord.adapters.storage.http.problem_types import INVALID
from onrecord.adapters.store import Store, backend_of
from onrecord.adapters.streams.history_changes import HistoryChanges, changes_at, with_redactions
from onrecord.adapters.streams.listing import Listed
from onrecord.domain.errors import ConversationNotFound
from onrecord.domain.log import RecordedEvent
from onrecord.projections.history.timeline import Timeline

STRETCH: Final = 200
"""The most events that are shown at once."""

_BEFORE: Final = 200
"""So many events before a stretch are read, for its results to find their calls."""

_SOON_READ: Final = 5_000
"""So many events are read and added up in less than a second."""


_version: Final = attrgetter("version")


class Stretch(Model):
    """Which stretch of events: those before a version, or those after one."""

    before: Version | None = None
    """The version that they come before."""

    after: Annotated[int, Field(ge=0, le=2**63 - 1)] | None = None
    """The version that they come after."""


@dataclass(frozen=True, slots=True)
class Rows:
    """A stretch of events, and whether there are others on its two sides.

    `times` tells by version what calls and responses took.
    """

    events: tuple[ShownEvent, ...]
    times: Mapping[int, CallTime | ResponseTime]
    first: int
    last: int
    has_earlier: bool
    has_later: bool


@dataclass(frozen=True, slots=True)
class ShownConversation:
    """A conversation: where it stands, a stretch of its events, its forks, its calls that wait.

    `decided` is the call that was decided just now, if one was.
    """

    conversation: NamedConversation
    rows: Rows
    forks: tuple[Listed, ...]
    approvals: tuple[ShownApproval, ...]
    decided: DecidedCall | None

    @property
    def has_totals(self) -> bool:
        """Return whether all events are soon read, so that their totals are shown at once."""
        return self.conversation.head.version <= _SOON_READ


class ConversationQuery(At, DecidedQuery):
    """Which version the page is around, and what was decided just now."""


async def conversation(call: Call[ConversationQuery, Empty]) -> Response:
    """Return the page of a conversation, around the version that is asked for, else its end."""
    store = store_of(call.store)
    page = await call.steps.run(partial(_conversation, store, call.path["key"], call.query))
    return await rendered(
        call,
        "conversation.html",
        page=page,
        head=page.conversation.head,
        decided=page.decided,
        **approval_values(call.access, page.approvals, approvals_path(page.conversation)),
        **_row_values(page.conversation, page.rows),
    )


async def rows(call: Call[Stretch, Empty]) -> Response:
    """Return the fragment of a stretch of events."""
    store, query = store_of(call.store), call.query
    if (query.before is None) == (query.after is None):
        raise Problem(INVALID, "name the version before, or the version after, and not both")
    conversation, stretch = await call.steps.run(partial(_stretch, store, call.path["key"], query))
    return await rendered(call, "_rows.html", **_row_values(conversation, stretch))


def _row_values(conversation: NamedConversation, stretch: Rows) -> Mapping[str, Any]:
    return {"name": str(conversation), "key": conversation.key, "stretch": stretch}


def _conversation(store: Store, name: str, query: ConversationQuery) -> ShownConversation:
    conversation, at = named_by(store, name), query.at
    version = conversation.version_at(at)
    last = min(conversation.head.version, version if at is None else version + STRETCH // 2)
    last = max(last, min(conversation.head.version, STRETCH))
    forks = tuple(store.forks(conversation.conversation_id))
    return ShownConversation(
        conversation=conversation,
        rows=rows_between(store, conversation, max(0, last - STRETCH), last),
        forks=forks,
        approvals=shown_approvals(store, conversation),
        decided=decided_just_now(store, conversation, query),
    )


def approvals_path(conversation: NamedConversation) -> str:
    """Return the path at which the page of a conversation shows the calls that wait."""
    return f"/c/{segment(str(conversation))}#approvals"


def named_by(store: Store, name: str) -> NamedConversation:
    """Return the conversation of a key or an id; nothing of others is told where there is none."""
    conversation = find_conversation(store, name)
    if conversation is None:
        raise ConversationNotFound("no conversation has this key")
    return conversation


def _stretch(store: Store, name: str, query: Stretch) -> tuple[NamedConversation, Rows]:
    conversation = named_by(store, name)
    head = conversation.head.version
    if query.before is not None:
        last = min(query.before - 1, head)
        return conversation, rows_between(store, conversation, max(0, last - STRETCH), last)
    after = min(query.after or 0, head)
    return conversation, rows_between(store, conversation, after, min(after + STRETCH, head))


def rows_between(store: Store, conversation: NamedConversation, after: int, last: int) -> Rows:
    """Return the events with after < version <= last, and what their calls and responses took."""
    recorded = _recorded(store, conversation, after, last)
    return Rows(
        _shown(store, conversation, recorded, after),
        times=times_by_version(times_of(recorded, page_prices().prices)),
        first=after + 1,
        last=last,
        has_earlier=after > 0,
        has_later=last < conversation.head.version,
    )


def events_between(
    store: Store, conversation: NamedConversation, after: int, last: int
) -> tuple[ShownEvent, ...]:
    """Return the events with after < version <= last."""
    return _shown(store, conversation, _recorded(store, conversation, after, last), after)


def _recorded(
    store: Store, conversation: NamedConversation, after: int, last: int
) -> list[RecordedEvent]:
    first = max(0, after - _BEFORE)
    return list(backend_of(store).read(conversation.conversation_id, after=first, until=last))


def _shown(
    store: Store, conversation: NamedConversation, recorded: list[RecordedEvent], after: int
) -> tuple[ShownEvent, ...]:
    backend, conversation_id = backend_of(store), conversation.conversation_id
    changes = changes_at(backend, conversation_id, conversation.head.version)
    actors = ShownActors(backend, store.tenant)
    # Of the events before the stretch only the calls are looked at, not who made them.
    for event in recorded[bisect_right(recorded, after, key=_version) :]:
        actors.note(event)
    fold = Timeline(side_lines=True, standing=changes.losses)
    rows = (actors.named(row) for event in recorded for row in fold.rows(event))
    listed = list(with_redactions(rows, changes.redacted))
    has_documents = may_hold_documents(row for row in listed if row.version > after)
    held = store.get(conversation_id).documents() if has_documents and conversation.key else ()
    return shown_events(
        recorded,
        listed,
        after=after,
        documents=(each for each in held if each.conversation_id == conversation_id),
        summary=_summary(changes),
    )


def _summary(changes: HistoryChanges) -> Summary | None:
    compaction = changes.compaction
    if compaction is None:
        return None
    return Summary(compaction.recorded.version, compaction.event.until)


ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    get_route(
        "/c/{key}", "pageConversation", "Show a conversation.", conversation, ConversationQuery
    ),
    get_route("/c/{key}/rows", "pageRows", "Show a stretch of its events.", rows, Stretch),
    replace(
        get_route("/c/{key}/documents/{sha256}", "pageDocument", "Show a document.", content),
        media_type="application/octet-stream",
    ),
)
