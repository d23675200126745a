"""The sealed checkpoints of a shard at a place, and the tiles of its tree.

::

    <log id>/<shard>/checkpoint              the last one, a signed note
    <log id>/<shard>/checkpoints/<size>      each one, the size in 20 digits
    <log id>/<shard>/checkpoints/<size>.tsr  when an authority saw it, where one was asked (RFC 3161)
    <log id>/<shard>/tile/<level>/<number>   the tiles, as C2SP's tlog-tiles has them

Without the list of checkpoints this is a log that any reader of C2SP's tiles reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple
from uuid import UUID

from onrecord.adapters.seals.places import Place
from onrecord.adapters.seals.signing import verified
from onrecord.adapters.seals.timestamps import LARGEST as LARGEST_TIMESTAMP
from onrecord.domain.errors import CorruptRecord
from onrecord.domain.seals.checkpoint import Checkpoint, origin_of, parse_checkpoint
from onrecord.domain.seals.merkle import HASH_SIZE
from onrecord.domain.seals.notes import LARGEST, PublicKey
from onrecord.domain.seals.tiles import WIDTH, Tile, hashes_of, tile_in

_LAST: Final = "checkpoint"
_EACH: Final = "checkpoints"
_DIGITS: Final = 20
_STAMPED: Final = ".tsr"
_TILE: Final = WIDTH * HASH_SIZE
_TOGETHER: Final = 64
"""How many tiles are flushed together: as many files are open then, and half a megabyte waits."""

_NAME: Final = re.compile(rf"[0-9]{{{_DIGITS}}}")


class SealedCheckpoint(NamedTuple):
    """A checkpoint, and the signed note that says it."""

    checkpoint: Checkpoint
    note: bytes


class ShardSeals:
    """What a place keeps of one shard of a log, read with the keys that may have signed it."""

    def __init__(self, place: Place, log_id: UUID, shard: int, keys: Sequence[PublicKey]) -> None:
        """Look at a place; nothing is read yet."""
        self.place = place
        self.log_id = log_id
        self.shard = shard
        self._keys = keys
        self._folder = f"{log_id}/{shard}"
        self._waiting: dict[str, bytes] = {}

    def last(self) -> SealedCheckpoint | None:
        """Return the last checkpoint, or None; CorruptRecord where it is not ours, or not signed."""
        note = self.place.read(f"{self._folder}/{_LAST}", LARGEST)
        return None if note is None else self._read(note, _LAST)

    def sizes(self) -> list[int]:
        """Return the sizes of all checkpoints, the smallest first; no checkpoint is read."""
        names = self.place.names(f"{self._folder}/{_EACH}")
        return [int(name) for name in names if _NAME.fullmatch(name)]

    def stamped(self) -> set[int]:
        """Return the sizes of the checkpoints beside which an authority's answer is kept."""
        names = self.place.names(f"{self._folder}/{_EACH}")
        return {
            int(size)
            for size, point, ending in (name.partition(".") for name in names)
            if f"{point}{ending}" == _STAMPED and _NAME.fullmatch(size)
        }

    def at(self, size: int) -> SealedCheckpoint | None:
        """Return the checkpoint of a size, or None; CorruptRecord where it is not ours, or not signed."""
        path = f"{_EACH}/{_name(size)}"
        note = self.place.read(f"{self._folder}/{path}", LARGEST)
        if note is None:
            return None
        sealed = self._read(note, path)
        if sealed.checkpoint.size != size:
            raise CorruptRecord(f"{path} at {self.place} is the checkpoint of another size")
        return sealed

    def add(self, sealed: SealedCheckpoint) -> None:
        """Keep a checkpoint behind its tiles; CorruptRecord where one of its size has another root.

        The last one stays where it is larger: somebody else sealed more meanwhile.
        """
        self._keep_waiting()
        size = sealed.checkpoint.size
        there = self.at(size) or self._create(sealed)
        if there.checkpoint.hash != sealed.checkpoint.hash:
            raise CorruptRecord(
                f"shard {self.shard} was rewritten: a checkpoint of size {size} at {self.place} has "
                "another root"
            )
        last = self.last()
        if last is None or last.checkpoint.size <= size:
            self.place.replace(f"{self._folder}/{_LAST}", there.note)

    def _create(self, sealed: SealedCheckpoint) -> SealedCheckpoint:
        """Return the checkpoint of a size that is there now: this one, or that of who was quicker."""
        size = sealed.checkpoint.size
        try:
            self.place.create(f"{self._folder}/{_EACH}/{_name(size)}", sealed.note)
        except CorruptRecord:
            if (there := self.at(size)) is not None:
                return there
            raise
        return sealed

    def timestamp(self, size: int) -> bytes | None:
        """Return what an authority answered on the checkpoint of a size, or None; nothing is checked."""
        return self.place.read(f"{self._folder}/{_EACH}/{_name(size)}{_STAMPED}", LARGEST_TIMESTAMP)

    def add_timestamp(self, size: int, response: bytes) -> None:
        """Keep what an authority answered, unless somebody who was quicker did."""
        try:
            self.place.create(f"{self._folder}/{_EACH}/{_name(size)}{_STAMPED}", response)
        except CorruptRecord:
            if self.timestamp(size) is None:
                raise

    def leaves(self, size: int) -> Iterator[bytes]:
        """Yield the leaves of the tree of a size as the tiles have them, read a tile at a time."""
        for number in range(-(-size // WIDTH)):
            tile = tile_in(0, number, size)
            yield from hashes_of(tile, self.tile(tile))

    def tile(self, tile: Tile) -> bytes:
        """Return the bytes of a tile; CorruptRecord where it is missing.

        Where a partial one is gone, the full one that came of it begins with the same hashes.
        """
        data = self.place.read(f"{self._folder}/{tile.path()}", _TILE)
        if data is None:
            full = self.place.read(f"{self._folder}/{tile._replace(width=WIDTH).path()}", _TILE)
            data = None if full is None else full[: tile.width * HASH_SIZE]
        if data is None:
            raise CorruptRecord(f"{tile.path()} of shard {self.shard} is missing at {self.place}")
        return data

    def write_tile(self, tile: Tile, data: bytes) -> None:
        """Keep a tile, with others or before the next checkpoint; CorruptRecord where another one is there."""
        self._waiting[f"{self._folder}/{tile.path()}"] = data
        if len(self._waiting) >= _TOGETHER:
            self._keep_waiting()

    def _keep_waiting(self) -> None:
        """Keep the tiles that wait; where that fails they still do, and no checkpoint is kept before them.

        Who dies amid that leaves some of them. The next seal makes the same bytes again: it writes
        what is missing, and compares what it finds.
        """
        if self._waiting:
            self.place.create_all(self._waiting)
            self._waiting.clear()

    def _read(self, note: bytes, path: str) -> SealedCheckpoint:
        try:
            checkpoint = parse_checkpoint(verified(note, self._keys).text)
        except CorruptRecord as exc:
            raise CorruptRecord(f"{path} of shard {self.shard} at {self.place}: {exc}") from exc
        if checkpoint.origin != origin_of(self.log_id, self.shard):
            raise CorruptRecord(f"{path} at {self.place} is of {checkpoint.origin}")
        return SealedCheckpoint(checkpoint, note)


def _name(size: int) -> str:
    return f"{size:0{_DIGITS}d}"
