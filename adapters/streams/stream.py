"""One conversation in the log: how its events are appended and read."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, TypeVar, assert_never
from uuid import UUID

from uuid_utils.compat import uuid7

from onrecord.adapters.streams.event_reading import blob_among, has_blob, owners_of, read_through
from onrecord.adapters.streams.lineage import Lineages, LineSegment
from onrecord.adapters.telemetry import names
from onrecord.adapters.telemetry.operations import operation
from onrecord.domain.admission import Refused, error_of
from onrecord.domain.content import Blob
from onrecord.domain.conversation import start
from onrecord.domain.erasure.destroyed import KeyDestroyed
from onrecord.domain.errors import (
    ConversationForgotten,
    CorruptRecord,
    DocumentMissing,
    IdempotencyMismatch,
    OnrecordError,
    StorageBusy,
    VersionConflict,
)
from onrecord.domain.events import Event
from onrecord.domain.head import Head
from onrecord.domain.header import NO_METADATA, SALT_SIZE
from onrecord.domain.log import (
    Append,
    Backend,
    BlobMissing,
    Conflict,
    Duplicate,
    Forgotten,
    Mismatch,
    NewEvent,
    NewSince,
    Recorded,
    RecordedEvent,
    Verdict,
)
from onrecord.domain.new_events import NOBODY, Attribution, Stamp, draft

if TYPE_CHECKING:
    from onrecord.adapters.recording.actor_names import ActorNames
    from onrecord.adapters.recording.spool import Spool


T = TypeVar("T")

Done: TypeAlias = Recorded | Duplicate
"""What an append says: recorded now, or recorded before."""


# Events on their way into the log, and what it says to them.

MAYBE_BEGUN: Final = (VersionConflict, IdempotencyMismatch)
"""What a log says of a beginning where another holder was first.

