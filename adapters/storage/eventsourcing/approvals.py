"""Approvals as an application of the `eventsourcing` library, in the conversation of the call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal
from uuid import UUID, uuid5

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
    conversation_of,
    fact_of,
)
from onrecord.adapters.storage.eventsourcing.subscriptions import NotificationSubscription
from onrecord.adapters.storage.subscription import Wakeups
from onrecord.domain.encoding import decode, encode
from onrecord.domain.errors import AlreadyDecided, ApprovalNotAsked, InvalidInput
from onrecord.domain.events import Event
from onrecord.domain.log import RecordedEvent
from onrecord.domain.tools import ApprovalDecided, ApprovalRequested

Decision = Literal["granted", "denied"]

_REQUESTED: Final = "approval.requested"
_DECIDED: Final = "approval.decided"
_FIRST: Final = 1


class Approval(Aggregate):
    """The question to a person whether a call is to be made.

    What holds of it: it is asked once; it is decided once, by somebody who is known.
    """

    class Requested(Aggregate.Created):
        """Somebody is asked."""

        conversation_id: UUID
        call_id: str
        call: int
        number: int
        unsure: bool

    class Decided(Aggregate.Event):
        """Somebody granted or denied the call."""

        call_id: str
        call: int
        number: int
        decision: Decision
        reason: str | None

    @event(Requested)
    def __init__(
        self, conversation_id: UUID, call_id: str, call: int, number: int, *, unsure: bool
    ) -> None:
        """Ask about a call; `number` counts the questions about it from 0."""
        self.call_id = call_id
        self.call = call
        self.number = number
        self.unsure = unsure
        self.decision: Decision | None = None

    @staticmethod
    def create_id(conversation_id: UUID, call_id: str, call: int, number: int) -> UUID:
        """Return the id that whoever asks the same gives it too: they meet in one approval."""
        return uuid5(conversation_id, f"approval:{call}:{number}:{call_id}")

    def decide(self, decision: Decision, reason: str | None, actor: str | None) -> None:
        """Decide it; AlreadyDecided where somebody did, InvalidInput where nobody says who decides."""
        if actor is None:
            raise InvalidInput("say who decides: give actor=, or set ONRECORD_ACTOR")
        if self.decision is not None:
            raise AlreadyDecided(self.decision)
        self._decide(self.call_id, self.call, self.number, decision, reason)

    @event(Decided)
    def _decide(
        self, call_id: str, call: int, number: int, decision: Decision, reason: str | None
    ) -> None:
        self.decision = decision


class ApprovalsRecorder(ApplicationRecorder):
    """Events of approvals as events of their conversation: erased, verified and exported with it.

    An approval has no stream of its own. That a version of it is taken once follows from a name
    that a conversation can hold only once (`name_of_step`), in the transaction of the append.
    """

    def __init__(
        self,
        conversation_id: UUID,
        read: Callable[[], Iterable[RecordedEvent]],
        record: Callable[[Event], bool],
    ) -> None:
        """Record in a conversation: `record` returns False where another has the version already."""
        self._conversation_id = conversation_id
        self._read = read
        self._record = record
        self._wakeups = Wakeups()

    def insert_events(
        self, stored_events: Sequence[StoredEvent], **kwargs: Any
    ) -> Sequence[int] | None:
        """Record an event of an approval; IntegrityError where its version is taken."""
        if len(stored_events) != 1:
            raise ProgrammingError("save an approval after each thing that happens to it")
        (stored,) = stored_events
        happened = decode(stored.topic, 1, stored.state)
        if not isinstance(happened, ApprovalRequested | ApprovalDecided):
            raise ProgrammingError("these are approvals: no other events are recorded here")
        if not self._record(happened):
            raise IntegrityError("that version of the approval is taken")
        self._wakeups.appended()
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
        """Return the events of an approval, in order of version or the last first."""
        place = conversation_of(originator_id)
        stored = [
            each
            for _, each in self._stored()
            if each.originator_id == place
            and each.originator_version > (gt or 0)
            and (lte is None or each.originator_version <= lte)
        ]
        return (stored[::-1] if desc else stored)[:limit]

    def select_notifications(
        self,
        start: int | None,
        limit: int,
        stop: int | None = None,
        topics: Sequence[str] = (),
        *,
        inclusive_of_start: bool = True,
    ) -> Sequence[Notification]:
        """Return the events of the conversation's approvals from a position on, in order."""
        after = 0 if start is None else start - inclusive_of_start
        return [
            Notification(
                each.originator_id, each.originator_version, each.topic, each.state, id=at.position
            )
            for at, each in self._stored()
            if after < at.position
            and (stop is None or at.position <= stop)
            and (not topics or each.topic in topics)
        ][:limit]

    def max_notification_id(self) -> int | None:
        """Return the position of the last event."""
        return max((at.position for at, _ in self._stored()), default=None)

    def subscribe(
        self, gt: int | None = None, topics: Sequence[str] = ()
    ) -> Subscription[ApplicationRecorder]:
        """Return the events after a position, those to come included."""
        return NotificationSubscription(self, self._wakeups, gt, topics)

    def _stored(self) -> Iterator[tuple[RecordedEvent, StoredEvent]]:
        """Yield the events of all approvals of the conversation, in order."""
        for recorded in self._read():
            if recorded.type not in (_REQUESTED, _DECIDED):
                continue
            happened = recorded.event()
            if not isinstance(happened, ApprovalRequested | ApprovalDecided):
                continue
            place = Approval.create_id(
                self._conversation_id, happened.call_id, happened.call, happened.number
            )
            version = _FIRST + (recorded.type == _DECIDED)
            yield recorded, StoredEvent(place, version, recorded.type, encode(happened))


