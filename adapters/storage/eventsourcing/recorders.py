"""The recorders of the `eventsourcing` library over any store that holds a log.

An application is a tenant of the log, an aggregate a conversation, a notification's id the
event's position. Snapshots and tracking are no events: a store keeps them beside the log.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar
from uuid import UUID

from eventsourcing.persistence import (
    AggregateRecorder,
    ApplicationRecorder,
    IntegrityError,
    Notification,
    OperationalError,
    ProcessRecorder,
    StoredEvent,
    Subscription,
    Tracking,
    TrackingRecorder,
)

from onrecord.adapters.storage.eventsourcing.stored_events import (
    appends_of,
    conversation_of,
    must_be_recorded,
)
from onrecord.adapters.storage.eventsourcing.subscriptions import NotificationSubscription
from onrecord.adapters.storage.interrupts import releasing
from onrecord.adapters.storage.subscription import Wakeups
from onrecord.domain.errors import ConversationForgotten, InvalidInput, StorageError
from onrecord.domain.log import BEFORE_FIRST, Append, Recorded, Verdict

Transaction = TypeVar("Transaction")

Appender = Callable[[Sequence[Append]], list[Verdict]]
"""Appends in a transaction that is open; returns a verdict for each request, in order."""

Beside = Callable[[Appender], object]
"""Records more by the appender that it is handed: what that records, it records with the events of a save."""

Row = tuple[Any, ...]
"""The version, the topic and the state of a stored event."""


class Span(NamedTuple):
    """The part of a sequence that is asked for: after < number <= until, `limit` of it at most."""

    after: int
    until: int
    limit: int


class Store(Protocol[Transaction]):
    """What the recorders ask of a store; `Transaction` is what its statements are run in."""

    @property
    def wakeups(self) -> Wakeups:
        """What wakes up the subscriptions of this process."""
        ...

    def append(self, append: Append) -> Verdict:
        """Append what is for one conversation, in a transaction that others may share.

        The ids of its events are new: what was recorded at a try whose answer was lost is recorded.
        """
        ...

    def digest(self, text: str) -> bytes:
        """Return the keyed digest of a text: each log has a key of its own."""
        ...

    def appending(self) -> AbstractContextManager[tuple[Transaction, Appender]]:
        """Lend a transaction, and what appends in it: all or none, durable at the end.

        The append comes last: from there on nobody else appends to the same part of the log. A server
        ends one that stands still for 5 seconds, and one that waits so long for a lock is an error.
        """
        ...

    def writing(self) -> AbstractContextManager[Transaction]:
        """Lend a transaction for what is no event: all or none, durable at the end."""
        ...

    def keep_snapshot(self, transaction: Transaction, tenant: UUID, snapshot: StoredEvent) -> bool:
        """Keep a snapshot; False where there is one of that version.

        ConversationForgotten or StorageReadOnly where the conversation does not take it.
        """
        ...

    def keep_tracking(self, transaction: Transaction, name: str, tracking: Tracking) -> bool:
        """Keep how far a follower got; False unless it is further than before."""
        ...

    def stored_events(self, conversation_id: UUID, span: Span, *, desc: bool) -> Sequence[Row]:
        """Return a conversation's events by version, those erased left out."""
        ...

    def snapshots(
        self, tenant: UUID, conversation_id: UUID, span: Span, *, desc: bool
    ) -> Sequence[Row]:
        """Return a conversation's snapshots by version."""
        ...

    def notifications(self, tenant: UUID, span: Span, topics: Sequence[str]) -> list[Notification]:
        """Return a tenant's events by position; no topics means all."""
        ...

    def last_notification(self, tenant: UUID) -> int | None:
        """Return the position of a tenant's last event."""
        ...

    def tracked(self, name: str, application_name: str) -> int | None:
        """Return how far a follower got with an application."""
        ...


_HIGHEST: Final = 2**63 - 1


class LogAggregateRecorder(AggregateRecorder, Generic[Transaction]):
    """Events of aggregates, each aggregate a conversation."""

    def __init__(self, store: Store[Transaction], tenant: UUID) -> None:
        """Record for one tenant of a store's log."""
        self.store = store
        self.tenant = tenant

    def insert_events(
        self, stored_events: Sequence[StoredEvent], **kwargs: Any
    ) -> Sequence[int] | None:
        """Record events, all or none; IntegrityError where a version is taken."""
        _recorded(self.store, self.tenant, stored_events)
        return None

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
        with _in_their_words():
            rows = self._rows(conversation_of(originator_id), _span(gt, lte, limit), desc=desc)
        return [StoredEvent(originator_id, *row) for row in rows]

    def _rows(self, conversation_id: UUID, span: Span, *, desc: bool) -> Sequence[Row]:
        return self.store.stored_events(conversation_id, span, desc=desc)


class LogSnapshotRecorder(LogAggregateRecorder[Transaction]):
    """Snapshots of aggregates: no facts, in a table of their own, gone with the conversation."""

    @releasing
    def insert_events(
        self, stored_events: Sequence[StoredEvent], **kwargs: Any
    ) -> Sequence[int] | None:
        """Keep snapshots, all or none; IntegrityError where there is one of that version."""
        with _in_their_words(), self.store.writing() as transaction:
            for stored in stored_events:
                if not self.store.keep_snapshot(transaction, self.tenant, stored):
                    raise IntegrityError("there is a snapshot of that version already")
        return None

    def _rows(self, conversation_id: UUID, span: Span, *, desc: bool) -> Sequence[Row]:
        return self.store.snapshots(self.tenant, conversation_id, span, desc=desc)


