"""What one place keeps of one shard, compared with what the log has of it.

Only where a checkpoint is not of this log are the leaves read again, to name the first wrong position.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import Final, NamedTuple

from onrecord.adapters.seals.checkpoints import SealedCheckpoint, ShardSeals
from onrecord.adapters.seals.timestamps import TrustedAuthority
from onrecord.adapters.seals.trust import TrustedKeys
from onrecord.adapters.upkeep.verified import VerifiedSeal
from onrecord.domain.errors import CorruptRecord, StorageUnavailable, counted
from onrecord.domain.header import timestamp
from onrecord.domain.seals.merkle import EMPTY, HASH_SIZE
from onrecord.domain.seals.notes import parse_note
from onrecord.domain.seals.tiles import WIDTH, Tile, tile_in

NOTHING: Final = -1
"""No size."""

Leaves = Callable[[], Iterable[bytes]]
"""Reads the leaves of a shard, from the first one on, as the log has them."""


class _TileFault(NamedTuple):
    """What is wrong with a tile, and how many leaves the tree has at its end."""

    end: int
    why: str


class ShardAtPlace:
    """What one place keeps of one shard, and what is wrong with it."""

    def __init__(
        self,
        seals: ShardSeals,
        trusted: TrustedKeys,
        unreadable: str,
        authority: TrustedAuthority | None = None,
    ) -> None:
        """List what is there, unless it is said already why it cannot be read."""
        self.seals = seals
        self.faults: dict[str, None] = {}
        self.unreadable = unreadable
        self.sizes: set[int] = set()
        self.until = NOTHING
        """The size of the largest checkpoint that is believed."""
        self._newest = NOTHING
        self.stamped: set[int] = set()
        """The sizes of the checkpoints that have timestamps, which hold where `authority` is named."""
        self._trusted = trusted
        self._authority = authority
        self._stamp: tuple[int, int | None] = 0, None
        self._last: SealedCheckpoint | None = None
        self._largest: SealedCheckpoint | None = None
        self._held: SealedCheckpoint | None = None
        self._count = 0
        self._others: list[SealedCheckpoint] = []
        self._tiles: list[_TileFault] = []
        self._keys: dict[str, None] = {}
        if not unreadable:
            self._begin()

    def _begin(self) -> None:
        """List the checkpoints, and read the last one: it comes after the one of its size."""
        with self._noting():
            self.sizes = set(self.seals.sizes())
            self.stamped = self.seals.stamped()
        self._newest = max(self.sizes, default=NOTHING)
        with self._noting():
            self._last = self.seals.last()
        if self._last is not None:
            self.sizes.add(self._last.checkpoint.size)
        sizes = sorted(self.sizes, reverse=True)
        self._largest = next((each for size in sizes for each in self.checkpoints(size)), None)
        if self._largest is not None:
            self.until = _size_of(self._largest)

    def checkpoints(self, size: int) -> list[SealedCheckpoint]:
        """Return the believed checkpoints of a size, with different roots: one, most often."""
        if size not in self.sizes or self.unreadable:
            return []
        sealed, last = None, self._last
        with self._noting():
            sealed = self.seals.at(size)
            if sealed is None:
                what = f"the checkpoint of size {size:,} of shard {self.seals.shard} is missing at"
                raise CorruptRecord(f"{what} {self.seals.place}")
        of_size = [each for each in (sealed, last) if each and _size_of(each) == size]
        return list({each.checkpoint.hash: each for each in of_size}.values())

    def compare(self, sealed: SealedCheckpoint, root: bytes | None) -> None:
        """Compare a checkpoint with the log's root at its size; None where the log ends before."""
        if sealed.checkpoint.hash != root:
            self._others.append(sealed)
            return
        self._held = sealed
        self._count += 1
        with self._noting():
            self._compare_timestamp(sealed)
        signatures = parse_note(sealed.note).signatures
        signed_by = {(each.name, each.key_id) for each in signatures}
        for key in self._trusted.keys:
            if (key.name, key.key_id) in signed_by:
                self._keys[f"{key}"] = None

    def _compare_timestamp(self, sealed: SealedCheckpoint) -> None:
        """Check what an authority said of a checkpoint, where its certificates are named."""
        size = _size_of(sealed)
        if self._authority is None or size not in self.stamped:
            return
        response = self.seals.timestamp(size)
        try:
            at = self._authority.stamped_at(response or b"", sealed.note)
        except CorruptRecord as exc:
            what = (
                f"the timestamp of the checkpoint of size {size:,} of shard {self.seals.shard} at"
            )
            raise CorruptRecord(f"{what} {self.seals.place}: {exc}") from None
        self._stamp = size, at

    def tile(self, tile: Tile, data: bytes) -> None:
        """Compare a tile of the log with the one that the largest checkpoint has."""
        if self.unreadable or not _has(self.until, tile):
            return
        end = min((tile.number * WIDTH + tile.width) * WIDTH**tile.level, self.until)
        try:
            stored = self.seals.tile(tile)
        except CorruptRecord as exc:
            self._tiles.append(_TileFault(end, f"{exc}"))
        except StorageUnavailable as exc:
            self.unreadable = unread(exc)
        else:
            if stored != data:
                self._tiles.append(_TileFault(end, self._changed(tile, stored, data)))

    def _changed(self, tile: Tile, stored: bytes, data: bytes) -> str:
        what = f"{tile.path()} of shard {self.seals.shard} at {self.seals.place} was changed"
        if tile.level:
            return what
        hashes = range(0, len(data), HASH_SIZE)
        wrong = (at for at in hashes if stored[at : at + HASH_SIZE] != data[at : at + HASH_SIZE])
        first = tile.number * WIDTH + next(wrong, len(data)) // HASH_SIZE + 1
        return f"{what}: position {first:,} is the first that is not that of its checkpoint"

    def finish(self, end: int, leaves: Leaves) -> None:
        """Say what is wrong, after the last leaf of the log, of which there are so many."""
        if self.unreadable:
            return
        size = self._size()
        if end and not self.sizes and not self.faults:
            place = self.seals.place
            self._add(f"nothing of shard {self.seals.shard} of this log is sealed at {place}")
        for each in self._others:
            if _size_of(each) <= size:
                self._add(self._another_view(each))
        for tile in self._tiles:
            if tile.end <= size:
                self._add(tile.why)
        with self._noting():
            if self._largest is not None and self.until > size:
                self._add(self._parted(self._largest, end, leaves))
        with self._noting():
            self._must_be_newest()

    def verified(self, end: int) -> VerifiedSeal:
        """Return how far the shard is sealed here, of so many events."""
        held = self._held.checkpoint if self._held else None
        return VerifiedSeal(
            self.seals.shard,
            f"{self.seals.place}",
            self._size(),
            held.sealed_at if held else None,
            end - self._size(),
            self._count,
            tuple(self._keys),
            self._trusted.is_pinned,
            not self.unreadable,
            max(self.until, self._size()),
            *self._stamp,
        )

    def _size(self) -> int:
        return _size_of(self._held) if self._held else 0

    def _another_view(self, sealed: SealedCheckpoint) -> str:
        return (
            f"the checkpoint of size {_size_of(sealed):,} at {self.seals.place} has another root than the log, "
            f"which a checkpoint of size {self._size():,} there confirms: another log was signed"
        )

    def _parted(self, largest: SealedCheckpoint, end: int, leaves: Leaves) -> str:
        """Say from where on the log is not the one that was sealed."""
        shard, size, sealed = self.seals.shard, _size_of(largest), self._sealed(largest)
        first, is_sealed = None, False
        why = "a tile is missing there"
        with self._noting():
            first, is_sealed = self._first_wrong(largest, leaves())
            why = (
                "the tiles there are the log's, so the checkpoint is that of another log"
                if first is None
                else "the tiles there are not those of the checkpoint"
            )
        if first is None or not is_sealed:
            above = min(_size_of(each) for each in self._others if _size_of(each) > self._size())
            return (
                f"shard {shard} is not what was {sealed} at size {size:,}: the first position that is "
                f"wrong is one of {self._size() + 1:,} to {above:,}; {why}"
            )
        if first > end:
            return (
                f"shard {shard} was cut or set back: it has {counted(end, 'event')}, and {size:,} were "
                f"{sealed}: position {first:,} is the first that is missing"
            )
        return f"shard {shard} was rewritten: position {first:,} is the first that is not as it was {sealed}"

    def _first_wrong(
        self, largest: SealedCheckpoint, leaves: Iterable[bytes]
    ) -> tuple[int | None, bool]:
        """Return the first position of another leaf than the tiles have, and if they are the checkpoint's."""
        tree, first, stored = EMPTY, None, iter(leaves)
        for leaf in self.seals.leaves(largest.checkpoint.size):
            tree = tree.grown(leaf)
            if first is None and next(stored, None) != leaf:
                first = tree.size
        return first, tree.root() == largest.checkpoint.hash

    def _must_be_newest(self) -> None:
        """Refuse a last checkpoint that was put back; read anew, for somebody may have sealed meanwhile."""
        last = self._last
        if self._newest > (_size_of(last) if last else NOTHING):
            last = self.seals.last()
        if self._newest > (_size_of(last) if last else NOTHING):
            size = f"of size {_size_of(last):,}" if last else "missing"
            raise CorruptRecord(
                f"the last checkpoint of shard {self.seals.shard} at {self.seals.place} is {size}, and one of "
                f"size {self._newest:,} is there: it was put back, or a program died while it sealed"
            )

    def _sealed(self, sealed: SealedCheckpoint) -> str:
        return f"sealed at {self.seals.place} ({_date(sealed.checkpoint.sealed_at)})"

    def _add(self, why: str) -> None:
        self.faults[why] = None

    @contextmanager
    def _noting(self) -> Generator[None]:
        """Take note of what is wrong with a place, and of a place that cannot be read."""
        try:
            yield
        except CorruptRecord as exc:
            self._add(f"{exc}")
        except StorageUnavailable as exc:
            self.unreadable = self.unreadable or unread(exc)


def _size_of(sealed: SealedCheckpoint) -> int:
    return sealed.checkpoint.size


def _has(size: int, tile: Tile) -> bool:
    """Whether a tree of a size has a tile, and it is as wide."""
    try:
        return size > 0 and tile_in(tile.level, tile.number, size) == tile
    except CorruptRecord:
        return False


def _date(microseconds: int) -> str:
    return f"{timestamp(microseconds)[:19]}Z"


def unread(error: StorageUnavailable) -> str:
    """Say which seals could not be compared, and why."""
    return f"the seals of the log: {error}"
