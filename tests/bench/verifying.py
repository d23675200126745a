"""What it costs to verify a log and to seal it: an event's hashes and tree, the whole check, a seal, a proof."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

from onrecord.adapters.seals.checkpoints import ShardSeals
from onrecord.adapters.seals.places import Folder
from onrecord.adapters.seals.sealing import Sealer
from onrecord.adapters.seals.signing import new_key
from onrecord.adapters.seals.trust import NO_SEALS, Seals, TrustedKeys
from onrecord.adapters.storage.sqlite.sqlite import open_sqlite
from onrecord.adapters.upkeep.verifying import verify_log
from onrecord.domain.header import body_digest, leaf, recorded_header
from onrecord.domain.log import Backend, RecordedEvent
from onrecord.domain.seals.checkpoint import key_name_of, log_id_of
from onrecord.domain.seals.merkle import inclusion_proof
from onrecord.domain.seals.tiles import TileWriter, no_tile, subtrees_in
from tests.bench.growth import fill
from tests.bench.measure import Aim, Figures, Measure, computing, stopwatch
from tests.bench.workspace import Workspace

_ROUNDS: Final = 3
_PROOFS: Final = 100
_HASHES: Final = Aim(10)
"""Microseconds: 100,000 events a second on one core."""
_SEAL: Final = Aim(30)
"""Microseconds: 1,000,000 events in half a minute."""
_PROOF: Final = Aim(5, "below")
"""Milliseconds."""


def measures(workspace: Workspace) -> Iterator[Measure]:
    """Yield what an event of a prompt of 1 KB costs, on SQLite, and what a proof does.

    Events are counted in time of the processor, for aims are of one core; a proof by the clock.
    """
    count = workspace.scale.sizes[-1]
    workspace.say(f"verify: {count:,} events on SQLite")
    log = open_sqlite(workspace.path("verify.db"))
    fill(log, count, group=100)
    yield _hashes(log, count)
    yield from _sealed(log, count, workspace.path("seals"))
    log.close()


def _hashes(log: Backend, count: int) -> Measure:
    events = [stored.event for stored in log.inventory().log(0, 0, count)]
    seconds = [computing(lambda: _grow(events)) / count for _ in range(_ROUNDS)]
    return _event("verify.hashes", "digest, leaf and tree of an event in memory", seconds, _HASHES)


def _grow(events: list[RecordedEvent]) -> None:
    writer = TileWriter(0, no_tile, lambda _tile, _data: None)
    for event in events:
        header = recorded_header(event.header, event.version, event.position, event.recorded_at)
        writer.add(leaf(header, body_digest(event.salt or b"", event.body or b"")))


def _sealed(log: Backend, count: int, folder: Path) -> Iterator[Measure]:
    log_id = log_id_of(log.digest)
    key = new_key(key_name_of(log_id))
    places = [Folder(folder / f"{number}") for number in range(_ROUNDS)]
    seals = Seals((places[0],), TrustedKeys((key.public,), is_pinned=True))
    sealing = [_once(Sealer(log, key, [place]).seal, count) for place in places]
    yield _event("verify.seal", "a seal of all, at a folder", sealing, _SEAL)
    for name, wanted in (("whole", NO_SEALS), ("sealed", seals)):
        checks = [_once(partial(verify_log, log, seals=wanted), count) for _ in places]
        yield _event(f"verify.{name}", f"verify of all, {name}", checks, None)
    kept = ShardSeals(places[0], log_id, 0, [key.public])
    proofs = [
        stopwatch(partial(_prove, kept, index, count))
        for index in range(0, count, max(count // _PROOFS, 1))
    ]
    what = "a proof of inclusion, from tiles in a folder"
    yield Measure("verify.proof", "ms", Figures(what, "", [proofs]), aim=_PROOF)


def _prove(kept: ShardSeals, index: int, size: int) -> None:
    inclusion_proof(index, size, subtrees_in(size, kept.tile))


def _once(work: Callable[[], object], count: int) -> float:
    return computing(work) / count


def _event(name: str, what: str, seconds: list[float], aim: Aim | None) -> Measure:
    return Measure(name, "us", Figures(f"{what}, an event", "", [seconds]), aim=aim)
