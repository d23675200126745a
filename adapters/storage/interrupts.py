"""What a thread holds that others need, and what an exception has left held.

The handler of a signal may raise between any two steps of the main thread: as a lock is taken and
before the `with` is entered, or amid the release. No `try` covers each of these moments. So what is
held is noted before it is taken, together with the function that holds it, until it is given back.
What is noted for a function that has ended was left. The verb that the exception leaves gives it
back at once (`releasing`); if a second exception cuts that short, whoever comes next does.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import ExitStack, contextmanager, suppress
from functools import partial, wraps
from types import FrameType
from typing import Any, Final, ParamSpec, Protocol, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")


class Hold(ABC):
    """Something that a function holds. It is given back before the function ends.

    `thread` is the thread of that function.
    """

    __slots__ = ("_frame", "_own", "thread")
    _frame: FrameType | None

    def note(self, above: int = 1) -> None:
        """Note who is about to take it: a function so far above who calls this, or who entered its scope.

        0 is the function that calls this. 1 is the caller of that function: what an `__enter__`
        says, for the `with` stands in its caller.
        """
        self.thread = threading.get_ident()
        self._frame = _holder(sys._getframe(above + 1))  # pyright: ignore[reportPrivateUsage]
        own = self._own = _own_holds()
        if own and any(hold.is_left() for hold in tuple(own)):
            release_left()
        # `own` comes first. An exception may come between the two, and its own thread looks there.
        own[self] = None
        _holds[self] = None

    def step_aside(self, wait: Callable[[], object]) -> None:
        """Wait as one who holds nothing; nothing was taken yet."""
        _holds.pop(self, None)
        wait()
        _holds[self] = None

    def drop(self) -> None:
        """Note no longer that it is held: the last step of giving back."""
        _holds.pop(self, None)
        # An exception may have come before it was noted at all.
        with suppress(AttributeError):
            self._own.pop(self, None)
        # The frame has this among its own, and would live until the cycle is found.
        self._frame = None

    def forfeit(self) -> None:
        """Leave to the parent what it held as it forked: what the child does."""
        self.drop()

    @property
    def is_noted(self) -> bool:
        """Whether it is held still, as far as anybody knows."""
        return self in self._own

    @abstractmethod
    def give_back(self) -> None:
        """Give back what was taken of it, and `drop`.

        An exception may cut it short at any step; then it is called again, and finishes.
        """

    def is_left(self) -> bool:
        """Whether the function that held it has ended, or it is noted no more."""
        frame = self._frame
        return frame is None or _has_ended(frame)


def holds() -> tuple[Hold, ...]:
    """Return all that is held, by whatever thread, the oldest first."""
    return tuple(_holds)


def own_holds() -> tuple[Hold, ...]:
    """Return what this thread holds, the oldest first."""
    thread = threading.get_ident()
    # Green threads may share one real thread, and what is kept for it.
    return tuple(hold for hold in tuple(_own_holds()) if hold.thread == thread)


def release_left(*, everywhere: bool = False) -> None:
    """Give back what this thread has left, or what any has: the newest first."""
    # Two that give the same back would disturb whoever takes it between them.
    with _releasing:
        for hold in reversed(holds() if everywhere else own_holds()):
            # Who gives it back by itself drops it before it ends: so this is the order to ask in.
            if hold.is_left() and hold.is_noted:
                hold.give_back()


def releasing(verb: Callable[P, R]) -> Callable[P, R]:
    """Let a function that ends with an exception leave nothing held, wherever that came."""

    @wraps(verb)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return verb(*args, **kwargs)
        except BaseException:
            release_left()
            raise

    return call


# Each step on these is one call of C, during which no handler runs. They keep the order of what is noted.
_holds: Final[dict[Hold, None]] = {}
_threads: Final = threading.local()
"""What each thread holds: so an append looks at its own, however many threads there are."""
_releasing = threading.RLock()


@contextmanager
def _scope() -> Any:  # pragma: no cover - only its type is looked at
    yield


# A generator that is a scope stands still while the body of the `with` runs: who holds is who entered.
_ENTERS: Final = frozenset(
    cast("Any", enter).__code__ for enter in (type(_scope()).__enter__, ExitStack.enter_context)
)


def _holder(frame: FrameType) -> FrameType:
    """Return who entered the scopes that a frame is amid entering; the frame itself if it is amid none.

    `with turn(): ...` in `append`, where `turn` is a generator that enters a Hold:

        Hold.__enter__ < turn < _GeneratorContextManager.__enter__ < append
                         ^ noted, 1 above                            ^ who holds

    `turn` stands still in its `yield` while the body runs; `append` runs as long as it holds.
    """
    while (above := frame.f_back) is not None:
        if frame.f_code not in _ENTERS and above.f_code not in _ENTERS:
            break
        frame = above
    return frame


def _has_ended(frame: FrameType) -> bool:
    """Whether the function of a frame has ended: it neither runs nor stands still in a `yield`.

    One call of C, so it is right whatever other threads do meanwhile: a walk along their stacks may
    lose its way amid a generator. While a function may go on, the interpreter or its generator owns
    the code and the variables; afterwards its frame does, and refers to them (CPython's frame.c).
    """
    return any(one is frame.f_code for one in gc.get_referents(frame))


def _own_holds() -> dict[Hold, None]:
    return cast("dict[Hold, None]", _threads.__dict__.setdefault("holds", {}))


class Renewable(Protocol):
    """What a forked child shall not use as its parent left it: a thread may have held its locks."""

    def begin_anew(self) -> None:
        """Leave to the parent what is the parent's."""


def begin_anew_in_children(ones: Iterable[Renewable]) -> None:
    """Let each of these begin anew in a process that is forked, first of all."""

    def begin_anew() -> None:
        for one in list(ones):
            one.begin_anew()

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=begin_anew)


