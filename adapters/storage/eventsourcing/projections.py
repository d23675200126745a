"""A `Projection` of the `eventsourcing` library, fed as views are.

It is handed domain events and trackings, one a call, as the library's own runner would hand them. Its
tracking recorder says what was processed, in the transaction of what it wrote: so each event counts
once, wherever its tables are. Trackings of one application rise, while workers fold many parts of the
log side by side, and a conversation may wait behind an event that fails; so a tracking names a conversation.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, Final
from uuid import UUID

from eventsourcing.persistence import (
    DatetimeAsISO,
    DecimalAsStr,
    IntegrityError,
    JSONTranscoder,
    Mapper,
    StoredEvent,
    Tracking,
    TrackingRecorder,
    UUIDAsHex,
)
from eventsourcing.projection import Projection

from onrecord.adapters.storage.eventsourcing.stored_events import ConversationMapper
from onrecord.domain.log import RecordedEvent
from onrecord.domain.operators import is_operators
from onrecord.projections.views.own_views import as_invalid_input
from onrecord.projections.views.projection import EventSink
from onrecord.projections.views.step import NotWritten

_NO_NAME: Final = re.compile(r"[^a-z0-9]+")


class ProjectionSink(EventSink):
    """A projection of the library as an `EventSink`, which has each event once.

    `topics` of the projection are the events that it gets, none means all but those of operators. Domain
    events are made by `mapper`, that of the application; without it, by one that knows the events of
    conversations, and others by their topics. Erased events are left out, as the library's recorders do.
    """

    def __init__(self, projection: Projection[Any], mapper: Mapper[Any] | None = None) -> None:
        """Feed a projection; its name in small letters is the name that commands take."""
        self.name = _NO_NAME.sub("_", projection.name.lower()).strip("_")
        self.types = projection.topics
        self.projection = projection
        self._mapper = mapper or _mapper()

    def __eq__(self, other: object) -> bool:
        """Whether it feeds the same projection."""
        return isinstance(other, ProjectionSink) and other.projection is self.projection

    def __hash__(self) -> int:
        """Return a number that is the same for the same projection."""
        return hash(self.projection)

    def deliver(self, events: Sequence[RecordedEvent]) -> None:
        """Have events processed, all of them or none; NotWritten says which one failed."""
        with _lock_of(self.projection.view):
            try:
                self._process(events)
            except NotWritten as failed:
                if not isinstance(failed.error, IntegrityError):
                    raise
                # Maybe another process was faster: the recorder says how far that came.
                self._process(events)

    def _process(self, events: Sequence[RecordedEvent]) -> None:
        with _one_transaction(self.projection.view):
            self._process_in_order(events, self.projection.view)

    def _process_in_order(self, events: Sequence[RecordedEvent], view: TrackingRecorder) -> None:
        reached: dict[UUID, int] = {}
        for event in events:
            if event.body is None or is_operators(event.type):
                continue
            conversation = event.conversation_id
            tracking = Tracking(f"onrecord/{event.shard}/{conversation}", event.position)
            if conversation not in reached:
                reached[conversation] = view.max_tracking_id(tracking.application_name) or 0
            if event.position > reached[conversation]:
                self._process_one(event, event.body, tracking)

    def _process_one(self, event: RecordedEvent, state: bytes, tracking: Tracking) -> None:
        stored = StoredEvent(event.conversation_id, event.version, event.type, state)
        try:
            with as_invalid_input("process_event"):
                self.projection.process_event(self._mapper.to_domain_event(stored), tracking)
        except Exception as error:
            raise NotWritten(error, event) from error


def _mapper() -> Mapper[Any]:
    transcoder = JSONTranscoder()
    for transcoding in (UUIDAsHex(), DecimalAsStr(), DatetimeAsISO()):
        transcoder.register(transcoding)
    return ConversationMapper(transcoder)


def _lock_of(recorder: object) -> threading.Lock:
    """Return the lock of a recorder, which all stores of a process share that feed it."""
    lock: threading.Lock = vars(recorder).setdefault("_onrecord_lock", threading.Lock())
    return lock


# A recorder of the library has a transaction a call. What a batch of calls does is one transaction
# here: a commit is what takes long.


@contextmanager
def _one_transaction(view: Any) -> Generator[None]:
    """Let what a recorder does inside, in this thread, be one transaction, where it has a datastore."""
    datastore = getattr(view, "datastore", None)
    if datastore is None:
        yield
        return
    with datastore.transaction(commit=True) as cursor:
        view.datastore = _Joined(datastore, cursor)
        try:
            yield
        finally:
            view.datastore = datastore


class _Joined:
    """A datastore whose transactions, in the thread that made it, are part of one that is open."""

    def __init__(self, datastore: Any, cursor: Any) -> None:
        self._datastore, self._cursor = datastore, cursor
        self._thread = threading.get_ident()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._datastore, name)

    def transaction(self, *, commit: bool = False) -> Any:
        if threading.get_ident() != self._thread:
            return self._datastore.transaction(commit=commit)
        return nullcontext(self._cursor)

    def get_connection(self, **options: Any) -> Any:
        if threading.get_ident() != self._thread:
            return self._datastore.get_connection(**options)
        return nullcontext(self._cursor.connection)