The log looks for what it knows before it looks at the version: where the other one recorded the same, only
the beginning is new, a mismatch. What comes behind it is appended again without it, and that verdict told.
"""


def append_first(
    stream: Stream,
    drafted: tuple[NewEvent, ...],
    expected_version: int | None,
    by: Attribution | None = None,
) -> Done:
    """Append as a holder's first; begin the conversation unless someone did before.

    `by` is who begins it, where that is not who uses the stream here and now.
    """
    beginning = start(stream.head(), stream.key)
    if not beginning:
        return stream.append_drafted(drafted, expected_version)
    events = (*(stream.draft(event, by=by) for event in beginning), *drafted)
    try:
        return stream.append_drafted(events, expected_version or 0)
    except MAYBE_BEGUN:
        return stream.append_drafted(drafted, expected_version)


def stored_again(record: Callable[[], T]) -> T:
    """Do what stores documents and records them; once more where a sweep came between the two."""
    try:
        return record()
    except DocumentMissing:
        return record()


class Appends(Protocol):
    """What takes appends: a log, or what records them with something else."""

    def append(self, appends: Sequence[Append]) -> list[Verdict]:
        """Record what can be recorded and return a verdict for each request, as a log does."""
        ...


def append_to(log: Appends, append: Append) -> Done:
    """Append, and return what was done.

    VersionConflict, IdempotencyMismatch, ConversationForgotten, DocumentMissing, ConversationClosed
    or InvalidContent if nothing was.
    """
    (verdict,) = log.append((append,))
    return done_of(append, verdict)


def done_of(append: Append, verdict: Verdict) -> Done:
    """Return what the log did; raises as `append_to`."""
    match verdict:
        case Recorded() | Duplicate():
            return verdict
        case Conflict():
            raise VersionConflict(append.expected_version or 0, verdict.current)
        case Mismatch():
            raise IdempotencyMismatch(_mismatch(append, verdict.ordinal))
        case Forgotten():
            raise ConversationForgotten
        case BlobMissing():
            raise DocumentMissing
        case KeyDestroyed():
            raise StorageBusy("a key was destroyed while something was recorded: do it again")
        case Refused():
            raise error_of(append.events[verdict.ordinal].needs)
        case _:
            assert_never(verdict)


def _mismatch(append: Append, ordinal: int) -> str:
    """Return why events are not taken; of several the log does not tell if one alone would be."""
    kind, count = append.events[ordinal].type, len(append.events)
    # Prompts and signals share their ids.
    named = kind in ("message.recorded", "signal.received")
    member, holder = ("message_id", "message or signal") if named else ("id", "event")
    if count == 1:
        return (
            f"the {member} of a {kind} was recorded before, of a {holder} with other content: "
            f"use a new {member} for a new fact"
        )
    return (
        f"event {ordinal + 1} of {count}, a {kind}, has the {member} of a {holder} that was recorded "
        f"before, or of another one here: append the others, and use a new {member} for a new fact"
    )


class Stream:
    """The events of a conversation, appended, read, and told by lineage. Threads may share it.

    Nothing is kept but its id and what it goes on from: every question is answered from the log.
    """

    def __init__(
        self,
        backend: Backend,
        key: str,
        *,
        tenant: UUID,
        spool: Spool,
        names: ActorNames,
        holder: Attribution = NOBODY,
        default: Attribution = NOBODY,
        subjects: tuple[str, ...] = (),
    ) -> None:
        """Hold the conversation of a key, about `subjects`; `holder` acts in it, else it is `default`.

        `names` is where the names of those who act are kept.
        """
        self.backend = backend
        self._appends: Appends = backend
        self.key = key
        self.tenant = tenant
        self._spool = spool
        self.names = names
        self.holder = holder
        self.default = default
        self.subjects = subjects
        self._id: UUID | None = None
        self._begun = False
        self._lineages: Lineages | None = None

    @property
    def conversation_id(self) -> UUID:
        """The conversation's id; asking for it makes one if the key is new."""
        if self._id is None:
            self._id = self.backend.open(self.tenant, self.key)
        return self._id

    def found(self) -> UUID | None:
        """Return the conversation's id if it has one by now: another holder may have begun it."""
        if self._id is None:
            self._id = self.backend.find(self.tenant, self.key)
        return self._id

    def head(self) -> Head:
        """Return where the conversation stands."""
        self._spool.settle(self.backend)
        return Head() if self.found() is None else self.backend.head(self.conversation_id)

    def new_since(self, after: int, limit: int) -> NewSince:
        """Return where the conversation stands, and at most `limit` events after a version."""
        self._spool.settle(self.backend)
        return self.backend.new_since(self.conversation_id, after, limit)

    def version_if_known(self) -> int | None:
        """Return the last version; None where the log cannot be asked. Records nothing."""
        try:
            return 0 if self.found() is None else self.backend.head(self.conversation_id).version
        except (OnrecordError, OSError):
            return None

    def known_head(self) -> Head:
        """Return the head, as far as decisions need it that only ask for an open conversation.

        One that was found open is not asked for again: should it be closed meanwhile, the log refuses
        what comes next.
        """
        if self._begun:
            return Head(version=1)
        head = self.head()
        self._begun = head.version > 0 and not head.closed
        return head

    def beginning(self) -> tuple[Event, ...]:
        """Return what begins the conversation, unless it has begun: the caller appends it before all else.

        From here on it counts as begun, so that what is drafted behind does not ask the log again.
        """
        events = start(self.known_head(), self.key)
        self._begun = self._begun or bool(events)
        return events

    def append(
        self,
        *events: Event,
        expected_version: int | None = None,
        causation_id: UUID | None = None,
        metadata: Mapping[str, str] = NO_METADATA,
    ) -> Done:
        """Record events, all or none, as one durable commit; `metadata` goes into their headers.

        Raises VersionConflict where `expected_version` was given and is not the last one, and
        IdempotencyMismatch where an id stands for other content.
        """
        self._spool.settle(self.backend)
        by = self.attribution()
        drafted = tuple(self.draft(each, causation_id, metadata=metadata, by=by) for each in events)
        if self._begun:
            return self.append_drafted(drafted, expected_version)
        return append_first(self, drafted, expected_version)

    def append_drafted(
        self, drafted: tuple[NewEvent, ...], expected_version: int | None = None
    ) -> Done:
        """Record events that are drafted already; errors as `append`.

        A conversation owns what its events refer to: a fork takes a copy of what its origin has.
        """
        with operation(names.APPEND, self.key) as observed:
            request = Append(self.tenant, self.conversation_id, drafted, expected_version)
            try:
                done = append_to(self._appends, request)
            except DocumentMissing:
                if not self._takes_from_origin(drafted):
                    raise
                done = append_to(self._appends, request)
            observed.at(done.last)
        self._begun = True
        return done

    def draft(
        self,
        event: Event,
        causation_id: UUID | None = None,
        *,
        event_id: UUID | None = None,
        metadata: Mapping[str, str] = NO_METADATA,
        by: Attribution | None = None,
    ) -> NewEvent:
        """Return an event of this conversation ready for the log, stamped with this moment.

        The names of who does it are written to the directory at once, durably, where they are new:
        no event is to be there before its name is. `by` is who does it, where that is not who uses the stream.
        """
        who = self.attribution() if by is None else by
        if who.names:
            self.names.keep(who)  # Before the event: a name that no event bears harms nobody.
        stamp = Stamp(
            event_id=event_id or uuid7(),
            occurred_at=time.time_ns() // 1000,
            salt=os.urandom(SALT_SIZE),
            tenant=self.tenant,
            conversation_id=self.conversation_id,
            actor=who.actor,
            correlation_id=who.trace.trace_id if who.trace else None,
            causation_id=causation_id,
            metadata={**metadata, **who.metadata()} if who else metadata,
            subjects=self.subjects,
        )
        return draft(event, stamp)

    def attribution(self) -> Attribution:
        """Return who acts here and now: as the scope says, else the holder; with the program's trace, if any."""
        # Late: `import onrecord` needs neither.
        from onrecord.adapters.streams.scopes import attribution_in, holding
        from onrecord.adapters.telemetry.tracing import current_trace

        return attribution_in(self, holding(), self.holder).traced(current_trace())

    def shared(self) -> Stream:
        """Return the stream of the same conversation that is no holder's own."""
        if not self.holder:
            return self
        shared = copy(self)
        shared.holder = NOBODY
        return shared

    def appending_by(self, appends: Appends) -> Stream:
        """Return the stream of the same conversation whose events are appended by something else."""
        joined = copy(self)
        joined._appends = appends
        return joined

    def is_same(self, other: Stream) -> bool:
        """Whether another holder's stream is of the same conversation of the same store."""
        places = (self.backend, self.tenant, self.key), (other.backend, other.tenant, other.key)
        return places[0] == places[1]

    def look_again(self) -> None:
        """Ask the log itself before the next thing is said: it may be closed."""
        self._begun = False

    def put(self, chunks: Iterable[bytes]) -> Blob:
        """Store bytes beside the log, as they come, and return their reference."""
        return self.backend.put_blob(self.tenant, self.conversation_id, chunks)

    def holds(self, blob: Blob) -> bool:
        """Whether this conversation has the bytes of a blob, or one that it was forked from."""
        if self.found() is None:
            return False
        return has_blob(self.backend, owners_of(self._whole()), blob)

    def blob(self, blob: Blob) -> bytes:
        """Return the bytes of a blob of this conversation, or of one that it was forked from."""
        return blob_among(self.backend, self._whole(), blob)

    def _takes_from_origin(self, drafted: tuple[NewEvent, ...]) -> bool:
        """Copy the blobs of events from what the conversation was forked from; say if any was."""
        origins = [owner for owner in owners_of(self._whole()) if owner != self.conversation_id]
        missing = (b for event in drafted for b in event.blobs if isinstance(b, Blob))
        copied = False
        for blob in dict.fromkeys(missing):
            if has_blob(self.backend, (self.conversation_id,), blob):
                continue
            for origin in origins:
                with suppress(CorruptRecord):
                    self.put(self.backend.get_blob(origin, blob))
                    copied = True
                    break
        return copied

    def read(self, *, after: int = 0, until: int | None = None) -> Iterator[RecordedEvent]:
        """Yield events with after < version <= until, in order."""
        self._spool.settle(self.backend)
        if self.found() is not None:
            yield from self.backend.read(self.conversation_id, after=after, until=until)

    def events(self, after: int, until: int | None) -> list[RecordedEvent]:
        """Return events with after < version <= until, in order."""
        with operation(names.READ, self.key) as observed:
            events = list(self.read(after=after, until=until))
            observed.at(events[-1].version if events else after)
        return events

    def read_through(self, until: int) -> Iterator[RecordedEvent]:
        """Yield the events up to a version, on any line; those of what it was forked from first."""
        return read_through(self.backend, self.lineages().whole(until))

    def _whole(self) -> tuple[LineSegment, ...]:
        """Return all that was recorded until now, on any line, and in what this was forked from."""
        return self.lineages().whole(self.head().version)

    def lineage(self, version: int, head: Head | None = None) -> tuple[LineSegment, ...]:
        """Return what the conversation is made of at a version; `head` is where it stands now."""
        return self.lineages().at(version, head)

    def lineages(self) -> Lineages:
        """Return what tells what the conversation is made of."""
        if self._lineages is None:
            self._lineages = Lineages(self.backend, self.conversation_id, (self.tenant, self.key))
        return self._lineages
