"""Interrupts at a chosen step: where CPython looks for signals, and their handlers may raise."""

from __future__ import annotations

import dis
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from _typeshed import TraceFunction

_OURS: Final = frozenset({"adapters", "psycopg_pool", "contextlib.py"})
_CALLS: Final = frozenset({"CALL", "CALL_KW", "CALL_FUNCTION_EX"})
_GENERATORS: Final = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class Interrupt(BaseException):
    """What the handler of a signal raises."""


@dataclass
class Steps:
    """Counts the steps of a thread in our code, and interrupts it at those of `at`.

    A step is where a function begins, where a call is over, and where a loop turns: there the
    interpreter looks for signals, and nowhere else. What is called by C, as `__enter__` is, is over
    without a look. The scopes of the standard library count as
    ours, and so does psycopg_pool, which holds what is ours.
    """

    at: frozenset[int] = frozenset()
    taken: int = 0
    raised: int = 0
    _called: str = ""
    _jumped: set[FrameType] = field(default_factory=set[FrameType])
    _rings: bool = False

    def run(self, work: Callable[[], object]) -> Interrupt | None:
        """Do some work; return what interrupted it, with all that its traceback keeps alive."""
        traced, profiled = sys.gettrace(), sys.getprofile()
        sys.settrace(self.trace)
        sys.setprofile(self.profile)
        try:
            work()
        except Interrupt as interrupt:
            return interrupt
        finally:
            sys.setprofile(profiled)
            sys.settrace(traced)
            self._jumped.clear()
        return None

    def profile(self, frame: FrameType, event: str, arg: object) -> None:
        """Take a step where a function begins, or a call is over."""
        if event == "c_call":
            self._called = getattr(arg, "__name__", "")
            return
        del arg  # A traceback would keep it alive, which no signal does.
        if _is_ours(frame) and self._is_step(frame, event):
            self._step()

    def trace(self, frame: FrameType, _event: str, _: object) -> TraceFunction | None:
        """Follow a function of ours from its beginning."""
        if not _is_ours(frame):
            return None
        frame.f_trace_opcodes = True
        return self.follow

    def follow(self, frame: FrameType, event: str, _: object) -> TraceFunction:
        """Take a step where a loop turns."""
        if self._rings:
            # What raises is not called any more.
            self._rings = False
            sys.setprofile(self.profile)
        if event == "opcode":
            if frame in self._jumped:
                self._jumped.discard(frame)
                self._step()
            if _operation(frame) == "JUMP_BACKWARD":
                self._jumped.add(frame)
        return self.follow

    def _is_step(self, frame: FrameType, event: str) -> bool:
        if event == "c_return":
            return True
        if frame.f_code.co_flags & _GENERATORS:
            # Who throws into a generator, or ends it, goes on in it without a look.
            return event == "call" and self._called in ("next", "send")
        return event == "call" or (frame.f_back is not None and _operation(frame.f_back) in _CALLS)

    def _step(self) -> None:
        self.taken += 1
        if self.taken in self.at:
            self._rings = True
            self.raised += 1
            raise Interrupt


def steps_of(work: Callable[[], object]) -> int:
    """How many steps some work takes."""
    steps = Steps()
    steps.run(work)
    return steps.taken


def _operation(frame: FrameType) -> str:
    return dis.opname[frame.f_code.co_code[frame.f_lasti]]


def _is_ours(frame: FrameType) -> bool:
    place = Path(frame.f_code.co_filename)
    if "tests" in place.parts:
        return False
    return not _OURS.isdisjoint(place.parts)
