"""Steps: the functions that use a log and wait for it, and how coroutines wait for them.

Each rule of the store is written once, as a function that asks the log and goes on with its answer.
A thread calls it, and waits with it. A coroutine has it driven (decision 0054):

- `LoopSteps` runs it in a greenlet of the event loop's own thread. Where it waits for the server, the
  coroutine waits in its place, and the loop goes on with others. No thread is needed.
- `ThreadSteps` runs it in one thread, in the order in which the steps were asked for: what an embedded
  database does cannot be waited for otherwise.

A lock of threads must not be held while a driven step waits: another step of the same thread would wait
for the lock, and nobody would be left to release it. What needs one goes `beside_loop`.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, cast
from weakref import WeakSet

from onrecord.adapters.storage.interrupts import begin_anew_in_children
from onrecord.domain.errors import StorageUnavailable

if TYPE_CHECKING:
    from asyncio import Future
    from concurrent.futures import Future as Submitted
    from concurrent.futures import ThreadPoolExecutor

    from onrecord.domain.log import Backend

T = TypeVar("T")


class Steps(Protocol):
    """How coroutines wait for the steps of one log."""

    async def run(self, step: Callable[[], T]) -> T:
        """Return what a step gives, without holding up the event loop.

        Where the caller is cancelled, what the step appends is recorded or not, all or none of it.
        """
        ...

    async def run_in_thread(self, step: Callable[[], T]) -> T:
        """Return what a step gives that holds locks while it waits."""
        ...

    async def run_long(self, step: Callable[[], T]) -> T:
        """Return what a step gives that works for long, in a thread, while the others go on."""
        ...

    async def drain(self) -> None:
        """Return once the steps that were begun are done."""
        ...

    def apart(self) -> Steps:
        """Return what runs steps that may wait for long beside these; close it when done."""
        ...

    def close(self) -> None:
        """Take no more steps; those that were begun go on to their ends."""
        ...


class _Stepped(Protocol):
    """What each kind of store has beside the verbs of its port."""

    @property
    def steps(self) -> Steps: ...


def steps_of(backend: Backend) -> Steps:
    """Return how coroutines wait for a log."""
    return cast("_Stepped", backend).steps


# Driven by the event loop.


def is_driven() -> bool:
    """Whether the code that asks is a step that an event loop drives: it must not block."""
    # A program without coroutines never loads them.
    greenlets = sys.modules.get("onrecord.adapters.storage.greenlets")
    # Another thread may be amid loading them: then nothing is driven yet.
    asks: Any = getattr(greenlets, "is_driven", None)
    return asks is not None and bool(asks())


def wait_for(answer: Awaitable[T]) -> T:
    """Return what a driven step waits for; an exception of the wait, a cancellation too, comes here."""
    from onrecord.adapters.storage import greenlets

    return greenlets.wait_for(answer)


def beside_loop(work: Callable[[], T]) -> T:
    """Do work that blocks, or that waits while it holds a lock: in a thread, where a loop drives."""
    if not is_driven():
        return work()
    from asyncio import to_thread

    return wait_for(to_thread(work))


def each_beside_loop(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield pieces that are read from files, each read `beside_loop`."""
    if not is_driven():
        yield from pieces
        return
    reading = iter(pieces)
    while (piece := beside_loop(partial(next, reading, None))) is not None:
        yield piece


class LoopSteps:
    """Steps that the event loop drives itself: their log waits by `wait_for`."""

    def __init__(self) -> None:
        """Have none under way yet."""
        self._under_way: set[Future[None]] = set()
        self._long = _LongSteps()

    async def run(self, step: Callable[[], T]) -> T:
        """Return what a step gives; where it waits, the loop goes on."""
        from asyncio import get_running_loop

        from onrecord.adapters.storage.greenlets import driven

        end = get_running_loop().create_future()
        self._under_way.add(end)
        try:
            return await driven(step)
        finally:
            self._under_way.discard(end)
            end.cancel()

    async def drain(self) -> None:
        """Return once the steps of this loop are done that were under way; other loops look to theirs."""
        await _ends(self._under_way)
        await self._long.drain()

    async def run_in_thread(self, step: Callable[[], T]) -> T:
        """Return what a step gives, which waits in a thread, by connections of threads."""
        return await self._long.run(step)

    async def run_long(self, step: Callable[[], T]) -> T:
        """Return what a step gives, as `run_in_thread` does."""
        return await self._long.run(step)

    def apart(self) -> LoopSteps:
        """Return others, which `drain` does not wait for."""
        return LoopSteps()

    def close(self) -> None:
        """Do nothing: there is nothing of its own."""


