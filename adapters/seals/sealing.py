"""How the shards of a log are sealed: what is new goes into the tree, and a checkpoint of it is signed.

Tiles are kept first, then the checkpoint by its size, then the last one: whoever dies amid that leaves
a place whose last checkpoint holds. Two who seal at once write the same tiles. A tree is only ever made
from the tiles that its last checkpoint has, so nothing is signed that does not follow from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from onrecord.adapters.seals.checkpoints import SealedCheckpoint, ShardSeals
from onrecord.adapters.seals.places import Place
from onrecord.adapters.seals.signing import signed
from onrecord.domain.errors import CorruptRecord, counted
from onrecord.domain.log import Backend, Cursor, RecordedEvent
from onrecord.domain.seals.checkpoint import Checkpoint, log_id_of
from onrecord.domain.seals.merkle import EMPTY
from onrecord.domain.seals.notes import PrivateKey, PublicKey
from onrecord.domain.seals.tiles import WIDTH, TileWriter, hashes_of, tile_in
from onrecord.projections.verification.verification import hash_faults

_PAGE: Final = 1024

_LastAtPlaces = list[tuple[ShardSeals, SealedCheckpoint | None]]
"""The seals of a shard at each place, with the last checkpoint there."""


class Sealer:
    """Seals a log with a key, at one place or several; safe to use from one thread at a time."""

    def __init__(
        self,
        backend: Backend,
        key: PrivateKey,
        places: Sequence[Place],
        *,
        earlier: Sequence[PublicKey] = (),
    ) -> None:
        """Seal with a key; `earlier` are keys whose checkpoints may be there already."""
        self._backend = backend
        self._key = key
        self._places = places
        self._keys = (key.public, *earlier)
        self._log_id = log_id_of(backend.digest)

    def seal(self) -> list[SealedCheckpoint]:
        """Seal what each shard has now, at each place, and return the checkpoints.

        CorruptRecord where the log does not begin with what was sealed before, where an event is not
        what its leaf says, or where a place was changed; nothing is signed then.
        """
        before = {last.shard: self._last_at_places(last.shard) for last in self._backend.cursors()}
        # The ends are read behind the checkpoints: another process may append and seal meanwhile.
        ends = [last for last in self._backend.cursors() if last.shard in before]
        return [sealed for last in ends for sealed in self._sealed(last, before[last.shard])]

    def _last_at_places(self, shard: int) -> _LastAtPlaces:
        shards = [ShardSeals(place, self._log_id, shard, self._keys) for place in self._places]
        return [(seals, seals.last()) for seals in shards]

    def _sealed(self, last: Cursor, places: _LastAtPlaces) -> Iterator[SealedCheckpoint]:
        """Seal one shard; one checkpoint serves all places."""
        sealed: SealedCheckpoint | None = None
        for seals, before in places:
            size = before.checkpoint.size if before else 0
            if last.position < size:
                raise _cut(last, size, seals.place)
            if before is not None and last.position == size:
                sealed = sealed or before
                continue
            writer = self._grown(seals, before, last)
            sealed = sealed or self._signed(last, writer.tree().root())
            seals.add(sealed)
        if sealed is not None:
            yield sealed

    def _grown(
        self, seals: ShardSeals, before: SealedCheckpoint | None, last: Cursor
    ) -> TileWriter:
        """Write the tiles of what is new behind a checkpoint."""
        size = before.checkpoint.size if before else 0
        root = before.checkpoint.hash if before else EMPTY.root()
        writer = TileWriter(size, seals.tile, seals.write_tile)
        if writer.tree().root() != root:
            raise CorruptRecord(
                f"the tiles of shard {last.shard} at {seals.place} are not those of its checkpoint"
            )
        self._must_go_on(seals, size, last.shard)
        for event in self._events(last, size):
            for fault in hash_faults(event):
                raise CorruptRecord(f"event {event.position} of shard {last.shard}: {fault.why}")
            writer.add(event.leaf)
        writer.write_edge()
        return writer

    def _must_go_on(self, seals: ShardSeals, size: int, shard: int) -> None:
        """Refuse a log whose last sealed events are others: all of them `verify` compares."""
        if not size:
            return
        tile = tile_in(0, (size - 1) // WIDTH, size)
        leaves = hashes_of(tile, seals.tile(tile))
        first = size - len(leaves)
        stored = self._backend.inventory().log(shard, first, len(leaves))
        if [each.event.leaf for each in stored] != leaves:
            raise CorruptRecord(
                f"shard {shard} was rewritten: its events {first + 1} to {size} are not those that were sealed"
            )

    def _events(self, last: Cursor, after: int) -> Iterator[RecordedEvent]:
        inventory = self._backend.inventory()
        while after < last.position:
            page = inventory.log(last.shard, after, min(_PAGE, last.position - after))
            for stored in page:
                after += 1
                if stored.event.position != after:
                    break
                yield stored.event
            if not page or page[-1].event.position != after:
                raise CorruptRecord(f"shard {last.shard} has no event at position {after}")

    def _signed(self, last: Cursor, root: bytes) -> SealedCheckpoint:
        checkpoint = Checkpoint(
            self._log_id,
            last.shard,
            last.position,
            root,
            last.incarnation,
            self._backend.clock(),
        )
        return SealedCheckpoint(checkpoint, signed(checkpoint.text(), self._key).encode())


def _cut(last: Cursor, size: int, place: Place) -> CorruptRecord:
    return CorruptRecord(
        f"shard {last.shard} was cut or set back: it has {counted(last.position, 'event')}, and {size:,} "
        f"are sealed at {place}"
    )
