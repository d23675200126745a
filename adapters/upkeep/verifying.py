"""A store checked against what it committed to: every table of its log, row by row.

First the log, shard by shard, in the order of positions: leaves, headers, and the root of each
shard. Then each conversation, as it is at one moment: its head, its derived columns, its key, its
documents, whether it was forgotten. Last what belongs to no conversation. Nobody who records waits
for it; on SQLite, whoever forgets waits for the conversation that is being read. What they do
meanwhile is no fault.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final
from uuid import UUID

from onrecord.adapters.encryption.encrypted_log import address_in, readable_in, without_bodies
from onrecord.adapters.encryption.readable_log import is_marked_encrypted
from onrecord.adapters.encryption.unsaid_keys import unsaid_key_faults
from onrecord.adapters.seals.trust import NO_SEALS, Seals
from onrecord.adapters.upkeep.erasing import erasures_of, is_of_another
from onrecord.adapters.upkeep.verified import Verified, unread_events
from onrecord.adapters.upkeep.verifying_documents import StoredDocuments
from onrecord.adapters.upkeep.verifying_holds import broken_hold_faults
from onrecord.adapters.upkeep.verifying_seals import SealedLog
from onrecord.domain.errors import CorruptRecord, counted
from onrecord.domain.inventory import (
    Moment,
    StoredBlob,
    StoredEvent,
    StoredHead,
    StoredKey,
    StoredSnapshot,
    events_at,
    recorded_at_moment,
)
from onrecord.domain.log import Backend, Cursor, RecordedEvent
from onrecord.domain.marks.marked_ids import is_erasure, stream_kind
from onrecord.domain.seals.checkpoint import log_id_of
from onrecord.domain.seals.merkle import EMPTY, Root, Tree
from onrecord.domain.seals.tiles import TileWriter, no_tile
from onrecord.projections.history.erasure_records import ErasureEntry, erasure_entry
from onrecord.projections.verification.belongings import (
    References,
    actor_faults,
    erasure_faults,
    key_faults,
    operators_faults,
    origin_faults,
    snapshot_faults,
)
from onrecord.projections.verification.encryption import BodyCodecs
from onrecord.projections.verification.verification import (
    Fault,
    Fold,
    Happened,
    commitment_faults,
    happened_in,
    place_faults,
)

_PAGE: Final = 256
_HEADS: Final = 64

Progress = Callable[[int, int], None]
"""Is told how many events were looked at, and how many there are: each is looked at twice."""


def no_progress(done: int, total: int) -> None:
    """Let progress pass."""


def verify_log(
    backend: Backend,
    *,
    roots: Iterable[Root] = (),
    seals: Seals = NO_SEALS,
    progress: Progress = no_progress,
) -> Verified:
    """Check all events of all shards, all conversations, and what belongs to none.

    `roots` are those that were written down before, and `seals` says where checkpoints are: the log
    must still have them.
    """
    check = _Check(backend, progress, seals)
    cursors, wanted = backend.cursors(), list(dict.fromkeys(roots))
    check.total = 2 * sum(last.position for last in cursors)
    trees = [check.shard(last, wanted) for last in cursors]
    check.unknown_shards(cursors, wanted)
    check.conversations()
    shards = {last.shard for last in cursors}
    check.oddities(is_compared=shards <= {root.shard for root in wanted})
    return check.done(trees)


def verify_conversation(backend: Backend, conversation_id: UUID) -> Verified:
    """Check the events of one conversation and all that belongs to it."""
    check = _Check(backend, no_progress, NO_SEALS)
    with backend.inventory().moment() as moment:
        head = moment.head(conversation_id)
        read = None if head is None else check.read(moment, head)
    if read is not None:
        check.conversation(read)
    elif any(backend.read(conversation_id, limit=1)):
        check.add([_headless(conversation_id)])
    return check.done(())


@dataclass(frozen=True, slots=True)
class _ConversationRows:
    """A conversation as it was at a moment, and what belonged to it."""

    head: StoredHead
    fold: Fold
    references: References
    erasures: int
    recorded_erasures: Sequence[ErasureEntry]
    keys: Sequence[StoredKey]
    snapshots: Sequence[StoredSnapshot]
    blobs: Sequence[StoredBlob]


class _Check:
    """What was counted and found so far."""

    def __init__(self, backend: Backend, progress: Progress, seals: Seals) -> None:
        self._backend = backend = without_bodies(backend, uses_keys=True)
        self._seals = SealedLog(log_id_of(backend.digest), seals)
        self._inventory = backend.inventory()
        self._progress = progress
        self._faults: list[Fault] = []
        self._headless, self._erased_by_operators = set[UUID](), set[UUID]()
        self._erased_unbegun: list[UUID] = []
        self._ends: dict[int, int] = {}
        self._stored = StoredDocuments(backend, self._inventory)
        self._events = self._erased = self._conversations = self._newer = self._unread = 0
        self._keys = self._snapshots = self._erasures = self._blobs = 0
        self._streams, self._codecs = Counter[str](), BodyCodecs()
        self._beside, self._confirmed_roots, self._unchecked = list[str](), list[str](), list[str]()
        self._looked_at = self.total = 0

    def add(self, faults: Iterable[Fault]) -> None:
        self._faults += faults

    def shard(self, last: Cursor, wanted: Sequence[Root]) -> tuple[int, Tree]:
        """Check the events of a shard up to its last position, and its roots; return its tree."""
        sealed, before = self._seals.shard(last.shard), None
        writer = TileWriter(0, no_tile, sealed.tile)
        self._ends[last.shard] = last.position
        roots = [root for root in wanted if root.shard == last.shard]
        sizes = {root.size for root in roots}
        sealed.grown(writer)
        for stored in self._log(last):
            event = stored.event
            self.add(place_faults(event, before))
            self._committed(event)
            if not stored.begun and event.conversation_id not in self._headless:
                self._headless.add(event.conversation_id)
                self.add([_headless(event.conversation_id)])
            writer.add(event.leaf)
            before = event
            sealed.grown(writer)
            if writer.size in sizes:
                self._compare(roots, writer.tree())
        tree = writer.tree()
        self._seals.take(sealed, tree.size, partial(self._leaves, last))
        self._compare([root for root in roots if not root.size], EMPTY)
        for root in roots:
            if root.size > tree.size:
                why = f"shard {root.shard} was cut: it had {root.size} events, it has {tree.size}"
                self.add([Fault(None, 0, why)])
        return last.shard, tree

    def _committed(self, event: RecordedEvent) -> None:
        self._codecs.take(event)
        self.add(commitment_faults(event))

    def _compare(self, roots: Iterable[Root], tree: Tree) -> None:
        """Compare the roots of a size with what the log comes to at that size."""
        for root in roots:
            if root.size != tree.size:
                continue
            if root.hash == tree.root():
                self._confirmed_roots.append(f"root {root}: the log still has it")
            else:
                why = f"shard {root.shard} was rewritten: it had another root at size {root.size}"
                self.add([Fault(None, 0, why)])

    def unknown_shards(self, cursors: Sequence[Cursor], roots: Iterable[Root]) -> None:
        """Take note of roots of shards that the log does not have."""
        for root in roots:
            if root.shard not in {last.shard for last in cursors}:
                self.add([Fault(None, 0, f"the log has no shard {root.shard}")])

    def conversations(self) -> None:
        """Check each conversation that has a head, each at a moment of its own.

        While a moment lasts nothing erased can leave the disk, and whoever erases waits for that.
        """
        # First of all: an erasure is told of before it is noted, so each of these will be come by.
        self._erased_unbegun = self._inventory.erased_unbegun()
        after: UUID | None = None
        while heads := self._heads(after):
            for listed in heads:
                with self._inventory.moment() as moment:
                    head = moment.head(listed.conversation_id)
                    # One id may have heads in two shards, which is a fault: each is checked.
                    own = head if head is not None and head.shard == listed.shard else listed
                    read = self.read(moment, own)
                self.conversation(read)
            self._progress(self._looked_at, self.total)
            after = heads[-1].conversation_id
        self._progress(self._looked_at, self.total)

    def _heads(self, after: UUID | None) -> list[StoredHead]:
        with self._inventory.moment() as moment:
            return moment.heads(after, _HEADS)

    def read(self, moment: Moment, head: StoredHead) -> _ConversationRows:
        """Read a conversation as it is at a moment."""
        fold, references = Fold(head.conversation_id, self._backend.digest), References()
        for stored in events_at(moment, head):
            event = stored.event
            if not self._was_in_log(event):
                self._committed(event)
            happened = self._happened(event)
            self.add(fold.take(stored, happened))
            references.take(event, happened, partial(address_in, self._backend, event))
        erasures = moment.erasures(head)
        return _ConversationRows(
            head,
            fold,
            references,
            erasures,
            self._recorded_erasures(moment, head) if head.forgotten or erasures else (),
            moment.keys(head),
            moment.snapshots(head),
            moment.blobs(head),
        )

    def _happened(self, event: RecordedEvent) -> Happened | None:
        """Return what happened; as if it was erased, with a fault, where a body cannot be decrypted."""
        try:
            return happened_in(readable_in(self._backend, event))
        except CorruptRecord as error:
            self.add([Fault(event.conversation_id, event.version, str(error))])
            return happened_in(event._replace(body=None))

    def conversation(self, read: _ConversationRows) -> None:
        """Check a conversation that was read, after the moment: it borrows connections itself."""
        head, fold, erasures, keys = read.head, read.fold, read.erasures, read.keys
        if fold.is_operators:
            self._streams[stream_kind(head.conversation_id)] += 1
        else:
            self._conversations += 1
        self.add(fold.head_faults(head))
        if not fold.events:
            return
        self.add(erasure_faults(fold, head, erasures, read.recorded_erasures))
        self.add(broken_hold_faults(self._backend, head, read.recorded_erasures))
        if fold.is_operators and is_erasure(head.conversation_id):
            self._targets(head)
        elif fold.is_operators:
            events = self._backend.read(head.conversation_id)
            self.add(operators_faults(head, events, self._backend.digest))
        self.add(key_faults(fold, head, keys, erasures, self._backend.digest))
        self.add(unsaid_key_faults(self._backend, head, fold.unread_under))
        self.add(origin_faults(fold, self._backend.owner))
        self.add(snapshot_faults(head, read.snapshots))
        self.add(self._stored.faults(head, fold, read.references, read.blobs))
        self._keys += len(keys)
        self._erasures += erasures
        self._snapshots += len(read.snapshots)
        self._blobs += len(read.blobs)
        self._events += fold.events
        self._erased += fold.erased
        self._newer += fold.newer > 0
        self._unread += fold.unread
        self._looked_at += fold.events

    def _was_in_log(self, event: RecordedEvent) -> bool:
        """Return whether the pass over its shard came by an event."""
        return 0 < event.position <= self._ends.get(event.shard, 0)

    def _recorded_erasures(self, moment: Moment, head: StoredHead) -> list[ErasureEntry]:
        """Return the erasures of a conversation that operators' streams told of at its moment.

        Later ones are not of the head that was read then.
        """

        def unreadable(stream: UUID, error: CorruptRecord) -> None:
            why = f"its erasure {stream} cannot be read: {error}"
            self.add([Fault(head.conversation_id, 0, why)])

        read = partial(recorded_at_moment, moment)
        return list(erasures_of(read, head.tenant, head.conversation_id, unreadable))

    def _targets(self, head: StoredHead) -> None:
        """Where a stream is an erasure that was completed, its conversation must be forgotten."""
        try:
            entry = erasure_entry(self._backend.read(head.conversation_id), head.tenant)
        except CorruptRecord as error:
            self.add([Fault(head.conversation_id, 0, f"this erasure cannot be read: {error}")])
            return
        if entry is not None:
            self._erased_by_operators.add(entry.conversation_id)
            if entry.intention.subject is not None:
                return  # Its conversations have erasures of their own.
            # Documents alone may have been erased under an id before another tenant began it.
            erased_nothing = entry.outcome is not None and not entry.outcome.events
            if not erased_nothing and is_of_another(
                self._backend, entry.intention.tenant, entry.conversation_id
            ):
                why = "this erasure is of what another tenant has: nobody carries it out"
                self.add([Fault(head.conversation_id, 0, why)])
                return
        if not head.head.closed or (entry is not None and entry.refusal is not None):
            return
        if entry is None or entry.outcome is None:
            self.add([Fault(head.conversation_id, 0, "it is closed, and tells of no erasure")])
            return
        with self._inventory.moment() as moment:
            target = moment.head(entry.conversation_id)
        if entry.outcome.events and (target is None or not target.forgotten):
            why = "its erasure is told of, and it does not count as forgotten"
            self.add([Fault(entry.conversation_id, 0, why)])

    def oddities(self, *, is_compared: bool) -> None:
        """Check what belongs to no conversation, or to one that has not begun."""
        self.add(Fault(odd.conversation_id, 0, odd.why) for odd in self._inventory.oddities())
        for conversation_id in sorted({*self._erased_unbegun} - self._erased_by_operators):
            why = "an erasure of it is noted, and no operator's erasure tells of it"
            self.add([Fault(conversation_id, 0, why)])
        self.add(actor_faults(self._backend.actors().stored(), self._backend.digest))
        self._beside.append("the schema, and the rows that belong to no conversation")
        self._beside += self._inventory.seen()
        self._unchecked = self._inventory.unseen()
        if not (is_compared or self._seals.is_compared() or self._inventory.is_marked()):
            self._unchecked.append(
                "whether the log was cut or set back: give --root with a root that was written down, or "
                "--seals with a place where it is sealed"
            )

    def done(self, trees: Iterable[tuple[int, Tree]]) -> Verified:
        self._seals.finish()
        self.add(self._seals.faults)
        # Last: it is set, and never taken back.
        self.add(self._codecs.faults(is_marked=is_marked_encrypted(self._backend)))
        unread = unread_events(self._newer, self._unread)
        return Verified(
            self._events,
            self._erased,
            self._conversations,
            tuple(dict.fromkeys(self._faults)),
            tuple(Root(shard, tree.size, tree.root()) for shard, tree in trees),
            checked=self._checked(),
            unchecked=(*self._unchecked, *self._seals.unchecked, *unread),
            seals=tuple(self._seals.seals),
            recorded_erasures=self._streams["erasure"],
            recorded_keys=self._streams["key"],
            recorded_holds=self._streams["hold"],
            recorded_classes=self._streams["retention class"],
        )

    def _checked(self) -> tuple[str, ...]:
        return (
            f"{counted(self._events, 'event')}: leaf, digest, header, place, and the columns beside them",
            f"{counted(self._conversations + self._streams.total(), 'head')} and {counted(self._keys, 'key')}: as the events say",
            f"{counted(self._erasures, 'erasure')} and {counted(self._snapshots, 'snapshot')}: of conversations that are there",
            f"{counted(self._blobs, 'document')}: the bytes, and whether an event refers to them",
            *self._beside,
            *self._confirmed_roots,
            *self._seals.checked,
        )

    def _log(self, last: Cursor) -> Iterator[StoredEvent]:
        for page in self._pages(last):
            yield from page
            self._looked_at += len(page)
            self._progress(self._looked_at, self.total)

    def _leaves(self, last: Cursor) -> Iterator[bytes]:
        """Read the leaves of a shard once more: where seals say that some of them are wrong."""
        return (stored.event.leaf for page in self._pages(last) for stored in page)

    def _pages(self, last: Cursor) -> Iterator[list[StoredEvent]]:
        after = 0
        while after < last.position:
            limit = min(_PAGE, last.position - after)
            page = self._inventory.log(last.shard, after, limit)
            if not page:
                return
            yield [stored for stored in page if stored.event.position <= last.position]
            after = page[-1].event.position


def _headless(conversation_id: UUID) -> Fault:
    return Fault(conversation_id, 0, "it has events, and no head says where it stands")
