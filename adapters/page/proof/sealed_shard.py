"""Whether a log has all events of a shard that a checkpoint covers, of whichever conversation they are."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, repeat
from typing import Final

from onrecord.adapters.encryption.encrypted_log import stored_of
from onrecord.adapters.seals.checkpoints import SealedCheckpoint, ShardSeals
from onrecord.domain.errors import CorruptRecord, counted
from onrecord.domain.log import Backend
from onrecord.domain.seals.merkle import EMPTY

MOST: Final = 100_000
"""The most events that are compared: of larger shards the verification of the whole log tells."""

_PAGE: Final = 256

_Leaf = tuple[int, bytes]


def is_comparable(backend: Backend, size: int) -> bool:
    """Return whether a shard can be compared up to a size: all of it is seen, and it is not too much."""
    return most_compared(size) is None and stored_of(backend).inventory().shows_all_tenants()


def most_compared(size: int) -> int | None:
    """Return how many events of a shard are compared at most, where it has more; None where all are."""
    return MOST if size > MOST else None


def shard_faults(
    backend: Backend, seals: ShardSeals, sealed: SealedCheckpoint, known: frozenset[int]
) -> Iterator[str]:
    """Yield what a shard lacks of a checkpoint; what is wrong at `known` positions was told before.

    CorruptRecord where the leaves at the place are not those of the checkpoint.
    """
    size = sealed.checkpoint.size
    missing, changed = list[int](), list[int]()
    tree, stored = EMPTY, chain(_leaves(backend, seals.shard, size), repeat((size + 1, b"")))
    position, leaf = next(stored)
    for index, wanted in enumerate(seals.leaves(size), start=1):
        tree = tree.grown(wanted)
        if position != index:
            missing.append(index)
            continue
        if leaf != wanted and index not in known:
            changed.append(index)
        position, leaf = next(stored)
    if tree.root() != sealed.checkpoint.hash:
        raise CorruptRecord(f"the leaves at {seals.place} are not those of its checkpoint")
    of = f"of the {counted(size, 'event')} of shard {seals.shard} that were sealed"
    if missing:
        yield f"{len(missing):,} {of} are missing: the first is the one at position {missing[0]:,}"
    if changed:
        yield f"{len(changed):,} {of} are other ones: the first is the one at position {changed[0]:,}"


def _leaves(backend: Backend, shard: int, until: int) -> Iterator[_Leaf]:
    """Yield the positions and the leaves of a shard as the log has them, up to a position."""
    inventory, after = stored_of(backend).inventory(), 0
    while after < until and (page := inventory.commitments(shard, after, _PAGE)):
        yield from ((each.position, each.leaf) for each in page if each.position <= until)
        after = page[-1].position
