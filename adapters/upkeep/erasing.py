"""How a conversation is erased: the intent first, then all that says something, then the outcome.

Each step is durable before the next one begins, and may be done twice. So a death anywhere leaves
an erasure that is intended and not completed, and whoever comes next does the rest. A legal hold that
was placed before the intent, by their places in the log, refuses it; one that was placed later does not.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final
from uuid import UUID

from onrecord.adapters.encryption.encrypted_log import stored_of
from onrecord.adapters.inputs.arguments import text_given
from onrecord.adapters.storage.clocks import clock_doubts
from onrecord.adapters.upkeep.holds import hold_on, must_not_be_on_hold, refusal_of
from onrecord.domain.encryption.bodies import keys_looked_for
from onrecord.domain.erasure.targets import CONVERSATION, ErasureTarget
from onrecord.domain.errors import (
    ConversationOnHold,
    CorruptRecord,
    InvalidInput,
    StorageError,
    StorageReadOnly,
)
from onrecord.domain.log import Backend, RecordedEvent
from onrecord.domain.marks.marked_ids import erasure_id, is_erasure, operators_of
from onrecord.projections.history.erasure_records import ErasureEntry, erasure_entry

if TYPE_CHECKING:
    from onrecord.adapters.storage.eventsourcing.operators import Operators


logger = logging.getLogger("onrecord")


@dataclass(frozen=True, slots=True)
class ForgetResult:
    """How many events were erased, and where their bytes may still be on the disk.

    `residue` is a sentence a place, each with what to do; empty if there is none.
    """

    events: int
    residue: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SweepResult:
    """How many documents were deleted, what was written anew, and what is left to do.

    `rewritten` names the files, on PostgreSQL the tables, that were written anew: nothing of what was
    forgotten is left in them. `residue` is as a `ForgetResult` has it; `doubts` are sentences about
    the store's clock.
    """

    documents: int
    rewritten: tuple[str, ...]
    residue: tuple[str, ...]
    doubts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Erasing:
    """The erasures of a tenant's conversations, recorded in its operators' stream.

    `erase` takes away all that a conversation says, wherever it is, and returns how many events it
    erased in the log; `forks` returns the forks that stay, None where nobody can tell.
    """

    backend: Backend
    tenant: UUID
    erase: Callable[[UUID], int]
    forks: Callable[[UUID], Sequence[UUID] | None]

    def forget(
        self,
        conversation_id: UUID,
        actor: str,
        reason: str,
        of: ErasureTarget = CONVERSATION,
    ) -> int:
        """Erase a conversation; return how many events that were, 0 if they were erased before.

        `of` says whether it is the name of an actor, by an id of its own, or goes with its subject: then a
        hold counts by the intent to erase that. ConversationOnHold where a legal hold keeps it.
        """
        operators = self.operators()
        # Looked for once: who looked again could begin a second erasure behind a quicker one's first.
        found = operators.last_and_next(conversation_id)
        last, _ = found
        if last is not None and last.is_completed and _says_nothing(self.backend, conversation_id):
            return self.erase(conversation_id)  # A Redis that was away may be there by now.
        if of.part_of is None and (last is None or last.is_over):
            must_not_be_on_hold(self.backend, self.tenant, conversation_id)
        erasure = operators.intend(conversation_id, actor, reason, found, of)
        return self._finish(operators, erasure.id, conversation_id, actor)

    def resume(self, actor: str | None) -> int:
        """Finish what was intended and never completed; return how many erasures that were.

        A role that may not erase finishes none. One that cannot be finished is left to the next.
        """
        if not self.backend.may_forget():
            return 0
        unfinished = list(unfinished_erasures(self.backend, self.tenant))
        if not unfinished:
            return 0
        operators = self.operators()
        return sum(self._finished(operators, entry, actor) for entry in unfinished)

    def _finished(self, operators: Operators, entry: ErasureEntry, actor: str | None) -> bool:
        try:
            if entry.intention.subject is not None:
                from onrecord.adapters.subjects.erasing import resumed

                return resumed(self, entry, actor)
            self._finish(operators, entry.erasure_id, entry.conversation_id, actor)
        except (StorageError, ConversationOnHold) as error:
            logger.warning("an erasure that was begun could not be finished: %s", error)
            return False
        return True

    def _finish(
        self, operators: Operators, erasure_id: UUID, conversation_id: UUID, actor: str | None
    ) -> int:
        if is_of_another(self.backend, self.tenant, conversation_id):
            raise CorruptRecord(f"{conversation_id} is another tenant's: run `onrecord verify`")
        before = intent_position(self.backend, self.tenant, erasure_id)
        hold = hold_on(self.backend, self.tenant, conversation_id, before=before)
        if hold is not None:
            operators.refuse(erasure_id, hold.hold_id, actor)
            raise refusal_of(hold)
        events = self.erase(conversation_id) or _erased_events(self.backend, conversation_id)
        forks = self.forks(conversation_id)
        return operators.complete(erasure_id, events, forks, actor).events

    def sweep(
        self,
        older_than: timedelta,
        actor: str | None,
        rewrite: Callable[[], tuple[str, ...]],
        residue: Callable[[], tuple[str, ...]],
    ) -> SweepResult:
        """Finish what was begun, delete documents that nothing refers to, and write anew what held any."""
        self.must_be_allowed()
        self.resume(actor)
        swept = self.backend.sweep_blobs(older_than // timedelta(microseconds=1))
        return SweepResult(swept, rewrite(), residue(), clock_doubts(stored_of(self.backend)))

    def must_be_allowed(self) -> None:
        """Refuse a role that may not erase, and say which one may: StorageReadOnly."""
        if not self.backend.may_forget():
            raise StorageReadOnly(
                "this role may not erase or sweep: connect as an eraser, a role that the log's owner "
                "let in with SELECT onrecord.admit_eraser('role'), or as the owner"
            )

    def operators(self) -> Operators:
        """Return what people did to the store; StorageReadOnly for a role that may not erase."""
        self.must_be_allowed()
        # Loading the library takes longer than most commands do: it waits until it is needed.
        from onrecord.adapters.storage.eventsourcing.operators import Operators

        return Operators(self.backend, self.tenant)


ACTOR_ID_VERSION: Final = 5
"""Of UUIDs that names of actors are erased by (domain/actors.py)."""


def tenant_of(backend: Backend, erased: UUID) -> UUID | None:
    """Return whose a conversation is, or the name of an actor that is erased by such an id.

    None where nothing was said in it yet, and where no such name is kept.
    """
    owner = backend.owner(erased)
    if owner is not None or erased.version != ACTOR_ID_VERSION:
        return owner
    rows = backend.actors().stored()
    return next((UUID(bytes=row.tenant) for row in rows if row.actor_id == erased.bytes), None)


def is_of_another(backend: Backend, tenant: UUID, erased: UUID) -> bool:
    """Return whether what is to be erased is known to be another tenant's."""
    return tenant_of(backend, erased) not in (None, tenant)


