"""An interrupt at each step of a shared commit: all others get what they asked for, and no more."""

from __future__ import annotations

import dis
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Final

import pytest

from onrecord.adapters.storage.postgres import group_commit
from onrecord.adapters.storage.postgres.group_commit import GroupCommit, Row
from tests.patience import PATIENCE

if TYPE_CHECKING:
    from _typeshed import TraceFunction

# Where the interpreter looks for signals: behind a call, where a function begins, where a loop turns.
INTERRUPTIBLE: Final = {"CALL", "CALL_KW", "CALL_FUNCTION_EX", "RESUME", "JUMP_BACKWARD"}


class Interrupt(BaseException):
    """What a signal raises."""


@dataclass
class Steps:
    """Counts the steps of a thread, and interrupts it at the `last` of them.

    `meanwhile` begins something just before; after it the thread is slow, so that it can be amid.
    """

    last: int
    meanwhile: Callable[[], object]
    taken: int = 0
    _operation: dict[FrameType, str] = field(default_factory=dict[FrameType, str])

    def enter(self, frame: FrameType, _event: str, _: object) -> TraceFunction | None:
        if frame.f_code.co_filename != group_commit.__file__:
            return None
        frame.f_trace_opcodes = True
        return self.follow

    def follow(self, frame: FrameType, event: str, _: object) -> TraceFunction:
        if event != "opcode":
            return self.follow
        before = self._operation.get(frame)
        self._operation[frame] = dis.opname[frame.f_code.co_code[frame.f_lasti]]
        self.taken += before in INTERRUPTIBLE
        if before in INTERRUPTIBLE and self.taken == self.last:
            self.meanwhile()
            sys.setprofile(slow)  # What raises is not called any more.
            raise Interrupt
        return self.follow


def slow(frame: FrameType, event: str, _: object) -> None:
    """Let others go on where a function begins."""
    if event == "call" and frame.f_code.co_filename == group_commit.__file__:
        threading.Event().wait(0.005)


class Log:
    """Answers each request with itself; the call for `first` waits until it may go on."""

    def __init__(self) -> None:
        self.held, self.goes_on = threading.Event(), threading.Event()

    def ask(self, requests: Sequence[bytes]) -> list[Row]:
        if requests[0] == b"first":
            self.held.set()
            assert self.goes_on.wait(PATIENCE)
        return [(request,) for request in requests]


@dataclass
class Crowd:
    """Callers that commit at once, one of whom is interrupted."""

    steps: int
    pool: ThreadPoolExecutor
    log: Log = field(default_factory=Log)
    asked: dict[bytes, Future[list[Row]]] = field(default_factory=dict[bytes, Future[list[Row]]])

    def __post_init__(self) -> None:
        self.group = GroupCommit(self.log.ask)
        self.interrupts = Steps(self.steps, lambda: self.ask(b"meanwhile"))

    def ask(self, name: bytes) -> None:
        self.asked[name] = self.pool.submit(self.group.commit, [name])

    def ask_interrupted(self, name: bytes) -> None:
        self.asked[name] = self.pool.submit(self._commit_traced, name)

    def come(self, interrupted: bytes) -> None:
        """All callers ask, one behind the other; the first is held up until all of them wait."""
        for name in (b"first", b"second", b"third", b"last"):
            waiting = self.group.waiting
            (self.ask_interrupted if name == interrupted else self.ask)(name)
            self._until(name, waiting)
        self.log.goes_on.set()

    def _until(self, name: bytes, waiting: int) -> None:
        def is_there() -> bool:
            if name == b"first":
                return self.log.held.is_set()
            return self.group.waiting > waiting

        while not is_there() and not self.asked[name].done():
            threading.Event().wait(0.0005)

    def _commit_traced(self, name: bytes) -> list[Row]:
        before, profiled = sys.gettrace(), sys.getprofile()
        sys.settrace(self.interrupts.enter)
        try:
            return self.group.commit([name])
        finally:
            sys.settrace(before)
            sys.setprofile(profiled)


@pytest.mark.parametrize("interrupted", [b"first", b"second", b"third"])
def test_who_is_interrupted_at_any_step_takes_nobody_along(interrupted: bytes) -> None:
    steps = 1
    with ThreadPoolExecutor(8) as pool:
        while was_interrupted(interrupted, steps, pool):
            steps += 1
    assert steps > 10


def was_interrupted(interrupted: bytes, steps: int, pool: ThreadPoolExecutor) -> bool:
    crowd = Crowd(steps, pool)
    crowd.come(interrupted)
    ended = crowd.asked[interrupted].exception(PATIENCE)
    assert ended is None or isinstance(ended, Interrupt)
    for name, future in crowd.asked.items():
        if name != interrupted:
            assert future.result(PATIENCE) == [(name,)], f"at step {steps}"
    assert crowd.group.commit([b"after"]) == [(b"after",)]
    assert crowd.group.waiting == 0
    return ended is not None
