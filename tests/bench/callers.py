"""Sixteen processes with one caller each, beside the `eventsourcing` library's stock recorder.

All processes of both sides are alive from the first round to the last; in each, one side works.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from time import perf_counter
from typing import Final
from uuid import uuid4

import hansard
from tests.bench import peers
from tests.bench.measure import Aim, Figures, Measure
from tests.bench.pairings import GUARANTEES
from tests.bench.payload import prompt, text
from tests.bench.workspace import Workspace

_ROUNDS: Final = 3
_AIM: Final = Aim(2, "at least")

Caller = Callable[[], Callable[[], object]]
"""Connects and returns what is to be called again and again."""


def measures(workspace: Workspace) -> Iterator[Measure]:
    """Yield how many appends a second all callers make together, one message a call."""
    with ExitStack() as stack:
        sides = [_start(stack, partial(_ours, _new_store(workspace)), workspace.scale.callers)]
        if workspace.peers:
            recorder = partial(_stock, _new_table(workspace))
            sides.append(_start(stack, recorder, workspace.scale.callers))
        workspace.say(f"{workspace.scale.callers} processes a side, in turn")
        rates: list[list[list[float]]] = [[] for _ in sides]
        for number in range(_ROUNDS):
            order = list(zip(sides, rates, strict=True))
            for side, shown in order if number % 2 == 0 else reversed(order):
                shown.append([side.rate(workspace.scale.seconds)])
    ours, *others = rates
    what = f"{workspace.scale.callers} processes, Talk.append of one message a call"
    stock = f"{workspace.scale.callers} processes, the library's recorder, one StoredEvent a call"
    peer = Figures(stock, GUARANTEES["postgres"], others[0]) if others else None
    yield Measure(
        f"callers.postgres.{workspace.scale.callers}",
        "appends/s",
        Figures(what, GUARANTEES["postgres"], ours),
        peer,
        None if peer is None else _AIM,
    )


@dataclass(frozen=True, slots=True)
class Side:
    """The processes of one side, by the pipes to them."""

    pipes: list[Connection]

    def rate(self, seconds: float) -> float:
        """Return how many calls a second they make together, over so many seconds."""
        for pipe in self.pipes:
            pipe.send(seconds)
        rates: list[float] = [pipe.recv() for pipe in self.pipes]
        return sum(rates)


def _start(stack: ExitStack, caller: Caller, processes: int) -> Side:
    """Start processes that each connect and wait to be told for how long to work."""
    spawning = multiprocessing.get_context("spawn")
    pipes: list[Connection] = []
    for _ in range(processes):
        here, there = spawning.Pipe()
        process = spawning.Process(target=_work, args=(caller, there), daemon=True)
        process.start()
        stack.callback(process.join)
        pipes.append(here)
    for pipe in pipes:
        stack.callback(pipe.send, None)
        pipe.recv()
    return Side(pipes)


def _work(caller: Caller, pipe: Connection) -> None:
    call = caller()
    call()
    pipe.send("ready")
    while (seconds := pipe.recv()) is not None:
        pipe.send(_calls_a_second(call, seconds))


def _calls_a_second(call: Callable[[], object], seconds: float) -> float:
    began = perf_counter()
    calls = 0
    while (spent := perf_counter() - began) < seconds:
        call()
        calls += 1
    return calls / spent


def _ours(url: str) -> Callable[[], object]:
    talk = hansard.connect(url).conversation(str(uuid4()))
    return lambda: talk.append(prompt())


def _stock(url: str) -> Callable[[], object]:
    recorder = peers.stock_recorder(url)
    originator, versions = uuid4(), iter(range(1, 1 << 62))

    def insert() -> None:
        state = text().encode()
        recorder.insert_events((peers.stored_event(originator, next(versions), state),))

    return insert


def _new_store(workspace: Workspace) -> str:
    url = workspace.database()
    hansard.connect(url).close()
    return url


def _new_table(workspace: Workspace) -> str:
    url = workspace.database()
    peers.stock_recorder(url).create_table()
    return url
