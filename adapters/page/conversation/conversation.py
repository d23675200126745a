"""The page of a conversation: a range of its events around one of them, and what belongs to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Final

from pydantic import Field
from starlette.responses import Response

from onrecord.adapters.asynchronous.store import store_of
from onrecord.adapters.page.answers import rendered
from onrecord.adapters.page.approvals.confirmation import (
    ConfirmationQuery,
    ShownDecision,
    decision_to_confirm,
)
from onrecord.adapters.page.approvals.pending import (
    ShownApproval,
    approval_values,
    approvals_path,
    shown_approvals,
)
from onrecord.adapters.page.conversation.event_ranges import EventRange, EventsPage, events_page
from onrecord.adapters.page.routes import get_route
from onrecord.adapters.presentation.conversations import NamedConversation, find_conversation
from onrecord.adapters.service.model import Empty, Model
from onrecord.adapters.service.parameters import Version
from onrecord.adapters.service.problems import Problem
from onrecord.adapters.service.route import Call, Route
from onrecord.adapters.service.routes.conversations import At
from onrecord.adapters.service.routes.documents import content
from onrecord.adapters.storage.http.problem_types import INVALID
from onrecord.adapters.store import Store
from onrecord.adapters.streams.listing import Listed
from onrecord.domain.errors import ConversationNotFound

EVENTS_ON_PAGE: Final = 200
"""The most events that are shown at once."""

_SOON_READ: Final = 5_000
"""So many events are read and added up in less than a second."""


class EventsPageQuery(Model):
    """Which events: those before a version, or those after one."""

    before: Version | None = None
    """The version that they come before."""

    after: Annotated[int, Field(ge=0, le=2**63 - 1)] | None = None
    """The version that they come after."""


@dataclass(frozen=True, slots=True)
class ShownConversation:
    """A conversation: where it stands, a page of its events, its forks, its calls that wait.

    `decision` is the one that was made just now, if one was.
    """

    conversation: NamedConversation
    events: EventsPage
    forks: tuple[Listed, ...]
    approvals: tuple[ShownApproval, ...]
    decision: ShownDecision | None

    @property
    def has_totals(self) -> bool:
        """Return whether all events are soon read, so that their totals are shown at once."""
        return self.conversation.head.version <= _SOON_READ


class ConversationQuery(At, ConfirmationQuery):
    """Which version the page is around, and the decision that it confirms."""


async def conversation(call: Call[ConversationQuery, Empty]) -> Response:
    """Return the page of a conversation, around the version that is asked for, else its end."""
    store = store_of(call.store)
    page = await call.steps.run(partial(_conversation, store, call.path["key"], call.query))
    return await rendered(
        call,
        "conversation.html",
        page=page,
        head=page.conversation.head,
        decision=page.decision,
        **approval_values(call.access, page.approvals, approvals_path(page.conversation)),
        **_events_values(page.conversation, page.events),
    )


async def events(call: Call[EventsPageQuery, Empty]) -> Response:
    """Return the fragment of the events beside a version."""
    store, query = store_of(call.store), call.query
    if (query.before is None) == (query.after is None):
        raise Problem(INVALID, "name the version before, or the version after, and not both")
    conversation, page = await call.steps.run(partial(_events_page, store, call.path["key"], query))
    return await rendered(call, "_rows.html", **_events_values(conversation, page))


def _events_values(conversation: NamedConversation, page: EventsPage) -> Mapping[str, Any]:
    return {"name": str(conversation), "key": conversation.key, "events_page": page}


def _conversation(store: Store, name: str, query: ConversationQuery) -> ShownConversation:
    conversation, at = named_by(store, name), query.at
    version = conversation.version_at(at)
    head = conversation.head.version
    until = min(head, version if at is None else version + EVENTS_ON_PAGE // 2)
    until = max(until, min(head, EVENTS_ON_PAGE))
    forks = tuple(store.forks(conversation.conversation_id))
    return ShownConversation(
        conversation=conversation,
        events=events_page(store, conversation, _range_until(until)),
        forks=forks,
        approvals=shown_approvals(store, conversation),
        decision=decision_to_confirm(store, conversation, query),
    )


def named_by(store: Store, name: str) -> NamedConversation:
    """Return the conversation of a key or an id; nothing of others is told where there is none."""
    conversation = find_conversation(store, name)
    if conversation is None:
        raise ConversationNotFound("no conversation has this key")
    return conversation


def _events_page(
    store: Store, name: str, query: EventsPageQuery
) -> tuple[NamedConversation, EventsPage]:
    conversation = named_by(store, name)
    head = conversation.head.version
    if query.before is not None:
        event_range = _range_until(min(query.before - 1, head))
    else:
        after = min(query.after or 0, head)
        event_range = EventRange(after, min(after + EVENTS_ON_PAGE, head))
    return conversation, events_page(store, conversation, event_range)


def _range_until(until: int) -> EventRange:
    return EventRange(max(0, until - EVENTS_ON_PAGE), until)


ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    get_route(
        "/c/{key}", "pageConversation", "Show a conversation.", conversation, ConversationQuery
    ),
    get_route("/c/{key}/rows", "pageRows", "Show a range of its events.", events, EventsPageQuery),
    replace(
        get_route("/c/{key}/documents/{sha256}", "pageDocument", "Show a document.", content),
        media_type="application/octet-stream",
    ),
)
