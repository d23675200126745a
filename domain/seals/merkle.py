"""The Merkle tree over the leaves of a shard, in the order of their positions, and what it proves.

The tree, its inclusion proofs and its consistency proofs are those of RFC 9162 §2.1. Leaves are
hashes already (docs/format.md). An index counts leaves from 0: the leaf at index 0 is that of
position 1.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from onrecord.domain.errors import CorruptRecord, InvalidInput

HASH_SIZE: Final = 32

_EMPTY: Final = hashlib.sha256(b"").digest()
_ROOT: Final = re.compile(r"([0-9]{1,5}):([0-9]{1,19}):([0-9a-fA-F]{64})")

Subtrees = Callable[[int, int], bytes]
"""Takes a level and an index from 0; returns the root of that full subtree of 2 ** level leaves."""


def node(left: bytes, right: bytes) -> bytes:
    """Return SHA-256(0x01 || left || right): the hash above two others."""
    return hashlib.sha256(b"\x01" + left + right).digest()


class Tree(NamedTuple):
    """The tree over `size` leaves; `peaks` are the roots of its full subtrees, the largest first.

    There is one peak for each bit of the size, so a tree of any size takes a few hashes.
    """

    size: int = 0
    peaks: tuple[bytes, ...] = ()

    def grown(self, leaf: bytes) -> Tree:
        """Return the tree with one more leaf."""
        peaks, full = self.peaks, self.size
        while full & 1:
            leaf, peaks, full = node(peaks[-1], leaf), peaks[:-1], full >> 1
        return Tree(self.size + 1, (*peaks, leaf))

    def root(self) -> bytes:
        """Return the tree's root hash; of no leaves it is SHA-256 of nothing."""
        if not self.peaks:
            return _EMPTY
        *larger, root = self.peaks
        for peak in reversed(larger):
            root = node(peak, root)
        return root


EMPTY: Final = Tree()


class Root(NamedTuple):
    """What a shard came to at a size; as text it is `SHARD:SIZE:HEX`, for a person to write down."""

    shard: int
    size: int
    hash: bytes

    def __str__(self) -> str:
        """Return it as `parse_root` takes it."""
        return f"{self.shard}:{self.size}:{self.hash.hex()}"


def parse_root(text: str) -> Root:
    """Return the root that a text tells; InvalidInput where it tells none."""
    match = _ROOT.fullmatch(text.strip())
    if match is None:
        raise InvalidInput("a root is written SHARD:SIZE:HEX, as `onrecord verify` prints it")
    shard, size, hexadecimal = match.groups()
    return Root(int(shard), int(size), bytes.fromhex(hexadecimal))


# Proofs, made from the roots of full subtrees.


def inclusion_proof(index: int, size: int, subtrees: Subtrees) -> tuple[bytes, ...]:
    """Return the hashes that lead from a leaf to the root of a tree, the lowest first (§2.1.3.1)."""
    if not 0 <= index < size:
        raise InvalidInput(f"a tree of {size} leaves has none at index {index}")
    proof: list[bytes] = []
    start, end = 0, size
    while end - start > 1:
        middle = start + _split(end - start)
        if index < middle:
            proof.append(_root_between(middle, end, subtrees))
            end = middle
        else:
            proof.append(_root_between(start, middle, subtrees))
            start = middle
    return tuple(reversed(proof))


def consistency_proof(old: int, size: int, subtrees: Subtrees) -> tuple[bytes, ...]:
    """Return the hashes that show a tree to begin with the leaves of an older one (§2.1.4.1).

    There are none where the older tree is empty, or as large.
    """
    if not 0 <= old <= size:
        raise InvalidInput(f"a tree of {size} leaves does not begin with one of {old}")
    if old in (0, size):
        return ()
    proof: list[bytes] = []
    start, end = 0, size
    while end > old:
        middle = start + _split(end - start)
        if old <= middle:
            proof.append(_root_between(middle, end, subtrees))
            end = middle
        else:
            proof.append(_root_between(start, middle, subtrees))
            start = middle
    # Where the older tree is a full subtree from the first leaf on, its root is known already.
    if start:
        proof.append(_root_between(start, end, subtrees))
    return tuple(reversed(proof))


def root_by_inclusion(leaf: bytes, index: int, size: int, proof: Sequence[bytes]) -> bytes:
    """Return the root of the tree in which a proof places a leaf (§2.1.3.2).

    Whether it is the root of the log is for the caller to compare. CorruptRecord for a proof of
    another length than it must have.
    """
    if not 0 <= index < size:
        raise CorruptRecord("the proof is of a leaf that the tree does not have")
    place, last, root = index, size - 1, leaf
    for sibling in proof:
        if not last:
            raise CorruptRecord("the proof has too many hashes")
        if place & 1 or place == last:
            root = node(sibling, root)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            root = node(root, sibling)
        place, last = place >> 1, last >> 1
    if last:
        raise CorruptRecord("the proof has too few hashes")
    return root


def is_consistent(
    old: int, old_root: bytes, size: int, root: bytes, proof: Sequence[bytes]
) -> bool:
    """Whether a proof shows that a tree begins with the leaves of an older one (§2.1.4.2)."""
    if old == size:
        return not proof and old_root == root
    if old == 0:
        return not proof and old_root == _EMPTY
    if not 0 < old < size:
        return False
    hashes = (old_root, *proof) if old & (old - 1) == 0 else tuple(proof)
    place, last = old - 1, size - 1
    while place & 1:
        place, last = place >> 1, last >> 1
    if not hashes:
        return False
    of_old = of_new = hashes[0]
    for sibling in hashes[1:]:
        if not last:
            return False
        if place & 1 or place == last:
            of_old, of_new = node(sibling, of_old), node(sibling, of_new)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            of_new = node(of_new, sibling)
        place, last = place >> 1, last >> 1
    return not last and of_old == old_root and of_new == root


def _split(count: int) -> int:
    """Return the largest power of two below a count of two or more."""
    return 1 << (count - 1).bit_length() - 1


def _root_between(start: int, end: int, subtrees: Subtrees) -> bytes:
    """Return the root over leaves of which the first stands where a subtree of so many begins."""
    count = end - start
    if count & (count - 1) == 0:
        return subtrees(count.bit_length() - 1, start // count)
    middle = start + _split(count)
    return node(_root_between(start, middle, subtrees), _root_between(middle, end, subtrees))