_KINDS: Final[Mapping[str, type[AggregateEvent]]] = {
    _REQUESTED: Approval.Requested,
    _DECIDED: Approval.Decided,
}


class ApprovalsMapper(Mapper[UUID]):
    """Maps the events of approvals to the events that docs/format.md specifies, and back."""

    conversation_id: UUID

    def to_stored_event(self, domain_event: DomainEventProtocol[UUID]) -> StoredEvent:
        """Return the stored event: its topic is the stored name, its state the body."""
        body = fact_of(domain_event)
        body.pop("conversation_id", None)  # It is the place.
        is_first = isinstance(domain_event, Approval.Requested)
        shape = ApprovalRequested if is_first else ApprovalDecided
        return StoredEvent(
            domain_event.originator_id,
            domain_event.originator_version,
            _REQUESTED if is_first else _DECIDED,
            encode(shape(**body)),
        )

    def to_domain_event(self, stored_event: StoredEvent) -> DomainEventProtocol[UUID]:
        """Return the event; CorruptRecord where the state is not what the topic says."""
        happened: Any = decode(stored_event.topic, 1, stored_event.state)
        fact = {name: value for name, value in happened if name != "line"}
        if stored_event.topic == _REQUESTED:
            fact["conversation_id"] = self.conversation_id
        return aggregate_event(_KINDS[stored_event.topic], Approval, stored_event, fact)


class Approvals(Application[UUID]):
    """The approvals of one conversation."""

    def __init__(self, recorder: ApprovalsRecorder, conversation_id: UUID) -> None:
        """Keep them by a recorder."""
        self._approvals_recorder = recorder
        self._conversation_id = conversation_id
        super().__init__()

    def construct_env(self, name: str, env: EnvType | None = None) -> Environment:
        """Return an environment that says nothing: the process's is for others' applications."""
        return Environment(name, env)

    def construct_mapper(self) -> Mapper[UUID]:
        """Return ours."""
        mapper = ApprovalsMapper(self.construct_transcoder())
        mapper.conversation_id = self._conversation_id
        return mapper

    def construct_recorder(self) -> ApplicationRecorder:
        """Return the recorder of the conversation."""
        return self._approvals_recorder

    def request(self, call_id: str, call: int, number: int, *, unsure: bool) -> bool:
        """Ask a person about a call; False where somebody asked the same first."""
        try:
            self.save(Approval(self._conversation_id, call_id, call, number, unsure=unsure))
        except IntegrityError:
            return False
        return True

    def decide(
        self,
        asked: tuple[str, int, int],
        decision: Decision,
        reason: str | None,
        actor: str | None,
    ) -> None:
        """Decide what was asked: of which call, in which version, by which number.

        `actor` is the digest of who decides. AlreadyDecided where somebody else was first,
        ApprovalNotAsked where nobody was asked.
        """
        id_ = Approval.create_id(self._conversation_id, *asked)
        approval = self._approval(id_)
        approval.decide(decision, reason, actor)
        try:
            self.save(approval)
        except IntegrityError:
            first = self._approval(id_).decision
            if first is None:
                raise
            raise AlreadyDecided(first) from None

    def _approval(self, id_: UUID) -> Approval:
        try:
            approval: Approval = self.repository.get(id_)
        except AggregateNotFoundError:
            raise ApprovalNotAsked from None
        return approval
