"""Whether a conversation is as it was sealed: each of its events is proved under one checkpoint."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from onrecord.adapters.encryption.encrypted_log import stored_of
from onrecord.adapters.page.proof.sealed_shard import is_comparable, most_compared, shard_faults
from onrecord.adapters.seals.checkpoints import SealedCheckpoint, ShardSeals
from onrecord.adapters.seals.proofs import ShardProofs
from onrecord.domain.errors import CorruptRecord, InvalidInput, StorageUnavailable
from onrecord.domain.log import Backend, RecordedEvent
from onrecord.projections.verification.verification import Fault


@dataclass(frozen=True, slots=True)
class SealComparison:
    """What a conversation came to under a checkpoint.

    `proved` of its events are in the tree of the checkpoint, unchanged; `later` came after it. `newest` is
    the size of the last checkpoint, which was proved to go on from this one. `is_shard_whole` says that the log
    has all events that the checkpoint covers, of this conversation and of others. `most` is how many of them are
    compared at most, where it covers more. `unread` says why the place
    could not be read; `checkpoint` is None then, if it was not reached.
    """

    place: str
    size: int
    sealed_at: int | None = None
    root: str | None = None
    proved: int = 0
    later: int = 0
    newest: int | None = None
    is_shard_whole: bool = False
    most: int | None = None
    faults: tuple[Fault, ...] = ()
    unread: str | None = None


def compared(
    backend: Backend, conversation_id: UUID, seals: ShardSeals, size: int
) -> SealComparison:
    """Return whether a conversation is as it was sealed; InvalidInput where no checkpoint has the size."""
    place = f"{seals.place}"
    try:
        is_listed = size in seals.sizes()  # Only a list tells that the place itself is away.
        sealed, last = seals.at(size), seals.last()
        if sealed is None or not is_listed:
            raise InvalidInput(f"{place} has no seal of size {size:,}")
        return _proved(backend, conversation_id, seals, sealed, last)
    except CorruptRecord as error:
        return SealComparison(place, size, faults=(Fault(None, 0, str(error)),))
    except StorageUnavailable as error:
        return SealComparison(place, size, unread=str(error))


def _proved(
    backend: Backend,
    conversation_id: UUID,
    seals: ShardSeals,
    sealed: SealedCheckpoint,
    last: SealedCheckpoint | None,
) -> SealComparison:
    size, proofs = sealed.checkpoint.size, ShardProofs(seals, sealed)
    faults = list(_checkpoint_faults(seals, sealed, last))
    is_continued = not faults
    proved = later = 0
    is_compared = is_comparable(backend, size)
    positions = set[int]()
    try:
        for event in stored_of(backend).read(conversation_id):
            if event.position > size:
                later += 1
            elif (why := _fault_of(proofs, event)) is not None:
                faults.append(Fault(conversation_id, event.version, why))
                positions.add(event.position)
            else:
                proved += 1
        if is_compared:
            of_shard = list(shard_faults(backend, seals, sealed, frozenset(positions)))
            faults += (Fault(None, 0, why) for why in of_shard)
    except CorruptRecord as error:
        faults.append(Fault(conversation_id, 0, str(error)))
    return SealComparison(
        f"{seals.place}",
        size,
        sealed_at=sealed.checkpoint.sealed_at,
        root=str(sealed.checkpoint.root),
        proved=proved,
        later=later,
        newest=last.checkpoint.size if last is not None and is_continued else None,
        is_shard_whole=is_compared and not faults,
        most=most_compared(size),
        faults=tuple(faults),
    )


def _checkpoint_faults(
    seals: ShardSeals, sealed: SealedCheckpoint, last: SealedCheckpoint | None
) -> Iterator[Fault]:
    """Yield what is wrong between a checkpoint and the last one of its place."""
    size, newest = sealed.checkpoint.size, 0 if last is None else last.checkpoint.size
    if newest < size:
        yield Fault(None, 0, f"the last seal at {seals.place} is older than this one")
    elif newest > size:
        try:
            ShardProofs(seals, last).consistency(size, newest)
        except CorruptRecord as error:
            yield Fault(None, 0, str(error))


def _fault_of(proofs: ShardProofs, event: RecordedEvent) -> str | None:
    """Return what is wrong with an event under a checkpoint, if something is."""
    try:
        proofs.inclusion(event)
    except CorruptRecord as error:
        return str(error)
    return None
