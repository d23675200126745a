"""The way of all conversations of a log in clear into an encrypted one, and what binds the two.

The old log is walked in the order of its positions. Each page is recorded in the new log as far as it is
missing there, then read back and compared, and each event's two leaves go into a tree. So a move that was
stopped is done again from the beginning, and records nothing twice.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Literal, TypeAlias
from uuid import UUID

from onrecord.adapters.encryption.encrypted_log import EncryptedLog
from onrecord.adapters.transfer.move_recorder import MoveRecorder
from onrecord.adapters.transfer.moved_conversations import (
    FORGOTTEN,
    MovedActors,
    MovedConversation,
    MovedConversations,
)
from onrecord.adapters.transfer.moved_documents import MovedDocuments
from onrecord.adapters.transfer.moved_erasures import ToldErasures
from onrecord.domain.errors import CorruptRecord, InvalidInput
from onrecord.domain.log import Backend, Cursor, RecordedEvent
from onrecord.domain.marks.marked_ids import is_marked
from onrecord.domain.operators import INTENDED, ErasureIntended, LogMoved, decode_fact
from onrecord.domain.seals.merkle import EMPTY, Tree
from onrecord.projections.verification.moved_events import ANOTHER, difference
from onrecord.projections.verification.moves import pair_leaf
from onrecord.projections.verification.verification import commitment_faults

Mode: TypeAlias = Literal["plan", "move", "check"]

Subjects: TypeAlias = Mapping[tuple[UUID, str], tuple[str, ...]]
"""Names of those whom a conversation is about, by its tenant and key."""

_PAGE: Final = 256
NO_SUBJECTS: Final[Subjects] = {}
_NO_ERASURE: Final = (
    "no erasure there tells of it: restore that log or its key store from a backup, and run "
    "`onrecord verify`"
)


@dataclass(slots=True)
class TenantMove:
    """What of a tenant was moved, or would be: `pairs` is the tree over both leaves of each event.

    `events` are to be in the new log, `recorded` of them are new there. `left_out` says why conversations
    are left out. `textless` of the events were compared by their headers alone. `bound` is what the new log
    tells of it, and `is_new` whether that was recorded now.
    """

    tenant: UUID
    pairs: Tree = EMPTY
    events: int = 0
    recorded: int = 0
    textless: int = 0
    conversations: set[UUID] = field(default_factory=set[UUID])
    left_out: dict[UUID, str] = field(default_factory=dict[UUID, str])
    bound: LogMoved | None = None
    is_new: bool = False


class ShardWalk:
    """A walk over a shard of the old log, in the order of its positions; it may go on where it ended.

    `tree` is the tree over the events that it came by, `tenants` what of each tenant it found,
    `beyond` how many events of each tenant were to be moved, and come behind its end.
    """

    def __init__(
        self,
        source: Backend,
        destination: EncryptedLog | None,
        last: Cursor,
        *,
        ends: Mapping[UUID, int] | None = None,
        subjects: Subjects = NO_SUBJECTS,
        mode: Mode,
    ) -> None:
        """Walk all of a shard, or what is of some tenants, each up to the position in `ends`.

        To "move" records what is missing, to "check" finds it wrong and reads documents too, to "plan" counts it.
        """
        self.shard = last.shard
        self.tree = EMPTY
        self.tenants = dict[UUID, TenantMove]()
        self.beyond = Counter[UUID]()
        self._source = source
        self.incarnation = last.incarnation
        self._ends = ends
        self._destination = destination
        self._mode = mode
        self._conversations = MovedConversations(source, destination, subjects)
        self._actors = None if destination is None else MovedActors(source, destination)
        self._erasures = ToldErasures(source)
        self._documents = (
            MovedDocuments(destination) if destination is not None and mode == "check" else None
        )
        self._new_erasures = None if destination is None else ToldErasures(destination)
        self._to_erase = set[UUID]()

    def advance(self, until: int, progress: Callable[[int], None]) -> None:
        """Go on to a position; CorruptRecord at the first event that is damaged or not the same there."""
        for page in self._pages(until):
            chosen = [(event, known) for event in page if (known := self._chosen(event))]
            if self._destination is None or self._mode == "plan":
                for event, known in chosen:
                    self._count(event, known)
                progress(self.tree.size)
                continue
            if self._mode == "move" and self._actors is not None:
                recorder = MoveRecorder(self._source, self._destination, self._actors)
                for event, known in chosen:
                    self._of(known.tenant).recorded += recorder.take(event, known)
                recorder.flush()
            there = self._there(chosen)
            for event, known in chosen:
                self._pair(event, known, there)
            progress(self.tree.size)

    def end(self) -> None:
        """Raise InvalidInput where something was forgotten in the old log while it was moved."""
        for conversation_id in self._to_erase:
            self._conversations.must_not_be_forgotten(conversation_id)

    def _pages(self, until: int) -> Iterator[list[RecordedEvent]]:
        while self.tree.size < until:
            after = Cursor(self.incarnation, self.shard, self.tree.size)
            page = self._source.read_log(after, min(_PAGE, until - self.tree.size))
            if not page:
                raise _not_all()
            for event in page:
                if event.position != self.tree.size + 1:
                    raise _not_all()
                for fault in commitment_faults(event):
                    raise CorruptRecord(f"{_named(event)} is damaged: {fault.why}")
                self.tree = self.tree.grown(event.leaf)
            yield page

    def _chosen(self, event: RecordedEvent) -> MovedConversation | None:
        """Return the conversation of an event that is moved; None where it is none, or left out."""
        if is_marked(event.conversation_id):
            self._note_erasure(event)
            return None
        known = self._conversations.of(event)
        if self._ends is not None and event.position > self._ends.get(known.tenant, 0):
            is_gone = event.body is None and event.version > known.present
            self.beyond[known.tenant] += known.why_left_out is None and not is_gone
            return None
        moved = self._of(known.tenant)
        if known.why_left_out is not None:
            is_gone = known.why_left_out == FORGOTTEN
            if is_gone and not self._erasures.is_forgotten(known.tenant, event.conversation_id):
                raise CorruptRecord(
                    f"{_named(event)} has no text in the old log, and {_NO_ERASURE}"
                )
            moved.left_out[event.conversation_id] = known.why_left_out
            return None
        moved.conversations.add(event.conversation_id)
        return known

    def _of(self, tenant: UUID) -> TenantMove:
        if tenant not in self.tenants:
            self.tenants[tenant] = TenantMove(tenant)
        return self.tenants[tenant]

    def _note_erasure(self, event: RecordedEvent) -> None:
        if event.type == INTENDED and event.body is not None:
            fact = decode_fact(event.type, event.schema_version, event.body)
            if isinstance(fact, ErasureIntended):
                self._to_erase.add(fact.conversation_id)

    def _count(self, event: RecordedEvent, known: MovedConversation) -> None:
        """Count an event that would be moved, or is there: not what was forgotten before all was moved."""
        is_missing, moved = event.version > known.present, self._of(known.tenant)
        if is_missing and event.body is None:
            return
        moved.events += 1
        moved.recorded += is_missing

    def _there(
        self, chosen: Sequence[tuple[RecordedEvent, MovedConversation]]
    ) -> Mapping[tuple[UUID, int], RecordedEvent]:
        """Return the events of the new log that are at the places of some of the old one."""
        versions = defaultdict[UUID, list[int]](list)
        for old, _ in chosen:
            versions[old.conversation_id].append(old.version)
        if self._destination is None:
            return {}
        read = self._destination.stored.read
        return {
            (id_, new.version): new
            for id_, numbers in versions.items()
            for new in read(id_, after=min(numbers) - 1, until=max(numbers))
        }

    def _pair(
        self,
        old: RecordedEvent,
        known: MovedConversation,
        there: Mapping[tuple[UUID, int], RecordedEvent],
    ) -> None:
        new, moved = there.get((old.conversation_id, old.version)), self._of(known.tenant)
        if self._destination is None or self._actors is None:
            return
        if new is None:
            if old.body is None and self._erasures.explain(known.tenant, old):
                return  # It was forgotten in both, before all of it was moved.
            raise CorruptRecord(f"{_named(old)} is not in the new log")
        for fault in commitment_faults(new):
            raise CorruptRecord(f"{_named(old)} is damaged in the new log: {fault.why}")
        try:
            readable = self._destination.readable(new)
        except CorruptRecord:
            raise CorruptRecord(f"{_named(old)} cannot be decrypted in the new log") from None
        why = difference(old, readable, partial(self._actors.is_same, known.tenant))
        if why is not None:
            if why == ANOTHER:
                why = f"{why}, as the conversation{known.shown_key} was gone on with in both logs: move into a new log"
            raise CorruptRecord(f"{_named(old)} is not the same in the new log: {why}")
        self._must_be_erased(old, new, readable, known)
        if self._documents and (damage := self._documents.fault(readable)) is not None:
            raise CorruptRecord(
                f"a document of {_named(old)} cannot be read in the new log: {damage}"
            )
        moved.events += 1
        moved.textless += old.body is None or readable.body is None
        moved.pairs = moved.pairs.grown(pair_leaf(old.leaf, new.leaf))

    def _must_be_erased(
        self,
        old: RecordedEvent,
        new: RecordedEvent,
        readable: RecordedEvent,
        known: MovedConversation,
    ) -> None:
        """Raise CorruptRecord where an event has no text in a log, and no erasure of that log explains it."""
        if old.body is None and not self._erasures.explain(known.tenant, old):
            raise CorruptRecord(f"{_named(old)} has no text in the old log, and {_NO_ERASURE}")
        told = self._new_erasures
        if readable.body is None and told is not None and not told.explain(known.tenant, new):
            raise CorruptRecord(f"{_named(old)} cannot be read in the new log, and {_NO_ERASURE}")


def _not_all() -> InvalidInput:
    return InvalidInput(
        "this role does not see all events of the old log: connect to it as one that does, or as its owner"
    )


def _named(event: RecordedEvent) -> str:
    return (
        f"version {event.version} of the conversation {event.conversation_id} (position "
        f"{event.position} of shard {event.shard} of the old log)"
    )