def _after_fork_in_child() -> None:
    global _releasing
    _releasing = threading.RLock()
    for hold in holds():
        if hold.thread != threading.get_ident():
            hold.forfeit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


# Waiting for a change, without a lock that an exception could leave locked.
#
# `threading.Condition` and `threading.Event` take their lock by functions of Python, amid which
# the handler of a signal may raise: then every other thread would wait for the lock for ever.

_LOOK: Final = 1.0
"""After how many seconds who waits looks by itself, for who was to ring may have been interrupted."""


class Sleeper(Protocol):
    """Who waits for a bell: a lock that it waits for, or the like."""

    def release(self) -> None:
        """Wake it up; RuntimeError where it is awake."""
        ...


class Bell:
    """Wakes up those who wait for something to change. Safe to ring in the handler of a signal."""

    def __init__(self) -> None:
        """Begin with nobody waiting."""
        self._asleep: set[Sleeper] = set()

    def ring(self) -> None:
        """Let all who wait look again; what they wait for was changed before."""
        for sleeper in tuple(self._asleep):
            # It was woken by another one already.
            with suppress(RuntimeError):
                sleeper.release()

    def wait_for(self, condition: Callable[[], bool], seconds: float | None = None) -> bool:
        """Return whether the condition holds: as soon as it does, or after some seconds."""
        ends = None if seconds is None else time.monotonic() + seconds
        sleeper = threading.Lock()
        try:
            # Before the first look: who changes it afterwards rings.
            self._asleep.add(sleeper)
            while not condition():
                left = _LOOK if ends is None else min(_LOOK, ends - time.monotonic())
                if left <= 0:
                    return False
                # The first time it is free: what changed before it was among the sleepers is seen.
                sleeper.acquire(timeout=left)
            return True
        finally:
            self._asleep.discard(sleeper)

    async def awaited(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Return whether the condition holds, as `wait_for` does, without holding up the event loop."""
        from asyncio import Event, get_running_loop, timeout_at

        loop, woken = get_running_loop(), Event()
        ends = loop.time() + seconds
        sleeper = _LoopSleeper(partial(loop.call_soon_threadsafe, woken.set))
        self._asleep.add(sleeper)
        try:
            async with timeout_at(ends):
                while not condition():
                    await woken.wait()
                    woken.clear()
        except TimeoutError:
            return condition()
        else:
            return True
        finally:
            self._asleep.discard(sleeper)


class _LoopSleeper:
    """A coroutine that waits for a bell; a loop that is closed raises RuntimeError, as is expected."""

    def __init__(self, wake: Callable[[], object]) -> None:
        self._wake = wake

    def release(self) -> None:
        self._wake()
