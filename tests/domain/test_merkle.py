"""The tree over a shard's leaves is that of RFC 9162, and takes a few hashes whatever its size."""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onrecord.domain.errors import InvalidInput
from onrecord.domain.header import EMPTY, Root, Tree, parse_root

# The inputs and roots that Certificate Transparency's implementations share (RFC 6962).
INPUTS = (
    *("", "00", "10", "2021", "3031", "40414243", "5051525354555657"),
    "606162636465666768696a6b6c6d6e6f",
)
ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
PAGE = (Path(__file__).parents[2] / "docs" / "format.md").read_text(encoding="utf-8")


def slow_root(leaves: Sequence[bytes]) -> bytes:
    """The definition of RFC 9162 §2.1.1, word for word."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    left, right = slow_root(leaves[:split]), slow_root(leaves[split:])
    return hashlib.sha256(b"\x01" + left + right).digest()


def tree_of(leaves: Sequence[bytes]) -> Tree:
    tree = EMPTY
    for leaf in leaves:
        tree = tree.grown(leaf)
    return tree


def test_the_roots_are_those_that_other_implementations_share() -> None:
    leaves = [hashlib.sha256(b"\x00" + bytes.fromhex(text)).digest() for text in INPUTS]
    roots = [tree_of(leaves[:size]).root().hex() for size in range(len(leaves) + 1)]
    assert roots == ROOTS


@given(st.lists(st.binary(min_size=32, max_size=32), max_size=70))
def test_a_tree_that_grew_leaf_by_leaf_is_that_of_the_definition(leaves: list[bytes]) -> None:
    tree = tree_of(leaves)
    assert (tree.size, tree.root()) == (len(leaves), slow_root(leaves))


def test_a_tree_of_many_leaves_holds_a_few_hashes() -> None:
    tree = tree_of([size.to_bytes(32, "big") for size in range(5_000)])
    assert tree.size == 5_000
    assert len(tree.peaks) == (5_000).bit_count()


def test_the_roots_of_the_vectors_are_those_of_the_page() -> None:
    leaves = [bytes.fromhex(leaf) for leaf in re.findall(r'"leaf": "([0-9a-f]{64})"', PAGE)]
    told = re.findall(r"^\| (\d+) \| `([0-9a-f]{64})` \|$", PAGE, re.MULTILINE)
    sizes = range(len(leaves) + 1)
    assert told == [(str(size), tree_of(leaves[:size]).root().hex()) for size in sizes]
    assert told == [(str(size), slow_root(leaves[:size]).hex()) for size in sizes]


def test_a_root_is_read_as_it_is_written() -> None:
    root = Root(3, 1204, bytes(range(32)))
    assert parse_root(str(root)) == parse_root(f" {str(root).upper()}\n") == root


@pytest.mark.parametrize("text", ["", "0:1", "0:1:ab", "0:-1:" + "0" * 64, "0:1:" + "g" * 64])
def test_a_text_that_tells_no_root_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="SHARD:SIZE:HEX"):
        parse_root(text)
