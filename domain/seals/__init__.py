"""What proves a log: the Merkle tree of a shard, its tiles, and the signed checkpoints of it. Pure."""
