"""A recorder of the `eventsourcing` library on a backend that is open, whichever it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from eventsourcing.persistence import (
    ApplicationRecorder,
    Notification,
    ProgrammingError,
    StoredEvent,
    Subscription,
)

from onrecord.adapters.storage.eventsourcing.stored_events import (
    appends_of,
    conversation_of,
    must_be_recorded,
)
from onrecord.adapters.storage.eventsourcing.subscriptions import NotificationSubscription
from onrecord.adapters.storage.subscription import Wakeups
from onrecord.domain.log import BEFORE_FIRST, Backend, RecordedEvent

# The modules for SQLite and PostgreSQL open a log of their own, which the environment names. This
# one shares the log that a store has open, and a store in memory has no other. What the backend
# raises passes on as it is: who saves here is ours, and knows our errors.

_HIGHEST: Final = 2**63 - 1


class BackendRecorder(ApplicationRecorder):
    """Events of aggregates that few write and seldom: it reads whole streams, and keeps no index."""

    def __init__(self, backend: Backend, tenant: UUID) -> None:
        """Record for one tenant of a backend's log."""
        self._backend = backend
        self._tenant = tenant
        self._wakeups = Wakeups()

    def insert_events(
        self, stored_events: Sequence[StoredEvent], **kwargs: Any
    ) -> Sequence[int] | None:
        """Record events of one aggregate, all or none, and return their positions.

        `actor=` is the keyed digest of who acts, for their headers. IntegrityError where a version
        is taken.
        """
        appends = appends_of(self._tenant, stored_events, kwargs.get("actor"))
        if len(appends) > 1:
            raise ProgrammingError("save one aggregate at a time: two are not recorded as one")
        positions = must_be_recorded(self._backend.append(appends))
        self._wakeups.appended()
        return positions

    def select_events(
        self,
        originator_id: UUID | str,
        *,
        gt: int | None = None,
        lte: int | None = None,
        desc: bool = False,
        limit: int | None = None,
    ) -> Sequence[StoredEvent]:
        """Return the events of an aggregate, in order of version or the last first."""
        place = conversation_of(originator_id)
        events = list(
            self._backend.read(place, after=BEFORE_FIRST if gt is None else gt, until=lte)
        )
        stored = [
            StoredEvent(originator_id, event.version, event.type, event.body)
            for event in (reversed(events) if desc else events)
            if event.body is not None
        ]
        return stored[:limit]

    def select_notifications(
        self,
        start: int | None,
        limit: int,
        stop: int | None = None,
        topics: Sequence[str] = (),
        *,
        inclusive_of_start: bool = True,
    ) -> Sequence[Notification]:
        """Return the tenant's events from a position on, in order."""
        after = 0 if start is None else start - inclusive_of_start
        until = _HIGHEST if stop is None else stop
        return [
            Notification(
                event.conversation_id, event.version, event.type, event.body, id=event.position
            )
            for event in self._events()
            if after < event.position <= until
            and event.body is not None
            and (not topics or event.type in topics)
        ][:limit]

    def max_notification_id(self) -> int | None:
        """Return the position of the tenant's last event."""
        return max((event.position for event in self._events()), default=None)

    def subscribe(
        self, gt: int | None = None, topics: Sequence[str] = ()
    ) -> Subscription[ApplicationRecorder]:
        """Return the tenant's events after a position, those to come included."""
        return NotificationSubscription(self, self._wakeups, gt, topics)

    def _events(self) -> list[RecordedEvent]:
        """Return all events of the tenant by position: it is in one shard."""
        events = [
            event
            for listed in self._backend.conversations(self._tenant)
            for event in self._backend.read(listed.conversation_id)
        ]
        return sorted(events, key=lambda event: event.position)
