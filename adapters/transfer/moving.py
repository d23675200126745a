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
from onrecord.adapters.streams.stream import done_of
from onrecord.adapters.transfer.export import bytes_among
from onrecord.adapters.transfer.importing import again
from onrecord.adapters.transfer.moved_conversations import (
    FORGOTTEN,
    MovedActors,
    MovedConversation,
    MovedConversations,
)
from onrecord.adapters.transfer.moved_documents import MovedDocuments
from onrecord.adapters.transfer.moved_erasures import ToldErasures
from onrecord.domain.content import Blob
from onrecord.domain.encryption.bodies import key_name_in
from onrecord.domain.encryption.keys import key_name
from onrecord.domain.encryption.subjects import subjects_of
from onrecord.domain.errors import ConversationForgotten, CorruptRecord, InvalidInput
from onrecord.domain.events import ConversationStarted
from onrecord.domain.log import Append, Backend, Cursor, NewEvent, RecordedEvent
from onrecord.domain.marks.marked_ids import is_marked
from onrecord.domain.operators import INTENDED, ErasureIntended, LogMoved, decode_fact
from onrecord.domain.seals.merkle import EMPTY, Tree
from onrecord.projections.verification.moved_events import ANOTHER, difference, moved_header
from onrecord.projections.verification.moves import pair_leaf
from onrecord.projections.verification.verification import commitment_faults

Mode: TypeAlias = Literal["plan", "move", "check"]

Subjects: TypeAlias = Mapping[tuple[UUID, str], tuple[str, ...]]
"""Names of those whom a conversation is about, by its tenant and key."""

_PAGE: Final = 256
_BATCH_BYTES: Final = 1024 * 1024
NO_SUBJECTS: Final[Subjects] = {}
_NO_ERASURE: Final = "no erasure there tells of it: restore that log or its key store from a backup, and run `onrecord verify`"


@dataclass(slots=True)
class TenantMove:
    """What of a tenant was moved, or would be: `pairs` is the tree over both leaves of each event.

    `events` are to be in the new log, `recorded` of them are new there. `left_out` says why conversations
    are left out. `textless` of the events were compared by their headers alone. `bound` is what the new log tells of it, and `is_new` whether that was recorded now.
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
                recorder = _Recorder(self._source, self._destination, self._actors)
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
                why = f"{why}, as the conversation{_keyed(known)} was gone on with in both logs: move into a new log"
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


class _Recorder:
    """Records events of the old log in the new one, in batches."""

    def __init__(self, source: Backend, destination: EncryptedLog, actors: MovedActors) -> None:
        self._source = source
        self._destination = destination
        self._actors = actors
        self._waiting = dict[UUID, tuple[MovedConversation, list[NewEvent]]]()
        self._size = 0
        self._stored = set[tuple[UUID, str]]()

    def take(self, event: RecordedEvent, known: MovedConversation) -> bool:
        """Record an event with the next batch; return False where it is there already, or erased in both."""
        if event.version <= known.present:
            self._must_be_under(event, known)
            return False
        if event.body is None:
            if not known.is_erased:
                raise _forgotten_meanwhile(event.conversation_id)
            return False
        actor_of = partial(self._actors.moved, known.tenant)
        new = again(event)._replace(header=moved_header(event.header, actor_of))
        if event.version == 1:
            self._open(event, known)
            new = new._replace(subjects=known.subjects)
        for blob in new.blobs:
            if isinstance(blob, Blob):
                self._store(event, known, blob)
        _, events = self._waiting.setdefault(event.conversation_id, (known, []))
        events.append(new)
        self._size += len(new.body)
        if self._size >= _BATCH_BYTES:
            self.flush()
        return True

    def flush(self) -> None:
        """Record what waits, durably."""
        appends = [
            Append(known.tenant, id_, tuple(events), known.present)
            for id_, (known, events) in self._waiting.items()
        ]
        verdicts = self._destination.append(appends) if appends else []
        for append, verdict in zip(appends, verdicts, strict=True):
            known, _ = self._waiting[append.conversation_id]
            try:
                known.present = done_of(append, verdict).last
            except ConversationForgotten:
                id_ = append.conversation_id
                raise InvalidInput(
                    f"the conversation {id_}{_keyed(known)} was forgotten in the new log, and goes on in the "
                    "old one: forget it there too, and move again"
                ) from None
        self._waiting.clear()
        self._size = 0

    def _open(self, first: RecordedEvent, known: MovedConversation) -> None:
        begun = first.event()
        if not isinstance(begun, ConversationStarted):
            return
        id_ = first.conversation_id
        if self._destination.open(known.tenant, begun.key, id_) != id_:
            raise InvalidInput(
                f"another conversation of the new log has the key of {id_}: move into a log that has "
                "nothing of these conversations yet"
            )

    def _store(self, event: RecordedEvent, known: MovedConversation, blob: Blob) -> None:
        """Store a document in the conversation, once a page."""
        name = event.conversation_id, blob.sha256
        if name in self._stored:
            return
        if not known.present:
            self.flush()  # What comes before the first event would be under other keys.
        chunks = bytes_among(self._source, known.owners, blob)
        self._destination.put_blob(known.tenant, event.conversation_id, chunks)
        self._stored.add(name)

    def _must_be_under(self, first: RecordedEvent, known: MovedConversation) -> None:
        """Raise InvalidInput where a conversation that is there already is of other subjects."""
        if first.version > 1 or not known.subjects:
            return
        wanted = self._keys_of(first, known)
        for begun in self._destination.stored.first_events((first.conversation_id,)):
            if self._destination.readable(begun).body is None:
                return  # It was erased there, with its subjects perhaps.
            if wanted is None or key_name_in(begun.header) != wanted:
                raise InvalidInput(
                    f"the conversation {first.conversation_id} was moved before, and is of other "
                    "subjects there: leave them out, or move into a new log"
                )

    def _keys_of(self, first: RecordedEvent, known: MovedConversation) -> str | None:
        """Return the name of the keys that its subjects have; None where one has none. None is made."""
        keys = self._destination.keys
        if keys is None:
            return None
        subjects = subjects_of(known.tenant, first.conversation_id, known.subjects)
        key_ids = [key_id for each in subjects if (key_id := keys.key_id_of(each)) is not None]
        return key_name(key_ids) if len(key_ids) == len(subjects) else None


def _forgotten_meanwhile(conversation_id: UUID) -> InvalidInput:
    return InvalidInput(
        f"the conversation {conversation_id} was forgotten in the old log after some of it was moved: "
        "forget it in the new one too, and move again"
    )


def _keyed(known: MovedConversation) -> str:
    return "" if known.key is None else f" {known.key!r}"


def _not_all() -> InvalidInput:
    return InvalidInput(
        "this role does not see all events of the old log: connect to it as one that does, or as its owner"
    )


def _named(event: RecordedEvent) -> str:
    return (
        f"version {event.version} of the conversation {event.conversation_id} (position "
        f"{event.position} of shard {event.shard} of the old log)"
    )
