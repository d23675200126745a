"""Ranges of a conversation's events: read from the log, and ready to be laid out or copied."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

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
from onrecord.adapters.presentation.actors import ShownActors
from onrecord.adapters.presentation.conversations import NamedConversation
from onrecord.adapters.store import Store, backend_of
from onrecord.adapters.streams.history_changes import HistoryChanges, changes_at, with_redactions
from onrecord.domain.log import RecordedEvent
from onrecord.projections.history.timeline import Timeline

_BEFORE: Final = 200
"""So many events before a range are read, for its results to find their calls."""

_version: Final = attrgetter("version")


@dataclass(frozen=True, slots=True)
class EventRange:
    """The events with after < version <= until."""

    after: int
    until: int

    @property
    def first(self) -> int:
        """Return the first version."""
        return self.after + 1

    @property
    def count(self) -> int:
        """Return how many events there are."""
        return max(0, self.until - self.after)


@dataclass(frozen=True, slots=True)
class EventsPage:
    """A range of events, and whether there are others on its two sides.

    `times` tells by version what calls and responses took.
    """

    range: EventRange
    events: tuple[ShownEvent, ...]
    times: Mapping[int, CallTime | ResponseTime]
    has_earlier: bool
    has_later: bool


def events_page(
    store: Store, conversation: NamedConversation, event_range: EventRange
) -> EventsPage:
    """Return the events of a range, and what their calls and responses took."""
    recorded = _recorded(store, conversation, event_range)
    return EventsPage(
        range=event_range,
        events=_shown(store, conversation, recorded, event_range),
        times=times_by_version(times_of(recorded, page_prices().prices)),
        has_earlier=event_range.after > 0,
        has_later=event_range.until < conversation.head.version,
    )


def events_in(
    store: Store, conversation: NamedConversation, event_range: EventRange
) -> tuple[ShownEvent, ...]:
    """Return the events of a range."""
    return _shown(store, conversation, _recorded(store, conversation, event_range), event_range)


def _recorded(
    store: Store, conversation: NamedConversation, event_range: EventRange
) -> list[RecordedEvent]:
    after = max(0, event_range.after - _BEFORE)
    read = backend_of(store).read(
        conversation.conversation_id, after=after, until=event_range.until
    )
    return list(read)


def _shown(
    store: Store,
    conversation: NamedConversation,
    recorded: list[RecordedEvent],
    event_range: EventRange,
) -> tuple[ShownEvent, ...]:
    backend, conversation_id = backend_of(store), conversation.conversation_id
    changes = changes_at(backend, conversation_id, conversation.head.version)
    actors = ShownActors(backend, store.tenant)
    # Of the events before the range only the calls are looked at, not who made them.
    for event in recorded[bisect_right(recorded, event_range.after, key=_version) :]:
        actors.note(event)
    fold = Timeline(side_lines=True, standing=changes.losses)
    rows = (actors.named(row) for event in recorded for row in fold.rows(event))
    listed = list(with_redactions(rows, changes.redacted))
    has_documents = may_hold_documents(row for row in listed if row.version > event_range.after)
    held = store.get(conversation_id).documents() if has_documents and conversation.key else ()
    return shown_events(
        recorded,
        listed,
        after=event_range.after,
        documents=(each for each in held if each.conversation_id == conversation_id),
        summary=_summary(changes),
    )


def _summary(changes: HistoryChanges) -> Summary | None:
    compaction = changes.compaction
    if compaction is None:
        return None
    return Summary(compaction.recorded.version, compaction.event.until)
