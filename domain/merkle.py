"""The Merkle tree over the leaves of a shard, in the order of their positions (RFC 9162 §2.1).

Its root says all that the shard holds, in 32 bytes. It grows leaf by leaf and keeps only the roots
of its full subtrees, one for each bit of its size, so a log of any length takes a few of them.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final, NamedTuple

from onrecord.domain.errors import InvalidInput

_EMPTY: Final = hashlib.sha256(b"").digest()
_ROOT: Final = re.compile(r"([0-9]{1,5}):([0-9]{1,19}):([0-9a-fA-F]{64})")


class Tree(NamedTuple):
    """The tree over `size` leaves; `peaks` are the roots of its full subtrees, the largest first."""

    size: int = 0
    peaks: tuple[bytes, ...] = ()

    def grown(self, leaf: bytes) -> Tree:
        """Return the tree with one more leaf, which is a hash already (docs/format.md)."""
        peaks, full = self.peaks, self.size
        while full & 1:
            leaf, peaks, full = _node(peaks[-1], leaf), peaks[:-1], full >> 1
        return Tree(self.size + 1, (*peaks, leaf))

    def root(self) -> bytes:
        """Return the tree's root hash; of no leaves it is SHA-256 of nothing."""
        if not self.peaks:
            return _EMPTY
        *larger, root = self.peaks
        for peak in reversed(larger):
            root = _node(peak, root)
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
    found = _ROOT.fullmatch(text.strip())
    if found is None:
        raise InvalidInput("a root is written SHARD:SIZE:HEX, as `onrecord verify` prints it")
    shard, size, hexadecimal = found.groups()
    return Root(int(shard), int(size), bytes.fromhex(hexadecimal))


def _node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()
