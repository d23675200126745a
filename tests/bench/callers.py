"""Many callers at once, beside the `eventsourcing` library's stock recorder and the bare function.

Either many processes of one caller each, or a few processes of many: threads, and coroutines. All
processes of the sides that are compared are alive from the first round to the last; in each round
one side works at a time.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from time import perf_counter
from typing import Final, Protocol
from uuid import uuid4

import psycopg
from psycopg import RawCursor

import onrecord
from onrecord.adapters.storage.postgres.batch import Requests, RequestsDumper, packed, parameters_of
from onrecord.adapters.storage.postgres.connections import queries_of
from onrecord.adapters.storage.postgres.postgres import open_postgres
from onrecord.domain.log import Append
from tests.awaited import awaited
from tests.bench import peers
from tests.bench.children import start
from tests.bench.measure import Aim, Figures, Measure
from tests.bench.pairings import GUARANTEES
from tests.bench.payload import prompt, text
from tests.bench.workspace import Workspace
from tests.factories import TENANT, drafted
from tests.patience import PATIENCE

_ROUNDS: Final = 3
_PROCESSES: Final = 4
_BARE_A_SECOND: Final = 8_000
"""How many events a process packs beforehand for each second: more than it gets rid of."""


_USUAL_CONNECTIONS: Final = 5
"""Those of the library's pool; one caller uses one, and many processes would not have that many."""


class Load(Protocol):
    """What one process does: its callers, ready to call."""

    def prepare(self, seconds: float) -> None:
        """Make ready what is not to be timed."""
        ...

    def rate(self, seconds: float) -> float:
        """Return how many appends a second its callers made, over so many seconds."""
        ...


Call = Callable[[], object]
Caller = Callable[[], Load]
"""Connects, and returns the load."""


def measures(workspace: Workspace) -> Iterator[Measure]:
    """Yield how many appends a second all callers make together, one message a call."""
    for processes in workspace.scale.callers:
        yield from _one_each(workspace, processes)
    yield from _shared(workspace, min(_PROCESSES, workspace.scale.callers[0]))


def _one_each(workspace: Workspace, processes: int) -> Iterator[Measure]:
    callers: list[Caller] = [partial(Threads, _new_store(workspace), 1)]
    if workspace.peers:
        callers.append(partial(Stock, _new_table(workspace), 1))
    ours, *others = _in_turn(workspace, callers, processes)
    what = f"{processes} processes, Conversation.log.append of one message a call"
    stock = f"{processes} processes, the library's recorder, one StoredEvent a call"
    yield _measure(
        f"callers.postgres.{processes}", (what, ours), (stock, others), Aim(2, "at least")
    )


def _shared(workspace: Workspace, processes: int) -> Iterator[Measure]:
    each = workspace.scale.callers[0]
    callers: list[Caller] = [
        partial(Coroutines, _new_store(workspace), each),
        partial(Threads, _new_store(workspace), each),
        partial(Bare, _new_store(workspace), each),
    ]
    if workspace.peers:
        callers.append(partial(Stock, _new_table(workspace), each))
    awaited, threads, bare, *stock = _in_turn(workspace, callers, processes)
    crowd = f"{processes} processes of {each}"
    by_coroutines = (
        f"{crowd} coroutines, AsyncConversation.log.append of one message a call",
        awaited,
    )
    by_threads = (f"{crowd} threads, Conversation.log.append of one message a call", threads)
    by_stock = (f"{crowd} threads, the library's recorder, one StoredEvent a call", stock)
    by_bare = (f"{processes} processes, psycopg, onrecord.append of {each} packed events", [bare])
    name = f"callers.postgres.{processes}x{each}"
    yield _measure(f"{name}.async", by_coroutines, by_stock, Aim(10, "at least"))
    yield _measure(f"{name}.threads", by_threads, by_stock, Aim(5, "at least"))
    yield _measure(f"{name}.bare", by_coroutines, by_bare, Aim(0.85, "at least"))


def _measure(
    name: str,
    ours: tuple[str, list[list[float]]],
    peer: tuple[str, list[list[list[float]]]],
    aim: Aim,
) -> Measure:
    promise = GUARANTEES["postgres"]
    what, shown = peer
    beside = Figures(what, promise, shown[0]) if shown else None
    return Measure(
        name, "appends/s", Figures(ours[0], promise, ours[1]), beside, aim if beside else None
    )


def _in_turn(
    workspace: Workspace, callers: list[Caller], processes: int
) -> list[list[list[float]]]:
    """Return the rates of each side, by round."""
    with ExitStack() as stack:
        sides = [_start(stack, caller, processes) for caller in callers]
        workspace.say(f"{processes} processes a side, in turn")
        rates: list[list[list[float]]] = [[] for _ in sides]
        for number in range(_ROUNDS):
            order = list(zip(sides, rates, strict=True))
            for side, shown in order if number % 2 == 0 else reversed(order):
                shown.append([side.rate(workspace.scale.seconds)])
        return rates


@dataclass(frozen=True, slots=True)
class Side:
    """The processes of one side, by the pipes to them."""

    pipes: list[Connection]

    def rate(self, seconds: float) -> float:
        """Return how many calls a second they make together, over so many seconds."""
        for _ in ("prepare", "work"):
            for pipe in self.pipes:
                pipe.send(seconds)
            rates: list[float] = [pipe.recv() for pipe in self.pipes]
        return sum(rates)


