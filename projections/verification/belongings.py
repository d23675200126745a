"""What must hold of the rows that belong to a conversation beside its events and its head.

Its name in the catalogue, its documents, its snapshots, and that it was forgotten: each follows from
the events, or cannot be there without them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias
from uuid import UUID

from onrecord.domain.actors import ActorName, actor_id
from onrecord.domain.blobs import digest_of
from onrecord.domain.content import Blob, KeyedBlob
from onrecord.domain.encoding import Erased, Unrecognised
from onrecord.domain.errors import CorruptRecord
from onrecord.domain.events import RequestSent
from onrecord.domain.inventory import StoredBlob, StoredHead, StoredKey, StoredSnapshot
from onrecord.domain.log import RecordedEvent
from onrecord.domain.marks.marked_ids import (
    is_access,
    is_destroyed_key,
    is_hold,
    is_move,
    is_retention,
    stream_kind,
)
from onrecord.domain.new_events import blobs_of
from onrecord.projections.access.access_records import access_fact
from onrecord.projections.history.erasure_records import ErasureEntry, must_be_a_destroyed_key
from onrecord.projections.history.key_records import must_be_in_order
from onrecord.projections.retention.hold_records import hold_entry
from onrecord.projections.retention.retention_records import retention_entry
from onrecord.projections.verification.moves import must_be_moves
from onrecord.projections.verification.verification import Digest, Fault, Fold, Happened

Address: TypeAlias = Callable[[Blob], Blob | KeyedBlob]
"""Says what the log has a blob by that an event refers to."""


def as_it_is(blob: Blob) -> Blob:
    """Return what a log has a blob by that is not encrypted."""
    return blob


@dataclass(frozen=True, slots=True)
class Reference:
    """A blob that events refer to, and when the last of them was recorded.

    `stored` is what the log has it by. `version` is that of the first event, of the first that is no request
    if there is such.
    """

    blob: Blob
    stored: Blob | KeyedBlob
    version: int
    recorded_at: int
    by_requests_alone: bool


class References:
    """The blobs that the events of a conversation refer to, by the digests that the log has them by."""

    def __init__(self) -> None:
        """Begin with none."""
        self._found: dict[bytes, Reference] = {}

    def take(
        self, event: RecordedEvent, happened: Happened | None, address: Address = as_it_is
    ) -> None:
        """Take note of what an event refers to; `address` says what the log has that by."""
        if happened is None or isinstance(happened, Erased | Unrecognised):
            return
        for blob in blobs_of(happened):
            stored = address(blob)
            digest = digest_of(stored)
            known, alone = self._found.get(digest), isinstance(happened, RequestSent)
            if known is None or (known.by_requests_alone and not alone):
                known = Reference(blob, stored, event.version, event.recorded_at, alone)
            self._found[digest] = replace(known, recorded_at=event.recorded_at)

    def of(self, digest: bytes) -> Reference | None:
        """Return the reference to a blob, or None."""
        return self._found.get(digest)

    def missing(self, stored: Sequence[StoredBlob]) -> list[Reference]:
        """Return the references to what is not stored here."""
        there = {blob.digest for blob in stored}
        return [reference for digest, reference in self._found.items() if digest not in there]


def key_faults(
    fold: Fold, head: StoredHead, keys: Sequence[StoredKey], erasures: int, digest: Digest
) -> Iterator[Fault]:
    """Yield where the catalogue does not have a conversation under the key that it began with."""
    own = UUID(int=0) if fold.tenant is None else fold.tenant
    wanted = set[StoredKey]()
    if fold.key is not None and not head.forgotten:
        wanted = {StoredKey(own, digest(fold.key))}
    unseen = set(keys)
    if unseen == wanted or (fold.unread and fold.key is None and not head.forgotten):
        return
    if head.forgotten:
        yield _whole(head, "it was forgotten, and the catalogue has a key of it")
    elif not unseen and erasures:
        return  # Its key was forgotten before it began.
    elif not unseen:
        yield _whole(head, "the catalogue does not have the key that it began with")
    elif not wanted:
        yield _whole(head, "the catalogue has a key of it, and it began without one")
    else:
        yield _whole(head, "the catalogue has it under another key than it began with")


def erasure_faults(
    fold: Fold, head: StoredHead, erasures: int, entries: Sequence[ErasureEntry]
) -> Iterator[Fault]:
    """Yield where a conversation counts as forgotten without an erasure, or the other way round.

    `erasures` are noted for the views, `told` are those that the operators' stream tells of.
    """
    entries = [entry for entry in entries if entry.refusal is None]
    outcomes = [entry.outcome.events for entry in entries if entry.outcome is not None]
    if head.forgotten and not erasures:
        yield _whole(head, "it counts as forgotten, and no erasure is noted")
    if head.forgotten and not entries:
        yield _whole(head, "it counts as forgotten, and no operator's erasure tells of it")
    # One that is unfinished may have erased, and cannot tell yet how much.
    is_finished = len(outcomes) == len(entries)
    if head.forgotten and outcomes and is_finished and fold.events not in outcomes:
        yield _whole(head, "it counts as forgotten, and its erasure tells of other events")
    if not head.forgotten and any(outcomes):
        yield _whole(head, "its erasure is told of, and it does not count as forgotten")
    # Before anything was said in it, a conversation may be erased, and begin afterwards.
    if erasures and not head.forgotten and not entries and not fold.erased:
        yield _whole(head, "an erasure of it is noted, and it is not forgotten")


def operators_faults(
    head: StoredHead, events: Iterable[RecordedEvent], digest: Digest
) -> Iterator[Fault]:
    """Yield where a stream of operators is none of those that there are: what its id says is not in it."""
    what = stream_kind(head.conversation_id)
    try:
        if is_hold(head.conversation_id):
            hold = hold_entry(events, head.tenant)
            if hold is not None and head.head.closed != (hold.lifted is not None):
                yield _whole(head, "it is closed, and tells of no end of the hold")
        elif is_destroyed_key(head.conversation_id):
            must_be_a_destroyed_key(events, head.tenant)
        elif is_retention(head.conversation_id):
            retention_entry(events, head.tenant, digest)
        elif is_access(head.conversation_id):
            for event in events:
                access_fact(event, head.tenant)
        elif is_move(head.conversation_id):
            must_be_moves(events, head.tenant)
        else:
            must_be_in_order(events, head.tenant, digest)
    except CorruptRecord as error:
        yield _whole(head, f"this {what} cannot be read: {error}")


def blob_faults(
    fold: Fold, head: StoredHead, blob: StoredBlob, reference: Reference | None
) -> Iterator[Fault]:
    """Yield what does not hold of the row of a blob, its bytes aside."""
    if head.forgotten:
        yield _whole(head, f"it was forgotten, and has {_named(blob)}")
    if blob.tenant != fold.tenant or blob.shard != head.shard:
        yield _whole(head, f"{_named(blob)} is another tenant's by its row")
    # Events that are erased, encrypted or of a newer release may refer to it.
    is_known = not (fold.newer or fold.unread or fold.erased)
    if reference is None and blob.referenced and is_known:
        yield _whole(head, f"no event refers to {_named(blob)}, and its row says that one does")
    if reference is not None and not blob.referenced and not _is_new(fold, blob, reference):
        why = f"it refers to {_named(blob)}, and the next sweep would delete that"
        yield Fault(head.conversation_id, reference.version, why)


def actor_faults(names: Iterable[ActorName], digest: Digest) -> Iterator[Fault]:
    """Yield the names of actors that do not stand under their own digest and id."""
    for row in names:
        try:
            is_own = digest(row.name.decode()) == row.digest
            ids = actor_id(UUID(bytes=row.tenant), row.digest).bytes
        except ValueError:  # No UTF-8, or no id: somebody changed it.
            is_own, ids = False, b""
        if not is_own or ids != row.actor_id:
            yield Fault(
                None, 0, f"the name of the actor {row.digest.hex()} is not that of its digest"
            )


def origin_faults(fold: Fold, owner: Callable[[UUID], UUID | None]) -> Iterator[Fault]:
    """Yield the events that say that a conversation goes on from another tenant's; nobody reads it so.

    `owner` gives whose a conversation is, None where it has not begun.
    """
    for recorded, origin in fold.forks:
        if owner(origin) not in (None, fold.tenant):
            why = f"at position {recorded.position} it claims to go on from another tenant's conversation"
            yield Fault(fold.conversation_id, recorded.version, why)


def snapshot_faults(head: StoredHead, snapshots: Sequence[StoredSnapshot]) -> Iterator[Fault]:
    """Yield the snapshots that cannot be of an aggregate."""
    if head.forgotten and snapshots:
        yield _whole(head, "it was forgotten, and has a snapshot")
    for snapshot in snapshots:
        if snapshot.tenant not in (None, head.tenant):
            yield _whole(head, "a snapshot of it is another tenant's by its row")
        if not 0 <= snapshot.version <= head.head.version:
            why = (
                f"a snapshot is of version {snapshot.version}, the last one is {head.head.version}"
            )
            yield _whole(head, why)


def _is_new(fold: Fold, blob: StoredBlob, reference: Reference) -> bool:
    """Return whether a blob came after requests that repeat the origin's: no event is there yet."""
    return fold.is_fork and reference.by_requests_alone and blob.stored_at > reference.recorded_at


def _named(blob: StoredBlob) -> str:
    return "a blob" if blob.digest is None else f"the blob {blob.digest.hex()}"


def _whole(head: StoredHead, why: str) -> Fault:
    return Fault(head.conversation_id, 0, why)
