"""Views: catching up beside the library's ProjectionRunner, append to visible, and a rebuild.

All on PostgreSQL, workers as they are started by `onrecord worker`, with one thread.
"""

from __future__ import annotations

import resource
import threading
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from itertools import cycle
from multiprocessing.connection import Connection
from statistics import quantiles
from time import monotonic, perf_counter, sleep
from typing import Final
from uuid import uuid4

import psycopg

from onrecord.adapters.storage.postgres.connections import Connections, address_of
from onrecord.adapters.storage.postgres.postgres import Postgres, open_postgres
from onrecord.adapters.views.postgres.keeper import PostgresKeeper
from onrecord.adapters.views.postgres.worker import Worker
from onrecord.domain.events import ResponseCompleted
from onrecord.projections.views.registry import VIEWS
from onrecord.projections.views.view import View
from tests.bench import growth, stock_projection
from tests.bench.children import start
from tests.bench.measure import Aim, Figures, Measure, Rounds
from tests.bench.payload import batches, prompt, text
from tests.bench.workspace import Workspace
from tests.factories import TENANT, appending
from tests.patience import join

RATE: Final = 1_000
"""Events a second that are appended while it is measured how soon they are seen."""

_ROUNDS: Final = 3
_MOST_OF_THE_PEER: Final = 5_000
_WRITERS: Final = 4
_WARMING: Final = 1.0
"""Seconds that are not counted: connections are made, and statements prepared."""

_GUARANTEE: Final = "rows and checkpoint in one transaction"


def measures(workspace: Workspace) -> Iterator[Measure]:
    """Yield events a second, milliseconds until an event is seen, and what a rebuild takes."""
    yield _catching_up(workspace)
    yield from _seeing(workspace)
    yield from _rebuilding(workspace)


def _catching_up(workspace: Workspace) -> Measure:
    """Measure sums of tokens by day and model, from the first event on."""
    count = workspace.scale.sizes[-1]
    workspace.say(f"projecting: {count:,} responses, and {_MOST_OF_THE_PEER:,} of the library's")
    url, peer_count = workspace.database(), min(count, _MOST_OF_THE_PEER)
    with closing(open_postgres(url)) as log:
        _answer(log, count)
    ours: Rounds = []
    peers: Rounds = []
    for _ in range(_ROUNDS):
        ours.append([_rate(url, count)])
        if workspace.peers:
            # Anew each time: its tables cannot be emptied under it.
            stock = workspace.database()
            stock_projection.filled(stock, peer_count)
            peers.append([stock_projection.rate(stock)])
    theirs = f"ProjectionRunner, the same sums, {peer_count:,} events"
    return Measure(
        "projecting.catch_up",
        "events/s",
        Figures(f"a worker, the view `usage`, {count:,} events", _GUARANTEE, ours),
        Figures(theirs, _GUARANTEE, peers) if peers else None,
        Aim(20, "at least") if peers else None,
    )


def _answer(log: Postgres, count: int) -> None:
    conversations = cycle([uuid4() for _ in range(100)])
    appends = (appending(next(conversations), _answered(), tenant=TENANT) for _ in range(count))
    for group in batches(appends, 100):
        log.append(group)


def _answered() -> ResponseCompleted:
    return ResponseCompleted(
        response=uuid4(),
        api="anthropic-messages",
        model="claude-sonnet-5",
        envelope={"usage": {"input_tokens": 100, "output_tokens": 10}, "said": text()},
        input_tokens=100,
        output_tokens=10,
    )


def _rate(url: str, count: int) -> float:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE onrecord.checkpoint SET position = 0")
        connection.execute("TRUNCATE onrecord.view_usage")
    began = perf_counter()
    with _working(url, {"usage": VIEWS["usage"]}) as worker:
        ends = worker.ends()
        while not worker.has_come_to(ends):
            sleep(0.005)
        return count / (perf_counter() - began)


@contextmanager
def _working(url: str, views: Mapping[str, View]) -> Generator[Worker]:
    worker = Worker(url, views)
    thread = threading.Thread(target=worker.run)
    thread.start()
    try:
        yield worker
    finally:
        worker.stop()
        join(thread)