def operator_name(actor: str | None, default: str | None) -> str:
    """Return who acts on the store, by name; InvalidInput where neither is somebody."""
    who = default if actor is None else text_given("an actor", actor)
    if who is None or not who.strip():
        raise InvalidInput("say who acts: give actor=, or set ONRECORD_ACTOR")
    return who


def _warn_unreadable(stream: UUID, error: CorruptRecord) -> None:
    logger.warning("the erasure %s cannot be read: %s", stream, error)


def erasures(backend: Backend, tenant: UUID) -> Iterator[ErasureEntry]:
    """Yield the erasures of a tenant's conversations, the one that moved last first.

    One that cannot be read is left out, with a warning; `verify` names it too.
    """
    operators = operators_of(tenant)
    for listed in backend.conversations(operators):
        stream = listed.conversation_id
        if is_erasure(stream):
            yield from _readable(stream, backend.read(stream), operators, _warn_unreadable)


def _readable(
    stream: UUID,
    events: Iterable[RecordedEvent],
    operators: UUID,
    unreadable: Callable[[UUID, CorruptRecord], None],
) -> Iterator[ErasureEntry]:
    """Yield the erasure of a stream, if it can be read."""
    try:
        entry = erasure_entry(events, operators)
    except CorruptRecord as error:
        unreadable(stream, error)
        return
    if entry is not None:
        yield entry


