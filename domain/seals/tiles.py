"""Tiles: the hashes of a tree in pieces that never change, as C2SP's tlog-tiles has them.

A tile is up to 256 hashes of one level, side by side. Level 0 has the leaves; each hash of a level above
is the root of a full tile below. From the tiles of a tree each of its proofs can be made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from onrecord.domain.errors import CorruptRecord
from onrecord.domain.seals.merkle import HASH_SIZE, Subtrees, Tree, node

WIDTH: Final = 256
"""Hashes of a full tile."""

_HEIGHT: Final = 8


class Tile(NamedTuple):
    """Which tile: its level, its number in the level from 0, and how many hashes it has, 1 to 256."""

    level: int
    number: int
    width: int = WIDTH

    def path(self) -> str:
        """Return the path of the tile: `tile/0/x001/x234/067`, `tile/0/x001/x234/067.p/5`."""
        groups = f"{self.number:,}".split(",")
        *first, last = (group.zfill(3) for group in groups)
        number = "/".join((*(f"x{group}" for group in first), last))
        partial = "" if self.width == WIDTH else f".p/{self.width}"
        return f"tile/{self.level}/{number}{partial}"


def tile_in(level: int, number: int, size: int) -> Tile:
    """Return a tile as a tree of a size has it: full, or as wide as the tree goes.

    CorruptRecord where the tree does not come so far.
    """
    hashes = (size >> _HEIGHT * level) - number * WIDTH
    if hashes <= 0:
        raise CorruptRecord("the tree has no such tile")
    return Tile(level, number, min(hashes, WIDTH))


def edge_of(size: int) -> Iterator[Tile]:
    """Yield the partial tiles of a tree, the lowest level first: what grows when it grows."""
    level = 0
    while count := size >> _HEIGHT * level:
        if width := count % WIDTH:
            yield Tile(level, count // WIDTH, width)
        level += 1


def subtrees_in(size: int, data: Callable[[Tile], bytes]) -> Subtrees:
    """Return how to find the subtrees of a tree in its tiles, of which `data` returns the bytes."""

    def subtree(level: int, index: int) -> bytes:
        tile_level, below = divmod(level, _HEIGHT)
        first = index << below
        tile = tile_in(tile_level, first // WIDTH, size)
        at, count = first % WIDTH, 1 << below
        if at + count > tile.width:
            raise CorruptRecord("the tree has no such subtree")
        hashes = _whole(tile, data(tile))[at * HASH_SIZE : (at + count) * HASH_SIZE]
        return _root_of(_parts(hashes))

    return subtree


def hashes_of(tile: Tile, data: bytes) -> list[bytes]:
    """Return the hashes of a tile; CorruptRecord where its bytes are not as many as it is wide."""
    return _parts(_whole(tile, data))


def no_tile(tile: Tile) -> bytes:
    """Refuse to read a tile: a tree that begins with its first leaf has none before."""
    raise CorruptRecord(f"{tile.path()} is of a tree that has not begun")


class TileWriter:
    """Makes the tiles of a tree that grows: from the partial tiles of the tree as it was.

    Each full tile is handed to `write` once, when its last hash has come; `write_edge` hands over the
    partial ones.
    """

    def __init__(
        self, size: int, data: Callable[[Tile], bytes], write: Callable[[Tile, bytes], None]
    ) -> None:
        """Go on from a tree of a size, of whose partial tiles `data` returns the bytes."""
        self.size = size
        self._write = write
        self._rows: list[list[bytes]] = [[]]
        for tile in edge_of(size):
            self._row(tile.level).extend(hashes_of(tile, data(tile)))

    def add(self, leaf: bytes) -> None:
        """Add the next leaf."""
        row = self._rows[0]
        row.append(leaf)
        self.size += 1
        if len(row) == WIDTH:
            self._fill(0)

    def tree(self) -> Tree:
        """Return the tree as it is now."""
        peaks: list[bytes] = []
        for row in reversed(self._rows):
            start = 0
            for level in reversed(range(_HEIGHT)):
                if len(row) >> level & 1:
                    end = start + (1 << level)
                    peaks.append(_root_of(row[start:end]))
                    start = end
        return Tree(self.size, tuple(peaks))

    def write_edge(self) -> None:
        """Hand over the partial tiles as they are now."""
        for tile in edge_of(self.size):
            self._write(tile, b"".join(self._rows[tile.level]))

    def _fill(self, level: int) -> None:
        """Hand over a tile that is full; its root is a hash of the level above."""
        row = self._rows[level]
        number = (self.size >> _HEIGHT * (level + 1)) - 1
        self._write(Tile(level, number), b"".join(row))
        above = self._row(level + 1)
        above.append(_root_of(row))
        row.clear()
        if len(above) == WIDTH:
            self._fill(level + 1)

    def _row(self, level: int) -> list[bytes]:
        while len(self._rows) <= level:
            self._rows.append([])
        return self._rows[level]


def _whole(tile: Tile, data: bytes) -> bytes:
    if len(data) != tile.width * HASH_SIZE:
        raise CorruptRecord(f"{tile.path()} has {len(data)} bytes, not {tile.width * HASH_SIZE}")
    return data


def _parts(data: bytes) -> list[bytes]:
    return [data[at : at + HASH_SIZE] for at in range(0, len(data), HASH_SIZE)]


def _root_of(hashes: list[bytes]) -> bytes:
    """Return the root over as many hashes as a power of two."""
    while len(hashes) > 1:
        hashes = [node(hashes[at], hashes[at + 1]) for at in range(0, len(hashes), 2)]
    return hashes[0]
