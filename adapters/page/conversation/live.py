"""A conversation as it goes on: a stream that says at which version it is, and what is new since one."""

from __future__ import annotations

import math
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final
from uuid import UUID

from starlette.responses import Response

from onrecord.adapters.asynchronous.store import store_of
from onrecord.adapters.page.answers import rendered
from onrecord.adapters.page.approvals.pending import (
    ShownApproval,
    approval_values,
    approvals_path,
    shown_approvals,
)
from onrecord.adapters.page.conversation.conversation import (
    EVENTS_ON_PAGE,
    named_by,
)
from onrecord.adapters.page.conversation.event_ranges import EventRange, events_in, events_page
from onrecord.adapters.page.conversation.events import ShownEvent, changed_events
from onrecord.adapters.page.conversation.times import CallTime, ResponseTime
from onrecord.adapters.page.routes import get_route
from onrecord.adapters.presentation.conversations import NamedConversation
from onrecord.adapters.service.hub import Place
from onrecord.adapters.service.model import Empty, Model
from onrecord.adapters.service.parameters import ExpectedVersion, Version
from onrecord.adapters.service.route import Call, Route
from onrecord.adapters.service.routes.tails import COMMENT, followed, happens
from onrecord.adapters.store import Store
from onrecord.domain.errors import StorageError


class LiveQuery(Model):
    """From where on a conversation is followed."""

    after: ExpectedVersion
    """The last version that is known."""


class ChangesQuery(LiveQuery):
    """What the page shows already."""

    first: Version = 1
    """The first version that it shows."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What came since a version: new events, earlier ones that changed by them, calls that wait.

    `last` is the version of the last event that is told of.
    """

    conversation: NamedConversation
    new: tuple[ShownEvent, ...]
    changed: tuple[ShownEvent, ...]
    times: Mapping[int, CallTime | ResponseTime]
    last: int
    approvals: tuple[ShownApproval, ...]


async def live(call: Call[LiveQuery, Empty]) -> Response:
    """Return a stream that says at which version a conversation is, each time that it goes on."""
    conversation = await call.steps.run(partial(named_by, store_of(call.store), call.path["key"]))
    return followed(call, _versions(call, conversation.conversation_id))


async def changes(call: Call[ChangesQuery, Empty]) -> Response:
    """Return the fragment of what came since a version, as a page shows it that ends there."""
    store = store_of(call.store)
    fragment = await call.steps.run(partial(_changes, store, call.path["key"], call.query))
    return await rendered(
        call,
        "_changes.html",
        changes=fragment,
        name=str(fragment.conversation),
        key=fragment.conversation.key,
        head=fragment.conversation.head,
        **approval_values(call.access, fragment.approvals, approvals_path(fragment.conversation)),
    )


async def _versions(call: Call[LiveQuery, Empty], conversation_id: UUID) -> AsyncIterator[bytes]:
    """Yield the version of a conversation when it is another one, or when something was erased.

    It ends with the service, with the right to read, and where the log cannot be read.
    """
    hub, known = call.tails.hub, call.query.after
    with hub.channel(call.tenant) as channel:
        place, forgot, right = Place({}, conversation_id), hub.forgot, _RightToRead(call)
        while not hub.is_over and await right.lasts():
            moved = channel.moved
            frames = channel.since(place.positions) if place.positions else None
            if frames is None:
                try:
                    place = await _end_of_log(call, conversation_id)
                except StorageError:
                    return
            else:
                place = place.behind(frames)
            version = place.version or 0
            if version > known or forgot != hub.forgot:
                if not await call.is_allowed("read"):
                    return
                known, forgot = version, hub.forgot
                yield b"id: %d\ndata: %d\n\n" % (version, version)
            elif not await happens(moved, call.tails.seconds):
                yield COMMENT


class _RightToRead:
    """Whether whoever follows may still read, looked up now and then: whatever goes on elsewhere wakes all."""

    def __init__(self, call: Call[Any, Empty]) -> None:
        self._call = call
        self._until = -math.inf

    async def lasts(self) -> bool:
        """Return whether it lasts, as it was found within the seconds of a tail."""
        if (now := time.monotonic()) < self._until:
            return True
        self._until = now + self._call.tails.seconds
        return await self._call.is_allowed("read")


async def _end_of_log(call: Call[LiveQuery, Empty], conversation_id: UUID) -> Place:
    """Return where the log ends, and the version that the conversation has at least by then."""
    # In this order: what comes in between is behind the place, too, and known by its version.
    ends = await call.tails.hub.ends()
    head = await call.steps.run(partial(call.backend.head, conversation_id))
    return Place({end.shard: end.position for end in ends}, conversation_id, head.version)


def _changes(store: Store, name: str, known: ChangesQuery) -> Changes:
    conversation = named_by(store, name)
    last = conversation.head.version
    after = min(known.after, last)
    first = min(known.first, after + 1)
    shown_after = max(first - 1, after - EVENTS_ON_PAGE)
    then = replace(conversation, head=replace(conversation.head, version=after))
    shown_then = events_in(store, then, EventRange(shown_after, after))
    until = min(after + EVENTS_ON_PAGE, last)
    now = events_page(store, conversation, EventRange(shown_after, until))
    return Changes(
        conversation=conversation,
        new=tuple(event for event in now.events if event.version > after),
        changed=changed_events(shown_then, now.events),
        times=now.times,
        last=until,
        approvals=shown_approvals(store, conversation),
    )


ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    replace(
        get_route("/c/{key}/live", "pageLive", "Follow a conversation.", live, LiveQuery),
        media_type="text/event-stream",
    ),
    get_route(
        "/c/{key}/changes",
        "pageChanges",
        "Show what came in a conversation.",
        changes,
        ChangesQuery,
    ),
)