def _seeing(workspace: Workspace) -> Iterator[Measure]:
    """Measure from the return of an append to the row's being there, while others append."""
    seconds = max(workspace.scale.seconds, 0.5) * 5
    workspace.say(f"projecting: {RATE:,} events/s for {seconds:g} s, all views")
    url = workspace.database()
    with ExitStack() as stack:
        log = stack.enter_context(closing(open_postgres(url)))
        for work in (_work, _write):
            writing = start(stack, work, url)
            writing.recv()
        for _ in _probes(log, url, _WARMING):
            pass
        taken = sorted(_probes(log, url, seconds))
        writing.send(None)
        rate = float(writing.recv()) / (seconds + _WARMING)
    what = f"append to visible in `search`, all views, beside {rate:,.0f} events/s"
    last = quantiles(taken, n=100)[98] if len(taken) > 1 else taken[0]
    yield Measure(
        "projecting.visible.p50", "ms", Figures(what, _GUARANTEE, [taken]), aim=Aim(15, "below")
    )
    yield Measure(
        "projecting.visible.p99", "ms", Figures(what, _GUARANTEE, [[last]]), aim=Aim(100, "below")
    )


def _probes(log: Postgres, url: str, seconds: float) -> Iterator[float]:
    """Yield how many seconds it took until each of some events was seen."""
    seen = (
        "SELECT 1 FROM onrecord.view_search AS v JOIN onrecord.generation AS g "
        "ON g.view = 'search' AND g.number = v.generation AND g.status = 'live' "
        "WHERE v.conversation_id = %s"
    )
    end = monotonic() + seconds
    with psycopg.connect(url, autocommit=True) as connection:
        while monotonic() < end:
            conversation = uuid4()
            log.append([appending(conversation, prompt(), tenant=TENANT)])
            began = perf_counter()
            while connection.execute(seen, (conversation,), prepare=True).fetchone() is None:
                sleep(0.001)
            yield perf_counter() - began
            sleep(0.02)


def _work(url: str, pipe: Connection) -> None:
    with closing(open_postgres(url)) as log:
        worker = Worker(url, wakeups=log.wakeups)
        thread = threading.Thread(target=worker.run)
        thread.start()
        while not worker.held:
            sleep(0.01)
        pipe.send("working")
        pipe.recv()
        worker.stop()
        join(thread)


def _write(url: str, pipe: Connection) -> None:
    """Append prompts at the rate, from threads that share commits, until told to end."""
    ended = threading.Event()
    written = [0] * _WRITERS
    with closing(open_postgres(url)) as log:
        conversations = [uuid4() for _ in range(200)]

        def write(number: int) -> None:
            due = monotonic()
            for conversation in cycle(conversations[number::_WRITERS]):
                if ended.is_set():
                    return
                log.append([appending(conversation, prompt(), tenant=TENANT)])
                written[number] += 1
                due += _WRITERS / RATE
                ended.wait(max(0, due - monotonic()))

        threads = [threading.Thread(target=write, args=(number,)) for number in range(_WRITERS)]
        for thread in threads:
            thread.start()
        pipe.send("writing")
        pipe.recv()
        ended.set()
        for thread in threads:
            join(thread)
        pipe.send(sum(written))


def _rebuilding(workspace: Workspace) -> Iterator[Measure]:
    """Measure a rebuild in a process of its own, and the most memory that it ever had."""
    count = 10 * workspace.scale.sizes[-1]
    workspace.say(f"projecting: a rebuild of {count:,} events")
    url = workspace.database()
    with closing(open_postgres(url)) as log:
        growth.fill(log, count, group=100)
    with ExitStack() as stack:
        pipe = start(stack, _rebuild, url)
        seconds, peak = pipe.recv()
    what = f"`conversations` of {count:,} events of 1 KB, one process, no worker"
    yield Measure("projecting.rebuild", "events/s", Figures(what, _GUARANTEE, [[count / seconds]]))
    yield Measure(
        "projecting.rebuild.memory",
        "MB",
        Figures(f"{what}: the most that it had", "", [[peak]]),
        aim=Aim(200, "below"),
    )


def _rebuild(url: str, pipe: Connection) -> None:
    connections = Connections(address_of(url), most=2, wait=10.0, prepared=True)
    began = perf_counter()
    PostgresKeeper(connections).rebuild("conversations")
    # ru_maxrss is in KiB on Linux (getrusage(2)).
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    connections.close()
    pipe.send((perf_counter() - began, peak))
    pipe.recv()
