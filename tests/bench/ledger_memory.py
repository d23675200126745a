"""The most memory that an export and an evidence bundle take, as the conversation in them grows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final
from uuid import UUID, uuid4

from onrecord.adapters.seals.key_files import make_key_file
from onrecord.adapters.seals.store_seals import proofs_of, sealer_of
from onrecord.adapters.settings import SealSettings
from onrecord.adapters.storage.sqlite.sqlite import open_sqlite
from onrecord.adapters.transfer.evidence import Evidence, Scope
from onrecord.adapters.transfer.export import export
from onrecord.domain.log import Backend
from onrecord.domain.seals.checkpoint import key_name_of, log_id_of
from tests.bench.children import start
from tests.bench.measure import Aim, Figures, Measure
from tests.bench.payload import batches, prompt
from tests.bench.workspace import Workspace
from tests.factories import TENANT, appending

_FLAT: Final = Aim(1.1)
"""The most of ten times the events, over the most of them."""

_MANY: Final = 500
_STATUS: Final = Path("/proc/self/status")

Lines = Callable[[Backend, SealSettings, UUID], Iterator[bytes]]


def measures(workspace: Workspace) -> Iterator[Measure]:
    """Yield the most that a process had which wrote each of both, over one of a tenth of the events.

    Linux alone tells it so that what was before the process does not count.
    """
    count = workspace.scale.sizes[-1]
    workspace.say(f"ledger: memory of evidence and exports of {count:,} events")
    large, small = (_most(*_conversation(workspace, size)) for size in (count, count // 10))
    for name in _WRITTEN:
        what = f"a process that writes {name} of a conversation of {{:,}} events of 1 KB"
        of_many = Figures(what.format(count), "", [[large[name]]])
        of_few = Figures(what.format(count // 10), "", [[small[name]]])
        yield Measure(f"ledger.memory.{name}", "MB", of_many, of_few, _FLAT)


def _conversation(workspace: Workspace, count: int) -> tuple[Path, SealSettings, UUID]:
    """Make a log of one conversation, sealed."""
    path, conversation = workspace.path("memory.db"), uuid4()
    log = open_sqlite(path)
    for events in batches((prompt() for _ in range(count)), _MANY):
        log.append([appending(conversation, *events, tenant=TENANT)])
    key = workspace.path("key")
    make_key_file(key, key_name_of(log_id_of(log.digest)))
    settings = SealSettings((str(workspace.path("seals")),), key)
    sealer_of(log, settings).seal()
    log.close()
    return path, settings, conversation


def _evidence(log: Backend, settings: SealSettings, conversation: UUID) -> Iterator[bytes]:
    ends = {last.shard: last.position for last in log.cursors()}
    return Evidence(log, proofs_of(log, settings), Scope(TENANT, conversation), ends).lines()


def _export(log: Backend, settings: SealSettings, conversation: UUID) -> Iterator[bytes]:
    return export(log, conversation, None)


_WRITTEN: Final[Mapping[str, Lines]] = {"export": _export, "evidence": _evidence}
"""What a process writes, one after the other: evidence takes more than an export."""


def _most(path: Path, settings: SealSettings, conversation: UUID) -> dict[str, float]:
    """Return the most memory that a new process had when each was written, in MB."""
    with ExitStack() as stack:
        peaks: dict[str, float] = start(stack, _write, path, settings, conversation).recv()
    return peaks


def _write(path: Path, settings: SealSettings, conversation: UUID, pipe: Connection) -> None:
    log = open_sqlite(path)
    peaks: dict[str, float] = {}
    for name, lines in _WRITTEN.items():
        for _ in lines(log, settings, conversation):
            pass
        peaks[name] = _peak()
    log.close()
    pipe.send(peaks)
    pipe.recv()


def _peak() -> float:
    """Return the most memory that this process had, in MB."""
    # Not ru_maxrss, which goes on from the process that started this one.
    peak = next(line for line in _STATUS.read_text().splitlines() if line.startswith("VmHWM"))
    return int(peak.split()[1]) / 1024
