"""How the shards of a log are sealed: what is new goes into the tree, and a checkpoint of it is signed.

Tiles are kept first, many flushed together, then the checkpoint by its size, then the last one: whoever
dies amid that leaves a place whose last checkpoint holds. Two who seal at once write the same tiles. A
tree is only ever made from the tiles that its last checkpoint has, so nothing is signed that does not
follow from it. Before anything is written, the places must agree: what one has goes on from what another
has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from onrecord.adapters.seals.checkpoints import SealedCheckpoint, ShardSeals
from onrecord.adapters.seals.places import Place
from onrecord.adapters.seals.signing import signed
from onrecord.adapters.seals.timestamps import Authority
from onrecord.domain.errors import CorruptRecord, NotInstalled, StorageUnavailable, counted
from onrecord.domain.inventory import Commitment
from onrecord.domain.log import Backend, Cursor
from onrecord.domain.seals.checkpoint import Checkpoint, log_id_of
from onrecord.domain.seals.merkle import EMPTY
from onrecord.domain.seals.notes import PrivateKey, PublicKey
from onrecord.domain.seals.tiles import WIDTH, Tile, TileWriter, hashes_of, tile_in
from onrecord.projections.verification.verification import hash_faults

_PAGE: Final = 1024

_LastAtPlaces = list[tuple[ShardSeals, SealedCheckpoint | None]]
"""The seals of a shard at each place, with the last checkpoint there."""


class Sealer:
    """Seals a log with a key, at one place or several; safe to use from one thread at a time."""

    def __init__(
        self,
        backend: Backend,
        key: PrivateKey,
        places: Sequence[Place],
        *,
        earlier: Sequence[PublicKey] = (),
        authority: Authority | None = None,
    ) -> None:
        """Seal with a key; `earlier` are keys whose checkpoints may be there already.

        `authority` says when it saw a checkpoint. Where it does not, `unstamped` says why after a seal.
        """
        self._backend = backend
        self._key = key
        self._places = places
        self._keys = (key.public, *earlier)
        self._log_id = log_id_of(backend.digest)
        self._authority = authority
        self.unstamped: str = ""

    def seal(self) -> list[SealedCheckpoint]:
        """Seal what each shard has now, at each place, and return the checkpoints.

        CorruptRecord where the log does not begin with what was sealed before, where an event is not
        what its leaf says, or where a place was changed; nothing is signed then.
        """
        before = {last.shard: self._last_at_places(last.shard) for last in self._backend.cursors()}
        # The ends are read behind the checkpoints: another process may append and seal meanwhile.
        ends = [last for last in self._backend.cursors() if last.shard in before]
        checkpoints = [sealed for last in ends for sealed in self._sealed(last, before[last.shard])]
        if self._authority is not None:
            places = (seals for last in ends for seals, _ in before[last.shard])
            self.unstamped = _stamped(places, self._authority)
        return checkpoints

    def _last_at_places(self, shard: int) -> _LastAtPlaces:
        shards = [ShardSeals(place, self._log_id, shard, self._keys) for place in self._places]
        return [(seals, seals.last()) for seals in shards]

    def _sealed(self, last: Cursor, places: _LastAtPlaces) -> Iterator[SealedCheckpoint]:
        """Seal one shard; one checkpoint serves all places, so its root follows from each of them."""
        for seals, before in places:
            if last.position < _size_of(before):
                raise _cut(last, _size_of(before), seals.place)
        self._must_agree(last.shard, places)
        behind = [(seals, before) for seals, before in places if _is_behind(before, last)]
        at_end = (before for _, before in places if before and not _is_behind(before, last))
        writers = [self._writer(seals, before) for seals, before in behind]
        root = self._grown(last, writers)
        for writer, (seals, _) in zip(writers, behind, strict=True):
            if writer.tree().root() != root:
                raise _other_tiles(seals)
        sealed = next(at_end, None) or (self._signed(last, root) if root else None)
        for writer, (seals, _) in zip(writers, behind, strict=True):
            writer.write_edge()
            if sealed is not None:
                seals.add(sealed)
        if sealed is not None:
            yield sealed

    def _must_agree(self, shard: int, places: _LastAtPlaces) -> None:
        """Refuse places of which one does not go on from another, by the log; nothing is written.

        A place that was emptied, or is new, agrees where the log comes to what the others have.
        """
        for seals, before in places:
            self._must_go_on(seals, _size_of(before), shard)
        if len(places) < 2:
            return
        in_order = sorted(places, key=lambda each: _size_of(each[1]))
        first, until = in_order[0], _size_of(in_order[-1][1])
        writer = self._writer(*first, is_written=False)
        events = self._events(shard, writer.size, until)
        for seals, before in in_order[1:]:
            for event in islice(events, _size_of(before) - writer.size):
                writer.add(event.leaf)
            if before is not None and writer.tree().root() != before.checkpoint.hash:
                raise self._parted(seals, writer.size, shard, first[0].place)

    def _writer(
        self, seals: ShardSeals, before: SealedCheckpoint | None, *, is_written: bool = True
    ) -> TileWriter:
        """Go on from a checkpoint, whose tiles must be those that are there."""
        root = before.checkpoint.hash if before else EMPTY.root()
        write = seals.write_tile if is_written else _nowhere
        writer = TileWriter(_size_of(before), seals.tile, write)
        if writer.tree().root() != root:
            raise _other_tiles(seals)
        return writer

    def _grown(self, last: Cursor, writers: Sequence[TileWriter]) -> bytes | None:
        """Grow the trees of places to the end of the log, which is read once; return their root."""
        if not writers:
            return None
        for event in self._events(last.shard, min(each.size for each in writers), last.position):
            for writer in writers:
                if writer.size < event.position:
                    writer.add(event.leaf)
        return writers[0].tree().root()

    def _must_go_on(self, seals: ShardSeals, size: int, shard: int) -> None:
        """Refuse a log whose last sealed events are others: all of them `verify` compares."""
        if not size:
            return
        tile = tile_in(0, (size - 1) // WIDTH, size)
        leaves = hashes_of(tile, seals.tile(tile))
        stored = self._backend.inventory().commitments(shard, size - len(leaves), len(leaves))
        if [each.leaf for each in stored] != leaves:
            raise self._parted(seals, size, shard, seals.place)

    def _parted(self, seals: ShardSeals, size: int, shard: int, other: Place) -> CorruptRecord:
        """Say from which position on the log is not what a place has, or that two places differ."""
        stored = self._leaves(shard, size)
        for position, leaf in enumerate(seals.leaves(size), start=1):
            if next(stored, None) != leaf:
                return CorruptRecord(
                    f"shard {shard} was rewritten: position {position:,} is the first that is not as it "
                    f"was sealed at {seals.place}; nothing is sealed"
                )
        return CorruptRecord(
            f"the checkpoint of size {size:,} of shard {shard} at {seals.place} does not go on from what "
            f"is sealed at {other}: one of the places was changed; nothing is sealed"
        )

    def _leaves(self, shard: int, until: int) -> Iterator[bytes]:
        """Yield the leaves of a shard as the log has them, whatever else is wrong with it."""
        after = 0
        inventory = self._backend.inventory()
        while page := inventory.commitments(shard, after, min(_PAGE, until - after)):
            yield from (stored.leaf for stored in page)
            after = page[-1].position
            if after >= until:
                return

    def _events(self, shard: int, after: int, until: int) -> Iterator[Commitment]:
        """Yield the events behind a position up to another one; each must be what its leaf says."""
        inventory = self._backend.inventory()
        while after < until:
            page = inventory.commitments(shard, after, min(_PAGE, until - after))
            for stored in page:
                after += 1
                if stored.position != after:
                    break
                for why in hash_faults(stored):
                    raise CorruptRecord(f"event {after} of shard {shard}: {why}")
                yield stored
            if not page or page[-1].position != after:
                raise CorruptRecord(f"shard {shard} has no event at position {after}")

    def _signed(self, last: Cursor, root: bytes) -> SealedCheckpoint:
        checkpoint = Checkpoint(
            self._log_id,
            last.shard,
            last.position,
            root,
            last.incarnation,
            self._backend.clock(),
        )
        return SealedCheckpoint(checkpoint, signed(checkpoint.text(), self._key).encode())


def _stamped(places: Iterable[ShardSeals], authority: Authority) -> str:
    """Have the last checkpoint at each place stamped, unless it is; return why one is not.

    An older one that was missed needs none: the last one goes on from it.
    """
    responses = dict[bytes, bytes]()
    for seals in places:
        last = seals.last()
        if last is None or seals.timestamp(last.checkpoint.size) is not None:
            continue
        try:
            response = responses.get(last.note) or authority.stamp(last.note)
        except (StorageUnavailable, NotInstalled) as exc:
            return f"{exc}"
        responses[last.note] = response
        seals.add_timestamp(last.checkpoint.size, response)
    return ""


def _cut(last: Cursor, size: int, place: Place) -> CorruptRecord:
    return CorruptRecord(
        f"shard {last.shard} was cut or set back: it has {counted(last.position, 'event')}, and {size:,} "
        f"are sealed at {place}"
    )


def _other_tiles(seals: ShardSeals) -> CorruptRecord:
    return CorruptRecord(
        f"the tiles of shard {seals.shard} at {seals.place} are not those of its checkpoint"
    )


def _size_of(sealed: SealedCheckpoint | None) -> int:
    return sealed.checkpoint.size if sealed else 0


def _is_behind(before: SealedCheckpoint | None, last: Cursor) -> bool:
    return before is None or before.checkpoint.size < last.position


def _nowhere(tile: Tile, data: bytes) -> None:
    """Keep no tile: a tree is only computed."""
