"""What the rate of appends depends on: callers, processes, shards, a standby, the log's size.

Four processes stay alive throughout, and are told, turn by turn, how many callers each has and whether
all are one tenant's (one shard) or each is another's (all eight). A caller is a coroutine that
appends one prompt of 1 KB after the other, to a conversation of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from multiprocessing.connection import Connection
from time import perf_counter, sleep
from typing import Final
from uuid import UUID, uuid4

import psycopg

from onrecord.adapters.storage.postgres.postgres import Postgres, migrate, open_postgres
from tests.awaited import appended
from tests.bench.children import start
from tests.bench.growth import fill
from tests.bench.measure import Figures, Measure
from tests.bench.pairings import GUARANTEES
from tests.bench.payload import prompt
from tests.bench.workspace import POSTGRES, Workspace
from tests.factories import TENANT, appending
from tests.postgres_copies import base_backup, started
from tests.postgres_server import Server, carried_server

_PROCESSES: Final = 4
_MOST_ROUNDS: Final = 5


@dataclass(frozen=True, slots=True)
class Turn:
    """So many processes with so many callers each, of one tenant or each of its own."""

    name: str
    processes: int
    callers: int
    tenants: bool = False


_TURNS: Final = (
    Turn("callers.1", 1, 1),
    Turn("callers.4", 1, 4),
    Turn("callers.16", 1, 16),
    Turn("callers.64", 1, 64),
    Turn("processes.2", 2, 16),
    Turn("processes.4", 4, 16),
    Turn("shards.8", 4, 16, tenants=True),
)


def measures(workspace: Workspace) -> Iterator[Measure]:
    """Yield appends a second: by who appends, then by how many events there are already."""
    url = workspace.database()
    open_postgres(url).close()
    yield from _by_callers(workspace, url)
    yield from _by_standby(workspace)
    most = workspace.scale.sizes[-1]
    yield from _by_size(workspace, (0, most, 10 * most))


def _by_callers(workspace: Workspace, url: str) -> Iterator[Measure]:
    workspace.say(f"scaling: {_PROCESSES} processes, {len(_TURNS)} ways to share the work")
    with ExitStack() as stack:
        crew = _Crew(stack, url)
        rates: list[list[list[float]]] = [[] for _ in _TURNS]
        for number in range(_rounds(workspace)):
            order = list(zip(_TURNS, rates, strict=True))
            for turn, shown in order if number % 2 == 0 else reversed(order):
                shown.append([crew.rate(turn, workspace.scale.seconds)])
    for turn, shown in zip(_TURNS, rates, strict=True):
        whose = "eight shards" if turn.tenants else "one shard"
        what = f"{turn.processes} processes of {turn.callers} coroutines, {whose}"
        yield _measure(turn.name, what, shown)


def _by_size(workspace: Workspace, sizes: Sequence[int]) -> Iterator[Measure]:
    with ExitStack() as stack:
        logs = [stack.enter_context(closing(_filled(workspace, size))) for size in sizes]
        rates: list[list[list[float]]] = [[] for _ in sizes]
        for _ in range(_rounds(workspace)):
            for log, shown in zip(logs, rates, strict=True):
                # The first moments are its own connection's, and are not counted.
                asyncio.run(_rate(log, [TENANT] * 16, workspace.scale.seconds / 4))
                shown.append([asyncio.run(_rate(log, [TENANT] * 16, workspace.scale.seconds))])
    for size, shown in zip(sizes, rates, strict=True):
        yield _measure(f"size.{size}", f"16 callers, after {size:,} events", shown)


def _by_standby(workspace: Workspace) -> Iterator[Measure]:
    """Measure with a standby that commits do not wait for, and with the same one when they do."""
    workspace.say("scaling: a server with a standby")
    primary = carried_server(POSTGRES)
    standby = started(primary, base_backup(primary, "--write-recovery-conf"))
    log = open_postgres(primary.create("log", migrate))
    rates: dict[str, list[list[float]]] = {"asynchronous": [], "synchronous": []}
    for _ in range(_rounds(workspace)):
        for kind, shown in rates.items():
            _wait_for_standbys(primary, "*" if kind == "synchronous" else "")
            asyncio.run(_rate(log, [TENANT] * 16, workspace.scale.seconds / 4))
            shown.append([asyncio.run(_rate(log, [TENANT] * 16, workspace.scale.seconds))])
    log.close()
    standby.crash()
    primary.crash()
    for kind, shown in rates.items():
        yield _measure(f"standby.{kind}", f"16 callers, one {kind} standby", shown)


def _wait_for_standbys(primary: Server, names: str) -> None:
    with psycopg.connect(primary.url, autocommit=True) as owner:
        owner.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'".encode())
        owner.execute("SELECT pg_reload_conf()")
        wanted = "sync" if names else "async"
        while owner.execute("SELECT sync_state FROM pg_stat_replication").fetchall() != [(wanted,)]:
            sleep(0.05)


def _rounds(workspace: Workspace) -> int:
    return min(_MOST_ROUNDS, workspace.scale.pace.rounds)


def _filled(workspace: Workspace, size: int) -> Postgres:
    workspace.say(f"scaling: a log of {size:,} events")
    log = open_postgres(workspace.database())
    fill(log, size, group=100)
    return log


class _Crew:
    """The processes, by the pipes to them."""

    def __init__(self, stack: ExitStack, url: str) -> None:
        self._pipes = [start(stack, _work, url) for _ in range(_PROCESSES)]
        for pipe in self._pipes:
            pipe.recv()

    def rate(self, turn: Turn, seconds: float) -> float:
        """Return how many appends a second they make together."""
        at_work = self._pipes[: turn.processes]
        for pipe in at_work:
            pipe.send((turn, seconds))
        rates: list[float] = [pipe.recv() for pipe in at_work]
        return sum(rates)


def _work(url: str, pipe: Connection) -> None:
    log = open_postgres(url)
    asyncio.run(_rate(log, [TENANT], 0.1))
    pipe.send("ready")
    while (told := pipe.recv()) is not None:
        turn, seconds = told
        tenants = [uuid4() if turn.tenants else TENANT for _ in range(turn.callers)]
        pipe.send(asyncio.run(_rate(log, tenants, seconds)))
    log.close()


async def _rate(log: Postgres, tenants: Sequence[UUID], seconds: float) -> float:
    began = perf_counter()
    counts = await asyncio.gather(*(_append(log, tenant, began + seconds) for tenant in tenants))
    return sum(counts) / (perf_counter() - began)


async def _append(log: Postgres, tenant: UUID, until: float) -> int:
    conversation, count = uuid4(), 0
    while perf_counter() < until:
        await appended(log, [appending(conversation, prompt(), tenant=tenant)])
        count += 1
    return count


def _measure(name: str, what: str, rates: list[list[float]]) -> Measure:
    figures = Figures(what, GUARANTEES["postgres"], rates)
    return Measure(f"scaling.{name}", "appends/s", figures)