# Run by threads.


class _LongSteps:
    """Steps that each take a thread of the loop's pool, in no order."""

    def __init__(self) -> None:
        self._under_way: set[Future[Any]] = set()

    async def run(self, step: Callable[[], T]) -> T:
        """Return what a step gives.

        A step that has not begun as its caller is cancelled never begins; one that has goes on to its end.
        """
        from asyncio import CancelledError, get_running_loop, shield
        from contextvars import copy_context

        context, is_given_up = copy_context(), False

        def work() -> T:
            # Nobody sees what is given for a step that was given up.
            return cast("T", None) if is_given_up else context.run(step)

        working = get_running_loop().run_in_executor(None, work)
        self._under_way.add(working)
        working.add_done_callback(self._under_way.discard)
        try:
            # A future that is cancelled is done, though its thread is not: `drain` waits for the thread.
            return await shield(working)
        except CancelledError:
            is_given_up = True
            raise

    async def drain(self) -> None:
        """Return once the steps of this loop are done that were under way."""
        await _ends(self._under_way)


async def _ends(under_way: Iterable[Future[Any]]) -> None:
    from asyncio import get_running_loop, wait

    loop = get_running_loop()
    if ends := [end for end in tuple(under_way) if end.get_loop() is loop]:
        await wait(ends)


CLOSED: Final = "the store is closed: connect again"


class ThreadSteps:
    """Steps that one thread runs, in order. Safe to share between loops; a forked child begins anew."""

    def __init__(self) -> None:
        """Start no thread yet."""
        self._closed = False
        self._long = _LongSteps()
        self.begin_anew()
        _ALL.add(self)

    async def run(self, step: Callable[[], T]) -> T:
        """Return what a step gives, once those before it are done.

        A step that has not begun as its caller is cancelled never begins. One that has begun goes on to
        its end, and the next one waits for that.
        """
        from asyncio import wrap_future

        return await wrap_future(self.submit(step))

    def submit(self, step: Callable[[], T]) -> Submitted[T]:
        """Have a step run once those before it are done, whether anybody waits for it or not."""
        from contextvars import copy_context

        # A context of its own: who acts, and the trace that it belongs to, are in it.
        run: Callable[[], T] = partial(copy_context().run, step)
        return self._thread().submit(run)

    async def run_in_thread(self, step: Callable[[], T]) -> T:
        """Return what a step gives, as `run` does."""
        return await self.run(step)

    async def run_long(self, step: Callable[[], T]) -> T:
        """Return what a step gives, in another thread: the steps that come after it need not wait."""
        return await self._long.run(step)

    async def drain(self) -> None:
        """Return once the steps that were asked for are done; the long ones of this loop, too."""
        await self.run(_nothing)
        await self._long.drain()

    def apart(self) -> ThreadSteps:
        """Return steps of another thread."""
        return ThreadSteps()

    def close(self) -> None:
        """Take no more steps."""
        with self._lock:
            self._closed = True
            executor = self._executor
        if executor is not None:
            # Its own thread may be the one that closes it.
            executor.shutdown(wait=False)

    def begin_anew(self) -> None:
        """Leave the thread to the parent: what a forked child does first."""
        self._executor: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()

    def _thread(self) -> ThreadPoolExecutor:
        # Two loops may ask first at once: two threads would have no order.
        with self._lock:
            if self._closed:
                raise StorageUnavailable(CLOSED)
            if self._executor is None:
                from concurrent.futures import ThreadPoolExecutor

                self._executor = ThreadPoolExecutor(
                    max_workers=1, thread_name_prefix="onrecord-steps"
                )
            return self._executor


_ALL: Final[WeakSet[ThreadSteps]] = WeakSet()
begin_anew_in_children(_ALL)


def _nothing() -> None:
    """Do nothing: the steps before it are done when it is."""
