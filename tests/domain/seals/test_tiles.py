"""Tiles are those of C2SP's tlog-tiles, and from those of a tree each of its subtrees is found."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.domain.errors import CorruptRecord
from onrecord.domain.seals.merkle import EMPTY, Tree, inclusion_proof, root_by_inclusion
from onrecord.domain.seals.tiles import (
    Tile,
    TileWriter,
    edge_of,
    hashes_of,
    subtrees_in,
    tile_in,
)

# Those of Go's tlog tests, of height 8, and the example of the specification.
PATHS = {
    "tile/0/001": Tile(0, 1),
    "tile/0/001.p/5": Tile(0, 1, 5),
    "tile/5/x123/x456/078": Tile(5, 123456078),
    "tile/5/x123/x456/078.p/2": Tile(5, 123456078, 2),
    "tile/0/x001/x234/067": Tile(0, 1234067),
}


class Files(dict[str, bytes]):
    """Tiles by path, as a place keeps them."""

    def data(self, tile: Tile) -> bytes:
        return self[tile.path()]

    def write(self, tile: Tile, data: bytes) -> None:
        self[tile.path()] = data


def leaf(number: int) -> bytes:
    return hashlib.sha256(number.to_bytes(8)).digest()


def tree_of(size: int) -> Tree:
    tree = EMPTY
    for number in range(size):
        tree = tree.grown(leaf(number))
    return tree


def grown(files: Files, old: int, size: int) -> TileWriter:
    writer = TileWriter(old, files.data, files.write)
    for number in range(old, size):
        writer.add(leaf(number))
    writer.write_edge()
    return writer


@pytest.mark.parametrize(("path", "tile"), PATHS.items())
def test_a_path_is_that_of_the_specification(path: str, tile: Tile) -> None:
    assert tile.path() == path


def test_a_tree_of_70000_leaves_has_the_tiles_that_the_specification_counts() -> None:
    assert list(edge_of(70_000)) == [Tile(0, 273, 112), Tile(1, 1, 17), Tile(2, 0, 1)]
    assert tile_in(0, 272, 70_000) == Tile(0, 272)
    assert list(edge_of(256)) == [Tile(1, 0, 1)]
    with pytest.raises(CorruptRecord, match="no such tile"):
        tile_in(0, 274, 70_000)


@given(st.lists(st.integers(0, 400), min_size=1, max_size=6))
def test_a_tree_that_grew_in_steps_has_the_tiles_and_the_root_of_one_that_grew_at_once(
    steps: list[int],
) -> None:
    files, size = Files(), 0
    for step in steps:
        writer = grown(files, size, size + step)
        size += step
        assert writer.size == size
        assert writer.tree() == tree_of(size)
    at_once = Files()
    grown(at_once, 0, size)
    assert {path: files[path] for path in at_once} == at_once


def test_each_full_tile_is_handed_over_once() -> None:
    written: list[Tile] = []
    writer = TileWriter(0, Files().data, lambda tile, _: written.append(tile))
    for number in range(256 * 256):
        writer.add(leaf(number))
    assert written == [*(Tile(0, index) for index in range(256)), Tile(1, 0)]
    writer.write_edge()
    assert written[257:] == [Tile(2, 0, 1)]


@pytest.mark.parametrize("size", [1, 2, 255, 256, 257, 700, 66_000])
def test_proofs_are_made_from_tiles(size: int) -> None:
    files = Files()
    root = grown(files, 0, size).tree().root()
    subtrees = subtrees_in(size, files.data)
    for index in {0, size // 2, size - 1}:
        proof = inclusion_proof(index, size, subtrees)
        assert root_by_inclusion(leaf(index), index, size, proof) == root


def test_a_tile_that_was_cut_is_noticed() -> None:
    with pytest.raises(CorruptRecord, match=r"tile/0/000\.p/2 has 63 bytes, not 64"):
        hashes_of(Tile(0, 0, 2), bytes(63))


def test_a_subtree_beyond_the_tree_is_refused() -> None:
    files = Files()
    grown(files, 0, 3)
    with pytest.raises(CorruptRecord):
        subtrees_in(3, files.data)(1, 1)
