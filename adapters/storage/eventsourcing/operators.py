"""The operators' stream as an application of the `eventsourcing` library, on a store that is open."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final
from uuid import UUID

from eventsourcing.application import AggregateNotFoundError, Application
from eventsourcing.domain import Aggregate, AggregateEvent, DomainEventProtocol
from eventsourcing.persistence import ApplicationRecorder, IntegrityError, Mapper, StoredEvent
from eventsourcing.utils import Environment, EnvType

from onrecord.adapters.storage.append import let_log_know
from onrecord.adapters.storage.eventsourcing.backend_recorder import BackendRecorder
from onrecord.adapters.storage.eventsourcing.erasures import DestroyedKey, Erasure, LastAndNext
from onrecord.adapters.storage.eventsourcing.retention import Hold, Retention
from onrecord.adapters.storage.eventsourcing.stored_events import aggregate_event, fact_of
from onrecord.domain.erasure.targets import (
    CONVERSATION,
    NO_SUBJECT,
    ErasureTarget,
    SubjectOutcome,
)
from onrecord.domain.errors import CorruptRecord, InvalidInput, StorageReadOnly
from onrecord.domain.log import Backend
from onrecord.domain.marks.marked_ids import (
    destroyed_key_id,
    erasure_id,
    hold_id,
    is_hold,
    operators_of,
)
from onrecord.domain.operators import (
    CLEARED,
    COMPLETED,
    DESTROYED,
    INTENDED,
    LIFTED,
    PLACED,
    REFUSED,
    RETAINED,
    SCHEMA_VERSION,
    SHAPES,
    RetentionClass,
    decode_fact,
    encode_fact,
    retention_id,
)
from onrecord.projections.history.erasure_records import erasure_entry

logger = logging.getLogger("onrecord")

_FIRST: Final = 1
_TRIES: Final = 8

_KINDS: Final[Mapping[str, tuple[type[Aggregate], type[AggregateEvent]]]] = {
    INTENDED: (Erasure, Erasure.Intended),
    COMPLETED: (Erasure, Erasure.Completed),
    REFUSED: (Erasure, Erasure.Refused),
    DESTROYED: (DestroyedKey, DestroyedKey.Destroyed),
    PLACED: (Hold, Hold.Placed),
    LIFTED: (Hold, Hold.Lifted),
    RETAINED: (Retention, Retention.Changed),
    CLEARED: (Retention, Retention.Cleared),
}
_NAMES: Final[Mapping[type[object], str]] = {
    **{kind: name for name, (_, kind) in _KINDS.items()},
    Retention.Begun: RETAINED,
}


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
        aggregate, kind = _KINDS[stored_event.topic]
        if kind is Retention.Changed and stored_event.originator_version == _FIRST:
            kind = Retention.Begun
        return aggregate_event(kind, aggregate, stored_event, dict(fact))


class Operators(Application[UUID]):
    """What people did to the store of a tenant: erasures, legal holds, retention classes."""

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

        So it is where it takes no more and was neither completed nor refused: nobody can complete it.
        """
        # The head first: another may complete it meanwhile, and then its events say so.
        closed = self._backend.head(id_).closed
        entry = erasure_entry(self._backend.read(id_), operators_of(self._tenant))
        if closed and entry is not None and not entry.is_over:
            raise CorruptRecord("an erasure is closed, and was not completed")
        try:
            erasure: Erasure = self.repository.get(id_)
        except AggregateNotFoundError:
            return None
        return erasure

    def last_and_next(self, conversation_id: UUID) -> LastAndNext:
        """Return the last erasure of a conversation that can be read, and the number of the next one."""
        try:
            return self._sought(conversation_id)
        except CorruptRecord:
            return self._walked(conversation_id)

    def _sought(self, conversation_id: UUID) -> LastAndNext:
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
        return LastAndNext(last, missing)

    def _walked(self, conversation_id: UUID) -> LastAndNext:
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
                    return LastAndNext(last, number)
                last = erasure
            number += 1

    def _numbered(self, conversation_id: UUID, number: int) -> Erasure | None:
        return self.erasure(erasure_id(self._tenant, conversation_id, number))

    def intend(
        self,
        conversation_id: UUID,
        actor: str,
        reason: str,
        found: LastAndNext | None = None,
        of: ErasureTarget = CONVERSATION,
    ) -> Erasure:
        """Return the erasure of a conversation that is under way: one that is intended now, if none is.

        It is durable. Two that intend one at once get the same. `found` is what `last_and_next`
        gave to a caller who decided by it: then one that another completed meanwhile
        is returned.
        """
        last, number = found or self.last_and_next(conversation_id)
        if last is not None and not last.is_over:
            return last
        erasure = Erasure(
            self._tenant,
            conversation_id,
            number,
            actor,
            reason,
            of.named,
            of.subject,
            of.key,
            of.rule,
            of.part_of,
        )
        try:
            self._save(erasure, actor)
        except IntegrityError:
            begun = self.erasure(erasure.id)
            if begun is None:  # The stream takes nothing: no other began it.
                raise
            return begun
        return erasure

    def complete(
        self,
        id_: UUID,
        events: int,
        forks: Sequence[UUID] | None,
        actor: str | None,
        subject: SubjectOutcome = NO_SUBJECT,
    ) -> Erasure:
        """Return an erasure that is completed: now, or by another who was at it too.

        `actor` is who completes it, if that is known: it need not be who intended it.
        """
        erasure = self._begun(id_)
        if erasure.is_completed:
            return erasure
        erasure.complete(events, forks, subject)
        return self._ended(erasure, actor)

    def destroy_key(self, key: str, erasure: UUID, actor: str | None) -> None:
        """Say that the key of a subject goes, durably, unless that was said before."""
        self._make_tenant_known()
        id_ = destroyed_key_id(self._tenant, key)
        if self._backend.head(id_).version:
            return
        try:
            self._save(DestroyedKey(self._tenant, key, erasure), actor)
        except IntegrityError:
            if not self._backend.head(id_).version:
                raise

    def refuse(self, id_: UUID, hold: UUID, actor: str | None) -> Erasure:
        """Return an erasure that a hold refused: now, or by another who was at it too."""
        erasure = self._begun(id_)
        if erasure.refused_by is not None:
            return erasure
        erasure.refuse(hold)
        return self._ended(erasure, actor)

    def _begun(self, id_: UUID) -> Erasure:
        erasure = self.erasure(id_)
        if erasure is None:
            raise CorruptRecord("no erasure has that id: run `onrecord verify`")
        return erasure

    def _ended(self, erasure: Erasure, actor: str | None) -> Erasure:
        """Return an erasure once its end is recorded, by this one or by another."""
        try:
            self._save(erasure, actor)
        except IntegrityError:
            done = self.erasure(erasure.id)
            if done is None or not done.is_over:
                raise
            return done
        return erasure

    def place_hold(
        self, conversation_id: UUID | None, matter: str, actor: str, reason: str
    ) -> Hold:
        """Return a new hold on a conversation, or on all that the tenant has; it is durable."""
        self._make_tenant_known()
        number = 0
        while True:
            id_ = hold_id(self._tenant, conversation_id, number)
            if self._backend.head(id_).version:
                number += 1
                continue
            hold = Hold(self._tenant, conversation_id, number, matter, actor, reason)
            try:
                self._save(hold, actor)
            except IntegrityError:
                if not self._backend.head(id_).version:
                    raise
                continue  # Another placed one at the same time.
            return hold

    def lift_hold(self, id_: UUID, actor: str, reason: str) -> bool:
        """Lift a hold; return False where it was lifted before. InvalidInput where there is none."""
        if not is_hold(id_) or self._backend.owner(id_) != operators_of(self._tenant):
            raise InvalidInput("no hold of this tenant has that id: list them to see which do")
        hold: Hold = self.repository.get(id_)
        if hold.is_lifted:
            return False
        hold.lift(actor, reason)
        try:
            self._save(hold, actor)
        except IntegrityError:
            if not self._backend.head(id_).closed:
                raise
            return False
        return True

    def set_retention(
        self,
        conversation_id: UUID | None,
        label: str | None,
        value: str | None,
        keep: RetentionClass,
        actor: str,
        rule: str,
    ) -> UUID:
        """Set the retention class of a conversation, a label or the tenant; return the id of its stream.

        Of two who set it at once each one does, one behind the other.
        """
        self._make_tenant_known()
        of = conversation_id, label, value
        id_ = self._retention_id(*of)

        def changed() -> Retention:
            retention = self._retention(id_)
            if retention is None:
                return Retention.begin(id_, self._tenant, *of, keep, actor, rule)
            retention.change(keep, actor, rule)
            return retention

        self._save_behind_others(changed, actor)
        return id_

    def clear_retention(
        self,
        conversation_id: UUID | None,
        label: str | None,
        value: str | None,
        actor: str,
        reason: str,
    ) -> bool:
        """Take the retention class of a conversation, a label or the tenant back; return False where none is."""
        id_ = self._retention_id(conversation_id, label, value)

        def cleared() -> Retention | None:
            retention = self._retention(id_)
            if retention is None or retention.keep is None:
                return None
            retention.clear(actor, reason)
            return retention

        return self._save_behind_others(cleared, actor)

    def _retention_id(
        self, conversation_id: UUID | None, label: str | None, value: str | None
    ) -> UUID:
        return retention_id(self._backend.digest, self._tenant, conversation_id, label, value)

    def _retention(self, id_: UUID) -> Retention | None:
        """Return the retention class of a stream; None where none was ever set."""
        if self._backend.owner(id_) not in (None, operators_of(self._tenant)):
            raise CorruptRecord("the operators of another tenant took its id: run verify")
        try:
            retention: Retention = self.repository.get(id_)
        except AggregateNotFoundError:
            return None
        return retention

    def _save_behind_others(self, changed: Callable[[], Retention | None], actor: str) -> bool:
        """Record a change of what is there, looked at anew where others were faster; False for none."""
        for attempt in range(_TRIES):
            if (retention := changed()) is None:
                return False
            try:
                self._save(retention, actor)
            except IntegrityError:
                if attempt == _TRIES - 1:
                    raise
            else:
                break
        return True

    def _make_tenant_known(self) -> None:
        """Let the log know the tenant before its operators' stream.

        An eraser may not, and writes for operators' streams of tenants only that are known.
        """
        with suppress(StorageReadOnly):
            let_log_know(self._backend, self._tenant)

    def _save(self, aggregate: Aggregate, actor: str | None) -> None:
        self.save(aggregate, actor=None if actor is None else self._backend.digest(actor).hex())
