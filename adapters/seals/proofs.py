"""Proofs of what a place keeps of a log: that an event is in a tree, that a tree goes on from an older one.

Each proof is checked before it is handed out: where the log or the place was changed, there is none.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import Final, NamedTuple
from uuid import UUID

from onrecord.adapters.seals.checkpoints import SealedCheckpoint, ShardSeals
from onrecord.adapters.seals.places import Place
from onrecord.domain.errors import CorruptRecord, InvalidInput, counted
from onrecord.domain.log import RecordedEvent
from onrecord.domain.seals.checkpoint import consistency_text, proof_text
from onrecord.domain.seals.merkle import (
    Subtrees,
    consistency_proof,
    inclusion_proof,
    is_consistent,
    root_by_inclusion,
)
from onrecord.domain.seals.notes import PublicKey
from onrecord.domain.seals.tiles import Tile, subtrees_in
from onrecord.projections.verification.verification import commitment_faults

_TILES: Final = 64
"""How many tiles of a shard stay in memory, of 8 KiB each."""


class InclusionProof(NamedTuple):
    """That the leaf at a position is in the tree of a checkpoint; the lowest hash comes first."""

    position: int
    hashes: tuple[bytes, ...]
    sealed: SealedCheckpoint

    def text(self) -> bytes:
        """Return the proof as C2SP's tlog-proof has it, with the signed checkpoint."""
        return proof_text(self.position - 1, self.hashes, self.sealed.note)


class ConsistencyProof(NamedTuple):
    """That the tree of a checkpoint begins with the leaves of an older one's."""

    old: SealedCheckpoint
    new: SealedCheckpoint
    hashes: tuple[bytes, ...]

    def text(self) -> bytes:
        """Return the proof as C2SP's tlog-witness has it: the old size, the hashes, the new checkpoint."""
        return consistency_text(self.old.checkpoint.size, self.hashes, self.new.note)


class ShardProofs:
    """Makes the proofs of a shard under a checkpoint: the last one that its place has now, or an earlier one."""

    def __init__(
        self,
        seals: ShardSeals,
        last: SealedCheckpoint | None,
        tile: Callable[[Tile], bytes] | None = None,
    ) -> None:
        """Prove under the checkpoint `last`, which is None where the shard was never sealed."""
        self.seals = seals
        self.last: Final = last
        self._tile = tile or lru_cache(maxsize=_TILES)(seals.tile)

    @cached_property
    def sizes(self) -> Sequence[int]:
        """The sizes of all checkpoints at the place, the smallest first: they are listed once."""
        return self.seals.sizes()

    def covering(self, position: int) -> ShardProofs:
        """Return what proves under the first checkpoint that covers a position, which stays the same one.

        InvalidInput where none does.
        """
        if position > self.size:
            raise self._unsealed(position)
        at = bisect_left(self.sizes, position)
        size = self.sizes[at] if at < len(self.sizes) else self.size
        earlier = ShardProofs(self.seals, self._at(size), self._tile)
        earlier.sizes = self.sizes
        return earlier

    @property
    def size(self) -> int:
        """How many events the last checkpoint covers."""
        return 0 if self.last is None else self.last.checkpoint.size

    def inclusion(self, event: RecordedEvent) -> InclusionProof:
        """Return the proof that an event is in the tree of the last checkpoint.

        InvalidInput where that does not cover it yet. CorruptRecord where the event is not the one
        that was sealed.
        """
        if self.last is None or event.position > self.size:
            raise self._unsealed(event.position)
        for fault in commitment_faults(event):
            raise CorruptRecord(f"event {event.position} of shard {event.shard}: {fault.why}")
        index, checkpoint = event.position - 1, self.last.checkpoint
        hashes = inclusion_proof(index, checkpoint.size, self._subtrees(checkpoint.size))
        if root_by_inclusion(event.leaf, index, checkpoint.size, hashes) != checkpoint.hash:
            raise CorruptRecord(
                f"event {event.position} of shard {event.shard} is not the one that was sealed at "
                f"{self.seals.place}: the log or the place was changed"
            )
        return InclusionProof(event.position, hashes, self.last)

    def consistency(self, old: int, new: int) -> ConsistencyProof:
        """Return the proof that the checkpoint of a size goes on from that of a smaller one.

        InvalidInput where there is no checkpoint of a size, or where the first is the larger one.
        CorruptRecord where it does not go on from it.
        """
        older, newer = self._at(old), self._at(new)
        hashes = consistency_proof(old, new, self._subtrees(new))
        if not is_consistent(old, older.checkpoint.hash, new, newer.checkpoint.hash, hashes):
            raise CorruptRecord(
                f"the checkpoint of size {new} of shard {self.seals.shard} does not go on from that of size "
                f"{old}: the shard was rewritten, or the place was changed"
            )
        return ConsistencyProof(older, newer, hashes)

    def _at(self, size: int) -> SealedCheckpoint:
        sealed = self.seals.at(size)
        if sealed is None:
            raise InvalidInput(
                f"{self.seals.place} has no checkpoint of size {size} of shard {self.seals.shard}"
            )
        return sealed

    def _unsealed(self, position: int) -> InvalidInput:
        return InvalidInput(
            f"event {position:,} of shard {self.seals.shard} is not sealed yet: the last checkpoint at "
            f"{self.seals.place} covers {counted(self.size, 'event')}"
        )

    def _subtrees(self, size: int) -> Subtrees:
        return subtrees_in(size, self._tile)


class LogProofs:
    """Makes the proofs of a log from what a place keeps of each of its shards."""

    def __init__(self, place: Place, log_id: UUID, keys: Sequence[PublicKey]) -> None:
        """Look at a place with the keys that may have signed its checkpoints; nothing is read yet."""
        self.log_id = log_id
        self.keys = tuple(keys)
        self.place = place
        self._shards: dict[int, ShardProofs] = {}

    def of(self, shard: int) -> ShardProofs:
        """Return what makes the proofs of a shard; its last checkpoint is read once."""
        if shard not in self._shards:
            seals = ShardSeals(self.place, self.log_id, shard, self.keys)
            self._shards[shard] = ShardProofs(seals, seals.last())
        return self._shards[shard]

    def covering(self, shard: int, position: int) -> LogProofs:
        """Return the proofs of a shard alone, as `ShardProofs.covering` has it."""
        earlier = LogProofs(self.place, self.log_id, self.keys)
        earlier._shards[shard] = self.of(shard).covering(position)
        return earlier
