"""What it costs to verify a log: an event's hashes and tree, and the whole check, with seals and without."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

from onrecord.adapters.seals.places import Folder
from onrecord.adapters.seals.sealing import Sealer
from onrecord.adapters.seals.signing import new_key
from onrecord.adapters.seals.trust import NO_SEALS, Seals, TrustedKeys
from onrecord.adapters.storage.sqlite.sqlite import open_sqlite
from onrecord.adapters.upkeep.verifying import verify_log
from onrecord.domain.header import body_digest, leaf, recorded_header
from onrecord.domain.log import Backend, RecordedEvent
from onrecord.domain.seals.checkpoint import key_name_of, log_id_of
from onrecord.domain.seals.tiles import TileWriter, no_tile
from tests.bench.growth import fill
from tests.bench.measure import Aim, Figures, Measure, computing
from tests.bench.workspace import Workspace

_ROUNDS: Final = 3
_HASHES: Final = Aim(10)
"""Microseconds: 100,000 events a second on one core."""


def measures(workspace: Workspace) -> Iterator[Measure]:
    """Yield what an event of a prompt of 1 KB costs, on SQLite.

    It is time of the processor, for aims are of one core.
    """
    count = workspace.scale.sizes[-1]
    workspace.say(f"verify: {count:,} events on SQLite")
    log = open_sqlite(workspace.path("verify.db"))
    fill(log, count, group=100)
    yield from _hashes(log, count)
    yield from _sealed(log, count, workspace.path("seals"))
    log.close()


def _hashes(log: Backend, count: int) -> Iterator[Measure]:
    """Measure the hashes, and beside them as many of `hashlib` alone: no code can do with fewer."""
    events = [stored.event for stored in log.inventory().log(0, 0, count)]
    sides = [
        (_once(partial(_grow, events), count), _once(partial(_hash, events), count))
        for _ in range(_ROUNDS)
    ]
    ours, alone = (list(seconds) for seconds in zip(*sides, strict=True))
    what = "digest, leaf and tree of an event in memory"
    yield _event("verify.hashes", what, ours, _HASHES)
    peer = Figures("three SHA-256 an event by `hashlib` alone", "", [alone])
    yield Measure("verify.hashes.beside", "us", Figures(f"{what}, an event", "", [ours]), peer)


def _grow(events: list[RecordedEvent]) -> None:
    writer = TileWriter(0, no_tile, lambda _tile, _data: None)
    for event in events:
        header = recorded_header(event.header, event.version, event.position, event.recorded_at)
        writer.add(leaf(header, body_digest(event.salt or b"", event.body or b"")))


def _hash(events: list[RecordedEvent]) -> None:
    """Hash as many bytes as RFC 9162 has of the events: digests, leaves, and the nodes above them."""
    for event in events:
        hashlib.sha256((event.salt or b"") + (event.body or b"")).digest()
        hashlib.sha256(event.header + event.digest).digest()
        hashlib.sha256(event.leaf + event.leaf).digest()


def _sealed(log: Backend, count: int, folder: Path) -> Iterator[Measure]:
    key, place = new_key(key_name_of(log_id_of(log.digest))), Folder(folder)
    Sealer(log, key, [place]).seal()
    seals = Seals((place,), TrustedKeys((key.public,), is_pinned=True))
    for name, wanted in (("whole", NO_SEALS), ("sealed", seals)):
        checks = [_once(partial(verify_log, log, seals=wanted), count) for _ in range(_ROUNDS)]
        yield _event(f"verify.{name}", f"verify of all, {name}", checks, None)


def _once(work: Callable[[], object], count: int) -> float:
    return computing(work) / count


def _event(name: str, what: str, seconds: list[float], aim: Aim | None) -> Measure:
    return Measure(name, "us", Figures(f"{what}, an event", "", [seconds]), aim=aim)
