"""The operators' stream as an application of the `eventsourcing` library, on a store that is open."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from eventsourcing.application import AggregateNotFoundError, Application
from eventsourcing.domain import (
    Aggregate,
    AggregateEvent,
    DomainEventProtocol,
    event,
)
from eventsourcing.persistence import (
    ApplicationRecorder,
    IntegrityError,
    Mapper,
    Notification,
    ProgrammingError,
    StoredEvent,
    Subscription,
)
from eventsourcing.utils import Environment, EnvType

from onrecord.adapters.storage.eventsourcing.stored_events import (
    aggregate_event,
    appends_of,
    conversation_of,
    fact_of,
    must_be_recorded,
)
from onrecord.adapters.storage.eventsourcing.subscriptions import NotificationSubscription
from onrecord.adapters.storage.subscription import Wakeups
from onrecord.domain.errors import CorruptRecord, InvalidInput
from onrecord.domain.log import BEFORE_FIRST, Backend, RecordedEvent
from onrecord.domain.operators import (
    COMPLETED,
    INTENDED,
    SCHEMA_VERSION,
    SHAPES,
    decode_fact,
    encode_fact,
    erasure_id,
    operators_of,
)
from onrecord.projections.history.erasure_records import erasure_entry

# A recorder of the `eventsourcing` library on a backend that is open, whichever it is.
#
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


class Erasure(Aggregate):
    """The erasure of one conversation of a tenant.

    What holds of it: somebody intends it, by name and for a reason; it is completed once; what is
    erased is not among the forks that stay.
    """

    class Intended(Aggregate.Created):
        """Somebody is about to erase the conversation."""

        tenant: UUID
        conversation_id: UUID
        number: int
        actor: str
        reason: str
        named: str | None

    class Completed(Aggregate.Event):
        """All of it went."""

        tenant: UUID
        conversation_id: UUID
        events: int
        forks: tuple[UUID, ...] | None

    @event(Intended)
    def __init__(
        self,
        tenant: UUID,
        conversation_id: UUID,
        number: int,
        actor: str,
        reason: str,
        named: str | None = None,
    ) -> None:
        """Begin it; `number` counts the erasures of the conversation from 0.

        `named` is the digest of the actor whose name is erased, where it is no conversation.
        """
        if not actor.strip() or not reason.strip():
            raise InvalidInput("an erasure needs who does it and why: give actor= and reason=")
        self.tenant = tenant
        self.conversation_id = conversation_id
        self.number = number
        self.actor = actor
        self.reason = reason
        self.named = named
        self.is_completed = False
        self.events = 0
        self.forks: tuple[UUID, ...] | None = ()

    @staticmethod
    def create_id(tenant: UUID, conversation_id: UUID, number: int) -> UUID:
        """Return the id that whoever begins the same erasure gives it too."""
        return erasure_id(tenant, conversation_id, number)

    def complete(self, events: int, forks: Sequence[UUID] | None) -> None:
        """Say that all of it went: how many events, and which forks stay (None: nobody can tell)."""
        if self.is_completed:
            raise InvalidInput("the erasure was completed already: nothing of it is left to do")
        if forks is not None and self.conversation_id in forks:
            raise InvalidInput("what was erased cannot stay: name its forks only")
        staying = None if forks is None else tuple(dict.fromkeys(forks))
        self._complete(self.tenant, self.conversation_id, events, staying)

    @event(Completed)
    def _complete(
        self, tenant: UUID, conversation_id: UUID, events: int, forks: tuple[UUID, ...] | None
    ) -> None:
        self.is_completed = True
        self.events = events
        self.forks = forks


logger = logging.getLogger("onrecord")

_KINDS: Final[Mapping[str, type[AggregateEvent]]] = {
    INTENDED: Erasure.Intended,
    COMPLETED: Erasure.Completed,
}
_NAMES: Final[Mapping[type[object], str]] = {kind: name for name, kind in _KINDS.items()}


class OperatorsMapper(Mapper[UUID]):
    """Maps the events of aggregates to the facts that docs/format.md specifies, and back."""

    def to_stored_event(self, domain_event: DomainEventProtocol[UUID]) -> StoredEvent:
        """Return the stored event: its topic is the stored name, its state the body."""
        name = _NAMES[type(domain_event)]
        return StoredEvent(
            domain_event.originator_id,
            domain_event.originator_version,
            name,
            encode_fact(SHAPES[name](**fact_of(domain_event))),
        )

    def to_domain_event(self, stored_event: StoredEvent) -> DomainEventProtocol[UUID]:
        """Return the event; CorruptRecord where the state is not what the topic says."""
        fact = decode_fact(stored_event.topic, SCHEMA_VERSION, stored_event.state)
        return aggregate_event(_KINDS[stored_event.topic], Erasure, stored_event, dict(fact))


class Operators(Application[UUID]):
    """What people did to the store of a tenant: erasures, so far."""

    def __init__(self, backend: Backend, tenant: UUID) -> None:
        """Keep it in the log of a backend, beside the tenant's conversations."""
        self._backend = backend
        self._tenant = tenant
        super().__init__()

    def construct_env(self, name: str, env: EnvType | None = None) -> Environment:
        """Return an environment that says nothing: the process's is for others' applications."""
        return Environment(name, env)

    def construct_mapper(self) -> Mapper[UUID]:
        """Return ours."""
        return OperatorsMapper(self.construct_transcoder())

    def construct_recorder(self) -> ApplicationRecorder:
        """Return a recorder on the backend."""
        return BackendRecorder(self._backend, operators_of(self._tenant))

    def erasure(self, id_: UUID) -> Erasure | None:
        """Return an erasure; None if there is none of that id, CorruptRecord if it cannot be read.

        So it is where it takes no more and was not completed: nobody can complete it.
        """
        # The head first: another may complete it meanwhile, and then its events say so.
        closed = self._backend.head(id_).closed
        entry = erasure_entry(self._backend.read(id_), operators_of(self._tenant))
        if closed and entry is not None and entry.outcome is None:
            raise CorruptRecord("an erasure is closed, and was not completed")
        try:
            erasure: Erasure = self.repository.get(id_)
        except AggregateNotFoundError:
            return None
        return erasure

    def last_and_next(self, conversation_id: UUID) -> tuple[Erasure | None, int]:
        """Return the last erasure of a conversation that can be read, and the number of the next one."""
        try:
            return self._sought(conversation_id)
        except CorruptRecord:
            return self._walked(conversation_id)

    def _sought(self, conversation_id: UUID) -> tuple[Erasure | None, int]:
        """Return the same where all can be read.

        Their numbers have no gap: nobody else has ids such as theirs. So the first one that is not there is looked for in steps that
        double, then by halves: a conversation that never begins may be erased many times.
        """
        last: Erasure | None = None
        missing = 0
        while (erasure := self._numbered(conversation_id, missing)) is not None:
            last, missing = erasure, 2 * missing + 1
        while last is not None and missing - last.number > 1:
            middle = (last.number + missing) // 2
            erasure = self._numbered(conversation_id, middle)
            last, missing = (last, middle) if erasure is None else (erasure, missing)
        return last, missing

    def _walked(self, conversation_id: UUID) -> tuple[Erasure | None, int]:
        """Return the same one by one: what cannot be read is passed over, and may leave gaps.

        Whoever may erase could put it there, and no conversation is kept from being erased by that.
        """
        last: Erasure | None = None
        number = 0
        while True:
            try:
                erasure = self._numbered(conversation_id, number)
            except CorruptRecord as error:
                logger.warning("an erasure is passed over, for it cannot be read: %s", error)
            else:
                if erasure is None:
                    return last, number
                last = erasure
            number += 1

    def _numbered(self, conversation_id: UUID, number: int) -> Erasure | None:
        return self.erasure(erasure_id(self._tenant, conversation_id, number))

    def intend(
        self,
        conversation_id: UUID,
        actor: str,
        reason: str,
        last_and_number: tuple[Erasure | None, int] | None = None,
        named: str | None = None,
    ) -> Erasure:
        """Return the erasure of a conversation that is under way: one that is intended now, if none is.

        It is durable. Two that intend one at once get the same. `last_and_number` is what
        `last_and_next` gave to a caller who decided by it: then one that another completed meanwhile
        is returned.
        """
        last, number = last_and_number or self.last_and_next(conversation_id)
        if last is not None and not last.is_completed:
            return last
        erasure = Erasure(self._tenant, conversation_id, number, actor, reason, named)
        try:
            self._save(erasure, actor)
        except IntegrityError:
            begun = self.erasure(erasure.id)
            if begun is None:  # The stream takes nothing: no other began it.
                raise
            return begun
        return erasure

    def complete(
        self, id_: UUID, events: int, forks: Sequence[UUID] | None, actor: str | None
    ) -> Erasure:
        """Return an erasure that is completed: now, or by another who was at it too.

        `actor` is who completes it, if that is known: it need not be who intended it.
        """
        erasure = self.erasure(id_)
        if erasure is None:
            raise CorruptRecord("no erasure has that id: run `onrecord verify`")
        if erasure.is_completed:
            return erasure
        erasure.complete(events, forks)
        try:
            self._save(erasure, actor)
        except IntegrityError:
            done = self.erasure(id_)
            if done is None or not done.is_completed:
                raise
            return done
        return erasure

    def _save(self, erasure: Erasure, actor: str | None) -> None:
        self.save(erasure, actor=None if actor is None else self._backend.digest(actor).hex())