class LogApplicationRecorder(LogAggregateRecorder[Transaction], ApplicationRecorder):
    """Events of aggregates, and all of them in the order of the log."""

    def insert_events(
        self, stored_events: Sequence[StoredEvent], **kwargs: Any
    ) -> Sequence[int] | None:
        """Record events, all or none, and return their positions.

        What `beside=` (a `Beside`) records is recorded with them, in one transaction.
        """
        beside: Beside | None = kwargs.get("beside")
        if beside is None:
            return _recorded(self.store, self.tenant, stored_events)
        own = appends_of(self.tenant, stored_events)
        return _JointAppend(self.store, own).positions(beside)

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
        with _in_their_words():
            return self.store.notifications(self.tenant, _span(after, stop, limit), topics)

    def max_notification_id(self) -> int | None:
        """Return the position of the tenant's last event."""
        with _in_their_words():
            return self.store.last_notification(self.tenant)

    def subscribe(
        self, gt: int | None = None, topics: Sequence[str] = ()
    ) -> Subscription[ApplicationRecorder]:
        """Return the tenant's events after a position, those to come included."""
        return NotificationSubscription(self, self.store.wakeups, gt, topics)


class LogTrackingRecorder(TrackingRecorder, Generic[Transaction]):
    """How far a projection got, by the applications that it follows.

    A subclass writes its view in `store.writing()`, and calls `track` in it.
    """

    def __init__(self, store: Store[Transaction], name: str) -> None:
        """Track for the projection of that name."""
        self.store = store
        self.name = name

    @releasing
    def insert_tracking(self, tracking: Tracking) -> None:
        """Record how far an application was followed; IntegrityError unless it is further."""
        with _in_their_words(), self.store.writing() as transaction:
            self.track(transaction, tracking)

    def track(self, transaction: Transaction, tracking: Tracking) -> None:
        """Record it in a transaction."""
        if not self.store.keep_tracking(transaction, self.name, tracking):
            raise IntegrityError("that position, or a later one, was tracked already")

    def max_tracking_id(self, application_name: str) -> int | None:
        """Return how far an application was followed."""
        with _in_their_words():
            return self.store.tracked(self.name, application_name)


class _NotRecorded(Exception):
    """What comes beside the events of a save is not recorded, so neither are they."""

    def __init__(self, verdicts: list[Verdict]) -> None:
        super().__init__()
        self.verdicts = verdicts


class _JointAppend(Generic[Transaction]):
    """The events of a save, which are appended with the first thing that is recorded beside them."""

    def __init__(
        self,
        store: Store[Transaction],
        own: Sequence[Append],
        track: Callable[[Transaction], object] = lambda _: None,
    ) -> None:
        self._store, self._own, self._track = store, own, track
        self._positions: list[int] | None = None

    def positions(self, beside: Beside) -> list[int]:
        """Have it recorded, and return the positions of the events of the save.

        They are recorded alone where there is nothing to record beside them, or it was before.
        """
        beside(self.append)
        if self._positions is None:
            self.append(())
        return self._positions or []

    @releasing
    def append(self, requests: Sequence[Append]) -> list[Verdict]:
        """Append with the events of the save, all or none, and return the verdicts of the others."""
        if self._positions is not None:
            raise InvalidInput("one thing is recorded with a save, and it was: record others apart")
        count = len(self._own)
        try:
            # Nothing comes between the append, which takes the lock of its part of the log, and the end.
            with _recording(self._store) as (transaction, append):
                self._track(transaction)
                verdicts = append([*self._own, *requests])
                positions = must_be_recorded(verdicts[:count])
                if not all(isinstance(verdict, Recorded) for verdict in verdicts[count:]):
                    raise _NotRecorded(verdicts[count:])
        except _NotRecorded as refused:
            return refused.verdicts
        self._positions = positions
        return verdicts[count:]


def _nothing(_: Appender) -> None:
    """Record nothing beside."""


class LogProcessRecorder(
    LogTrackingRecorder[Transaction], LogApplicationRecorder[Transaction], ProcessRecorder
):
    """Events and tracking, in one transaction."""

    def __init__(self, store: Store[Transaction], tenant: UUID, name: str) -> None:
        """Record for one tenant of a store's log, and track under a name."""
        self.store = store
        self.tenant = tenant
        self.name = name

    def insert_events(
        self, stored_events: Sequence[StoredEvent], **kwargs: Any
    ) -> Sequence[int] | None:
        """Record events and, with `tracking=`, what they came from: all or none.

        What `beside=` records is recorded with them.
        """
        tracking: Tracking | None = kwargs.get("tracking")
        if tracking is None:
            return super().insert_events(stored_events, **kwargs)
        own = appends_of(self.tenant, stored_events)
        joint = _JointAppend(self.store, own, lambda opened: self.track(opened, tracking))
        return joint.positions(kwargs.get("beside", _nothing))


@releasing
def _recorded(
    store: Store[Transaction], tenant: UUID, stored_events: Sequence[StoredEvent]
) -> list[int]:
    appends = appends_of(tenant, stored_events)
    if len(appends) == 1:
        # It is all or none by itself: so it needs no transaction of its own.
        with _in_their_words():
            return must_be_recorded([store.append(appends[0])])
    with _recording(store) as (_, append):
        return must_be_recorded(append(appends))


@contextmanager
def _recording(store: Store[Transaction]) -> Generator[tuple[Transaction, Appender]]:
    with _in_their_words(), store.appending() as opened:
        yield opened
    store.wakeups.appended()


@contextmanager
def _in_their_words() -> Generator[None]:
    try:
        yield
    except ConversationForgotten as error:
        raise IntegrityError(str(error)) from error
    except StorageError as error:
        raise OperationalError(str(error)) from error


def _span(after: int | None, until: int | None, limit: int | None) -> Span:
    return Span(
        BEFORE_FIRST if after is None else after,
        _HIGHEST if until is None else until,
        _HIGHEST if limit is None else limit,
    )