def _start(stack: ExitStack, caller: Caller, processes: int) -> Side:
    """Start processes that each connect, and work for as long as their pipe says."""
    pipes = [start(stack, _work, caller) for _ in range(processes)]
    for pipe in pipes:
        pipe.recv()
    return Side(pipes)


def _work(caller: Caller, pipe: Connection) -> None:
    load = caller()
    load.prepare(0.1)
    load.rate(0.1)
    pipe.send("ready")
    while (seconds := pipe.recv()) is not None:
        load.prepare(seconds)
        pipe.send(0.0)
        # The second word is None where the measure failed between the two.
        if (seconds := pipe.recv()) is None:
            return
        pipe.send(load.rate(seconds))


class Threads:
    """Threads that append to a conversation each."""

    def __init__(self, url: str, count: int) -> None:
        store = onrecord.connect(url)
        chats = [store.conversation(str(uuid4())) for _ in range(count)]
        self._calls: list[Call] = [partial(_say, chat.log.append) for chat in chats]

    def prepare(self, seconds: float) -> None:
        """Nothing: what is said is made as it is said."""

    def rate(self, seconds: float) -> float:
        return _rate_of_threads(self._calls, seconds)


class Stock:
    """Threads that record events of an aggregate each with the library's recorder."""

    def __init__(self, url: str, count: int) -> None:
        recorder = peers.stock_recorder(url, connections=min(count, _USUAL_CONNECTIONS))
        self._calls = [_stock_caller(recorder) for _ in range(count)]

    def prepare(self, seconds: float) -> None:
        """Nothing: what is said is made as it is said."""

    def rate(self, seconds: float) -> float:
        return _rate_of_threads(self._calls, seconds)


class Coroutines:
    """Coroutines of one event loop that append to a conversation each."""

    def __init__(self, url: str, count: int) -> None:
        store = onrecord.connect(url)
        self._chats = [awaited(store.conversation(str(uuid4()))) for _ in range(count)]
        self._loop = asyncio.Runner()

    def prepare(self, seconds: float) -> None:
        """Nothing: what is said is made as it is said."""

    def rate(self, seconds: float) -> float:
        return self._loop.run(self._together(seconds))

    async def _together(self, seconds: float) -> float:
        began = perf_counter()
        counts = await asyncio.gather(
            *(self._append(chat, began + seconds) for chat in self._chats)
        )
        return sum(counts) / (perf_counter() - began)

    async def _append(self, chat: onrecord.AsyncConversation, until: float) -> int:
        calls = 0
        while perf_counter() < until:
            await chat.log.append(prompt())
            calls += 1
        return calls


class Bare:
    """The append function, driven by psycopg with batches that were packed beforehand."""

    def __init__(self, url: str, count: int) -> None:
        self._connection = psycopg.connect(
            url, autocommit=True, cursor_factory=RawCursor, prepare_threshold=0
        )
        self._connection.adapters.register_dumper(Requests, RequestsDumper)
        self._conversations = [uuid4() for _ in range(count)]
        self._digest = open_postgres(url).digest
        self._batches: list[tuple[Requests]] = []

    def prepare(self, seconds: float) -> None:
        count = int(seconds * _BARE_A_SECOND) // len(self._conversations)
        self._batches = [parameters_of(self._batch()) for _ in range(count)]

    def _batch(self) -> list[bytes]:
        appends = [
            Append(TENANT, conversation, (drafted(prompt(), conversation),))
            for conversation in self._conversations
        ]
        return packed(appends, self._digest)

    def rate(self, seconds: float) -> float:
        append, done = queries_of("onrecord")["append"], 0
        began = perf_counter()
        for batch in self._batches:
            self._connection.execute(append, batch, binary=True).fetchall()
            done += len(self._conversations)
            if perf_counter() - began >= seconds:
                break
        return done / (perf_counter() - began)


def _rate_of_threads(calls: list[Call], seconds: float) -> float:
    if len(calls) == 1:
        return _calls_a_second(calls[0], seconds, threading.Barrier(1, timeout=PATIENCE))
    together = threading.Barrier(len(calls), timeout=PATIENCE)
    with ThreadPoolExecutor(len(calls)) as pool:
        rates = [pool.submit(_calls_a_second, call, seconds, together) for call in calls]
        return sum(rate.result(PATIENCE) for rate in rates)


def _calls_a_second(call: Call, seconds: float, together: threading.Barrier) -> float:
    together.wait()
    began = perf_counter()
    calls = 0
    while (spent := perf_counter() - began) < seconds:
        call()
        calls += 1
    return calls / spent


def _say(append: Callable[..., object]) -> None:
    append(prompt())


def _stock_caller(recorder: peers.StockRecorder) -> Call:
    originator, versions = uuid4(), iter(range(1, 1 << 62))

    def insert() -> None:
        state = text().encode()
        recorder.insert_events((peers.stored_event(originator, next(versions), state),))

    return insert


def _new_store(workspace: Workspace) -> str:
    url = workspace.database()
    onrecord.connect(url).close()
    return url


def _new_table(workspace: Workspace) -> str:
    url = workspace.database()
    peers.stock_recorder(url).create_table()
    return url