def erasures_of(
    read: Callable[[UUID], Iterable[RecordedEvent]],
    tenant: UUID,
    conversation_id: UUID,
    unreadable: Callable[[UUID, CorruptRecord], None] = _warn_unreadable,
) -> Iterator[ErasureEntry]:
    """Yield the erasures of a tenant's conversation, the first one first: there is seldom more than one.

    `read` gives the events of a stream. `unreadable` is told which ones cannot be read.
    """
    operators = operators_of(tenant)
    for number in itertools.count():
        stream = erasure_id(tenant, conversation_id, number)
        events = list(read(stream))
        if not events:
            return
        yield from _readable(stream, events, operators, unreadable)


def unfinished_erasures(backend: Backend, tenant: UUID) -> Iterator[ErasureEntry]:
    """Yield the erasures that were intended and not completed: the streams that are not closed.

    One that cannot be read is left out, with a warning: it keeps nobody from the store.
    """
    operators = operators_of(tenant)
    for stream in backend.open_conversations(operators):
        if not is_erasure(stream):
            continue
        for entry in _readable(stream, backend.read(stream), operators, _warn_unreadable):
            if not entry.is_over:
                yield entry


def intent_position(backend: Backend, tenant: UUID, erasure: UUID) -> int:
    """Return the place in the shard by which holds count: that of the intent to erase.

    Of what goes with its subject, it is the place of the intent to erase that.
    """
    operators = operators_of(tenant)
    own = erasure_entry(backend.read(erasure, limit=1), operators)
    if own is None:
        raise CorruptRecord("no erasure has that id: run `onrecord verify`")
    if own.intention.part_of is None:
        return own.position
    whole = erasure_entry(backend.read(own.intention.part_of, limit=1), operators)
    first = next(backend.read(own.conversation_id, limit=1), None)
    # An eraser may say so of anything: only what is under the key of the subject goes with it.
    keys = () if first is None else keys_looked_for(first.header)
    is_its_own = whole is not None and whole.intention.key in keys
    return whole.position if whole is not None and is_its_own else own.position


def forks_left(backend: Backend, tenant: UUID, conversation_id: UUID) -> list[UUID] | None:
    """Return the forks of what was erased; None where another conversation is damaged."""
    from onrecord.adapters.streams.listing import forks_of

    try:
        return [fork.conversation_id for fork in forks_of(backend, tenant, conversation_id)]
    except CorruptRecord:
        return None


def must_be_erasable(backend: Backend, tenant: UUID, conversation_id: UUID) -> None:
    """Raise ConversationOnHold where a hold keeps what nobody intended to erase before it was placed."""
    if _says_nothing(backend, conversation_id):
        return
    begun = [one for one in erasures_of(backend.read, tenant, conversation_id) if not one.is_over]
    must_not_be_on_hold(
        backend, tenant, conversation_id, before=begun[-1].position if begun else None
    )


def _says_nothing(backend: Backend, conversation_id: UUID) -> bool:
    first = next(backend.read(conversation_id, limit=1), None)
    return first is not None and first.body is None


def _erased_events(backend: Backend, conversation_id: UUID) -> int:
    """Return how many events were erased by who died before it could say so."""
    return sum(event.body is None for event in backend.read(conversation_id))
