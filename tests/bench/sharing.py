"""How fast one worker catches up with a log, and how fast two that share it do.

The log has an equal share of events in each of its eight shards. All views are kept, then the one that
is cheapest alone. Workers are processes of one thread, alive before the clock starts; what it takes
them to share the parts is counted.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from multiprocessing.connection import Connection
from time import perf_counter, sleep
from typing import Final
from uuid import uuid4

from onrecord.adapters.storage.postgres.postgres import migrate, open_postgres
from onrecord.adapters.views.postgres.worker import Worker
from onrecord.projections.views.registry import VIEWS
from tests.bench.children import start
from tests.bench.measure import Figures, Measure
from tests.bench.payload import batches, prompt
from tests.bench.workspace import Workspace
from tests.factories import appending
from tests.patience import join

_MOST: Final = 50_000
_ROUNDS: Final = 2
_WORKERS: Final = (1, 2)
_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {"all": tuple(VIEWS), "audit": ("audit",)}


def measures(workspace: Workspace) -> Iterator[Measure]:
    """Yield how many events a second are folded, by one worker and by two."""
    count = min(workspace.scale.sizes[-1], _MOST)
    for choice, names in _CHOICES.items():
        rates: dict[int, list[list[float]]] = {workers: [] for workers in _WORKERS}
        for _ in range(_ROUNDS):
            for workers, shown in rates.items():
                workspace.say(f"sharing: {workers} workers, {choice}, {count:,} events")
                url = workspace.server.create(f"filled {count}", partial(_fill, count=count))
                shown.append([count / _seconds(url, names, workers)])
                workspace.server.drop(url)
        for workers, shown in rates.items():
            what = f"{workers} workers catch up with {count:,} events, views: {choice}"
            figures = Figures(what, "a batch is one transaction with its checkpoints", shown)
            yield Measure(f"sharing.{choice}.{workers}", "events/s", figures)


def _fill(url: str, *, count: int) -> None:
    migrate(url)
    log = open_postgres(url)
    tenants = [(uuid4(), uuid4()) for _ in range(256)]
    appends = (
        appending(conversation, prompt(), tenant=tenant)
        for tenant, conversation in (tenants[number % len(tenants)] for number in range(count))
    )
    for batch in batches(appends, 100):
        log.append(batch)
    log.close()


def _seconds(url: str, names: tuple[str, ...], workers: int) -> float:
    """Return how long workers take, from their start until the views have come to the end."""
    with ExitStack() as stack:
        pipes = [start(stack, _work, url, names) for _ in range(workers)]
        for pipe in pipes:
            pipe.recv()
        began = perf_counter()
        for pipe in pipes:
            pipe.send("go")
        for pipe in pipes:
            pipe.recv()
        return perf_counter() - began


def _work(url: str, names: tuple[str, ...], pipe: Connection) -> None:
    worker = Worker(url, {name: VIEWS[name] for name in names})
    thread = threading.Thread(target=worker.run)
    ends = worker.ends()
    pipe.send("ready")
    if pipe.recv() is None:
        return
    thread.start()
    while not worker.has_come_to(ends):
        sleep(0.02)
    pipe.send("there")
    worker.stop()
    join(thread)
