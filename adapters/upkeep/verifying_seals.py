"""The seals of a log, compared with the log: every checkpoint and every tile that places keep of it.

While the tree of a shard grows, each checkpoint is compared at its size, and each tile when it is full.
Only where a checkpoint is not of this log are the leaves read again, to name the first wrong position.
"""

from __future__ import annotations

from uuid import UUID

from onrecord.adapters.seals.checkpoints import ShardSeals
from onrecord.adapters.seals.places import Place
from onrecord.adapters.seals.timestamps import TrustedAuthority
from onrecord.adapters.seals.trust import Seals, TrustedKeys
from onrecord.adapters.upkeep.verified import VerifiedSeal
from onrecord.adapters.upkeep.verifying_places import NOTHING, Leaves, ShardAtPlace, unread
from onrecord.domain.errors import StorageUnavailable, counted
from onrecord.domain.seals.tiles import Tile, TileWriter
from onrecord.projections.verification.verification import Fault


class SealedLog:
    """What places keep of a log: read before the ends of the log are, so the log is as long."""

    def __init__(self, log_id: UUID, seals: Seals) -> None:
        """List what is at the places."""
        self.faults: list[Fault] = []
        self.checked: list[str] = []
        self.unchecked: list[str] = []
        self.seals: list[VerifiedSeal] = []
        self._log_id = log_id
        self._trusted = seals.trusted
        self._authority = seals.authority
        self._places = [
            _PlacedLog(place, log_id, seals.trusted, seals.authority) for place in seals.places
        ]
        self._shards: set[int] = set()

    def shard(self, shard: int) -> SealedShard:
        """Return what there is of a shard, to be compared while its tree grows."""
        self._shards.add(shard)
        return SealedShard([placed.shard(shard) for placed in self._places])

    def take(self, sealed: SealedShard, size: int, leaves: Leaves) -> None:
        """Take what a shard came to, whose tree has grown to a size."""
        for shard_at_place in sealed.finish(size, leaves):
            self.faults += [Fault(None, 0, why) for why in shard_at_place.faults]
            self.seals.append(shard_at_place.verified(size))
            if shard_at_place.stamped:
                trust = self.checked if self._authority else self.unchecked
                trust.append(_timestamps(shard_at_place, is_named=self._authority is not None))
            if why := shard_at_place.unreadable:
                self.unchecked.append(why)
        self.faults += [Fault(None, 0, why) for why in sealed.faults]

    def finish(self) -> None:
        """Compare which shards there are, and say whom all of this takes on trust."""
        for placed in self._places:
            for shard in sorted(placed.shards.keys() - self._shards):
                why = f"the log has no shard {shard}, of which {placed.place} keeps seals"
                self.faults.append(Fault(None, 0, why))
        self.unchecked = list(dict.fromkeys(self.unchecked))
        self.checked += [_compared(seal) for seal in self.seals if seal.checkpoints]
        for key in dict.fromkeys(key for seal in self.seals for key in seal.keys):
            trust = self.checked if self._trusted.is_pinned else self.unchecked
            trust.append(_trust(key, self._trusted))

    def is_compared(self) -> bool:
        """Whether each shard has a seal that the log still has."""
        sealed = {seal.shard for seal in self.seals if seal.checkpoints}
        return bool(sealed) and self._shards <= sealed


class SealedShard:
    """What each place keeps of one shard, compared while the tree of the shard grows."""

    def __init__(self, places: list[ShardAtPlace]) -> None:
        """Begin before the first leaf."""
        self.faults: list[str] = []
        self._places = places
        self._sizes = iter(sorted({size for each in places for size in each.sizes}))
        self._next = next(self._sizes, NOTHING)

    def tile(self, tile: Tile, data: bytes) -> None:
        """Compare a tile of the log's tree with the one that each place has."""
        for each in self._places:
            each.tile(tile, data)

    def grown(self, writer: TileWriter) -> None:
        """Compare the checkpoints of the size that the tree has now."""
        if writer.size != self._next:
            return
        self._compare(writer.size, writer.tree().root())
        if any(each.until == writer.size for each in self._places):
            writer.write_edge()
        self._next = next(self._sizes, NOTHING)

    def finish(self, size: int, leaves: Leaves) -> list[ShardAtPlace]:
        """Return what each place came to, after the last leaf of the log."""
        while self._next != NOTHING:
            self._compare(self._next, None)
            self._next = next(self._sizes, NOTHING)
        for each in self._places:
            each.finish(size, leaves)
        return self._places

    def _compare(self, size: int, root: bytes | None) -> None:
        """Compare all checkpoints of a size with the log's root, and with each other."""
        views: dict[bytes, ShardAtPlace] = {}
        for each in self._places:
            for sealed in each.checkpoints(size):
                each.compare(sealed, root)
                views.setdefault(sealed.checkpoint.hash, each)
        if len(views) > 1:
            where = " and ".join(f"{each.seals.place}" for each in views.values())
            self.faults.append(
                f"{counted(len(views), 'checkpoint')} of size {size:,} are signed, with different roots: "
                f"whoever has the key signed more than one log, at {where}"
            )


class _PlacedLog:
    """What one place keeps of a log."""

    def __init__(
        self,
        place: Place,
        log_id: UUID,
        trusted: TrustedKeys,
        authority: TrustedAuthority | None,
    ) -> None:
        self.place = place
        self._authority = authority
        self.shards: dict[int, ShardAtPlace] = {}
        self._log_id = log_id
        self._trusted = trusted
        self._unreadable = "" if trusted.keys else _no_key(place)
        try:
            names = [] if self._unreadable else place.names(f"{log_id}")
        except StorageUnavailable as exc:
            names, self._unreadable = [], unread(exc)
        for name in names:
            if name.isascii() and name.isdecimal():
                self.shards[int(name)] = self._read(int(name))

    def shard(self, shard: int) -> ShardAtPlace:
        return self.shards.get(shard) or self._read(shard)

    def _read(self, shard: int) -> ShardAtPlace:
        seals = ShardSeals(self.place, self._log_id, shard, self._trusted.keys)
        return ShardAtPlace(seals, self._trusted, self._unreadable, self._authority)


def _no_key(place: Place) -> str:
    return (
        f"the seals at {place}: no public key is known, so no checkpoint is believed: give --vkey with the "
        "key that was kept elsewhere"
    )


def _compared(seal: VerifiedSeal) -> str:
    return (
        f"{counted(seal.checkpoints, 'checkpoint')} of shard {seal.shard} at {seal.place}: signatures and "
        f"roots, and the tiles up to {seal.size:,}"
    )


def _timestamps(placed: ShardAtPlace, *, is_named: bool) -> str:
    """Say whom the timestamps of a shard are of."""
    stamped = counted(len(placed.stamped), "timestamp")
    what = f"{stamped} of shard {placed.seals.shard} at {placed.seals.place}"
    if is_named:
        return f"{what}: signatures and digests, by the certificates that were named"
    return f"{what}: give --authority with the certificates of the authority"


def _trust(key: str, trusted: TrustedKeys) -> str:
    """Say how strong the seals of a key are."""
    if trusted.is_pinned:
        return (
            f"the key {key} signed, which was pinned: the seals are as strong as who has its private half, "
            "and who may write to their places"
        )
    return (
        f"whether {key} is the right key: it came with the private key that is here. Give --vkey with the "
        "public key that was kept elsewhere"
    )
