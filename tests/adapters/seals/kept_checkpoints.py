"""The checkpoints that a place keeps of a shard, for tests."""

from onrecord.adapters.seals.checkpoints import ShardSeals
from onrecord.domain.seals.checkpoint import Checkpoint


def checkpoints_at(seals: ShardSeals) -> list[Checkpoint]:
    """The checkpoints by size, the smallest first; each is signed."""
    kept = [seals.at(size) for size in seals.sizes()]
    return [each.checkpoint for each in kept if each is not None]
